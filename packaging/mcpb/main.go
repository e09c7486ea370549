// Command mcpb packs the binaries of a release into one file that Claude
// Desktop installs on every system.
//
//	go run ./packaging/mcpb -dist dist -out bin/openai-responses-mcp_0.9.0.mcpb -time 1790000000
//
// It runs inside goreleaser, after the binaries are built and before the
// checksums are made. The tools in the manifest are those that the program
// itself lists. Equal binaries and an equal time give equal bytes.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// launcher picks the Linux binary of the machine's architecture: a manifest
// tells systems apart, but not their processors.
//
//go:embed linux.sh
var launcher []byte

// part is a binary of the release and its place in the bundle.
type part struct {
	os, arch string // as goreleaser names its folders
	place    string
}

// parts are what a bundle holds. On Windows for ARM the amd64 binary runs
// emulated; macOS takes the universal one.
var parts = []part{
	{"darwin", "all", "server/darwin/" + version.Name},
	{"linux", "amd64", "server/linux/" + version.Name + "-amd64"},
	{"linux", "arm64", "server/linux/" + version.Name + "-arm64"},
	{"windows", "amd64", "server/win32/" + version.Name + ".exe"},
}

func main() {
	dist := flag.String("dist", "dist", "`folder` that goreleaser builds into")
	out := flag.String("out", "", "bundle to write")
	unix := flag.Int64("time", 0, "`seconds` since 1970: the time of every file in the bundle")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *dist, *out, time.Unix(*unix, 0).UTC())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpb: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dist, out string, at time.Time) error {
	if out == "" {
		return errors.New("no -out: name the bundle to write")
	}
	native, err := binary(dist, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	manifest, err := describe(ctx, native)
	if err != nil {
		return err
	}
	files := []file{
		{"manifest.json", manifest, false},
		{"server/linux/" + version.Name, launcher, true},
	}
	for _, name := range []string{"LICENSE", "README.md"} {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, file{name, b, false})
	}
	for _, p := range parts {
		from, err := binary(dist, p.os, p.arch)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		files = append(files, file{p.place, b, true})
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	n, err := pack(out, files, at)
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	fmt.Printf("%s: %d bytes\n", out, n)
	return nil
}

// binary finds what goreleaser built for a system: its folder is named after
// the build, the system, the architecture and that one's version.
func binary(dist, goos, arch string) (string, error) {
	name := version.Name
	if goos == "windows" {
		name += ".exe"
	}
	found, err := filepath.Glob(filepath.Join(dist, "*_"+goos+"_"+arch+"*", name))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d binaries for %s/%s, want one", dist, len(found), goos, arch)
	}
	return found[0], nil
}
