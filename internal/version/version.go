// Package version holds the name and the version of the program.
//
// npm/package.json, server.json and the bundle's manifest carry the same
// number; a test compares them, so no linker flag is needed and `go install`
// reports the same version as a release.
package version

const (
	// Name is the product, the command and the MCP serverInfo.name.
	Name = "openai-responses-mcp"

	// Version is the semantic version (https://semver.org) without the leading v
	// of its tag.
	Version = "0.9.0"
)
