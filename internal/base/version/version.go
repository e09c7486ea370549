// Package version has the name and the version of the program.
//
// npm/package.json, server.json and the manifests of the bundle and the plugin have the same
// version; a test compares them.
package version

import (
	"cmp"
	"runtime/debug"
	"strings"
)

const (
	// Name is the name of the product and of the command, and serverInfo.name in MCP.
	Name = "openai-responses-mcp"

	// Version is the semantic version (https://semver.org) of the release that the sources belong
	// to, or will become. It has no leading v, unlike its tag.
	Version = "1.3.0"
)

// release is "true" in the binaries of a release, which are built without Git: .goreleaser.yaml
// sets it with -ldflags=-X.
var release string

// String returns the version of this build: Version for a release, otherwise Version-dev+COMMIT,
// with .dirty if files were changed. With go run and in builds without Git it has no commit.
func String() string {
	info, _ := debug.ReadBuildInfo()
	info = cmp.Or(info, new(debug.BuildInfo))

	return describe(release, info.Main.Version)
}

// IsRelease reports whether this build is a release, which npm and the registry of images have,
// too.
func IsRelease() bool { return String() == Version }

// describe returns the version that String returns, from the linker's flag and the version of the
// main module: v1.3.0 for a tag, v1.3.1-0.20261122052352-a515ba238ce8 for a commit, with +dirty for
// changed files, and (devel) if Go does not know it.
func describe(release, module string) string {
	if release == "true" || module == "v"+Version {
		return Version
	}

	module, _, dirty := strings.Cut(module, "+")
	commit := module[strings.LastIndexByte(module, '-')+1:]
	if len(commit) != 12 {
		return Version + "-dev"
	}

	if dirty {
		commit += ".dirty"
	}
	return Version + "-dev+" + commit
}
