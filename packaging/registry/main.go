// Command registry prints server.json with the hash of the released bundle,
// which the MCP registry requires.
//
//	go run ./packaging/registry -sums dist/checksums.txt >entry.json
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

func main() {
	sums := flag.String("sums", "dist/checksums.txt", "the release's `checksums`")
	flag.Parse()
	if err := run("server.json", *sums); err != nil {
		fmt.Fprintln(os.Stderr, "registry: error:", err)
		os.Exit(1)
	}
}

func run(entry, sums string) error {
	text, err := os.ReadFile(entry)
	if err != nil {
		return err
	}
	lines, err := os.ReadFile(sums)
	if err != nil {
		return err
	}
	out, err := fill(string(text), string(lines))
	if err != nil {
		return fmt.Errorf("filling in %s: %w", entry, err)
	}
	fmt.Print(out)
	return nil
}

// fill sets the fileSha256 of the package of type mcpb to the checksum of the
// file that its URL names. sums has lines as sha256sum prints them.
func fill(entry, sums string) (string, error) {
	for i, p := range gjson.Get(entry, "packages").Array() {
		if p.Get("registryType").String() != "mcpb" {
			continue
		}
		name := path.Base(p.Get("identifier").String())
		for line := range strings.Lines(sums) {
			if f := strings.Fields(line); len(f) == 2 && f[1] == name {
				return sjson.Set(entry, fmt.Sprintf("packages.%d.fileSha256", i), f[0])
			}
		}
		return "", fmt.Errorf("no checksum of %s", name)
	}
	return "", fmt.Errorf("no package of type mcpb")
}
