// Command mcpb packs the binaries of a release into a bundle that Claude
// Desktop installs on every system.
//
//	go run ./packaging/mcpb -dist dist -out bin/openai-responses-mcp_1.3.0.mcpb -time 1790000000
//
// It runs inside goreleaser, after the binaries are built and before the
// checksums are made. The same binaries and time give the same bytes.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
)

// manifest is the manifest without its tools.
//
//go:embed manifest.json
var manifest []byte

// launcher picks the Linux binary for the processor: a manifest distinguishes
// systems only.
//
//go:embed linux.sh
var launcher []byte

// binaries are the released binaries in the bundle. Windows on ARM emulates
// amd64; the macOS binary is universal.
var binaries = []struct {
	os, arch string // as goreleaser names its folders
	name     string // in the bundle
}{
	{"darwin", "all", "server/darwin/" + version.Name},
	{"linux", "amd64", "server/linux/" + version.Name + "-amd64"},
	{"linux", "arm64", "server/linux/" + version.Name + "-arm64"},
	{"windows", "amd64", "server/win32/" + version.Name + ".exe"},
}

func main() {
	dist := flag.String("dist", "dist", "`folder` that goreleaser builds into")
	out := flag.String("out", "", "bundle to write")
	unix := flag.Int64("time", 0, "`seconds` since 1970: the time of the files in the bundle")
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
	native, err := find(dist, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	manifest, err := describe(ctx, native)
	if err != nil {
		return fmt.Errorf("describing %s: %w", native, err)
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	add := func(name string, mode os.FileMode, data []byte) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write(data)
		}
		return err
	}
	addFile := func(name string, mode os.FileMode, from string) error {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return add(name, mode, data)
	}
	if err := add("manifest.json", 0o644, manifest); err != nil {
		return err
	}
	for _, file := range []string{"LICENSE", "README.md", "packaging/icon.png"} {
		if err := addFile(path.Base(file), 0o644, file); err != nil {
			return err
		}
	}
	if err := add("server/linux/"+version.Name, 0o755, launcher); err != nil {
		return err
	}
	for _, b := range binaries {
		from, err := find(dist, b.os, b.arch)
		if err != nil {
			return err
		}
		if err := addFile(b.name, 0o755, from); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, buf.Bytes(), 0o644)
}

// find returns the binary for a system. goreleaser names its folder after the
// build, the system, the architecture and the version of the architecture.
func find(dist, goos, arch string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dist, "*_"+goos+"_"+arch+"*", version.Name+"*"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d binaries for %s/%s, want one", dist, len(found), goos, arch)
	}
	return found[0], nil
}

// describe returns the manifest with the tools that the binary lists.
func describe(ctx context.Context, binary string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, binary, "--stdio", "--offline")
	within := gjson.GetBytes(manifest, "server.mcp_config.env.ANSWER_WITHIN_MS").String()
	cmd.Env = []string{"ANSWER_WITHIN_MS=" + within} // else the default configuration
	client := mcp.NewClient(&mcp.Implementation{Name: "mcpb", Version: version.Version}, nil)
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	got, want := s.InitializeResult().ServerInfo.Version, gjson.GetBytes(manifest, "version").String()
	if got != want {
		return nil, fmt.Errorf("its version is %s, that of manifest.json %s", got, want)
	}
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	type tool struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	var tools []tool
	for _, t := range list.Tools {
		tools = append(tools, tool{t.Name, t.Description})
	}
	text, err := json.Marshal(tools)
	if err != nil {
		return nil, err
	}
	filled, err := sjson.SetRawBytes(manifest, "tools", text)
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	err = json.Indent(&indented, filled, "", "  ")
	return indented.Bytes(), err
}
