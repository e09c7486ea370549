// Command registry prints the entry of a release for the MCP registry:
// server.json with the hash of the bundle, which nobody knows before it is
// built.
//
//	go run ./packaging/registry -sums dist/checksums.txt >entry.json
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
)

const entry = "server.json"

func main() {
	sums := flag.String("sums", "dist/checksums.txt", "the release's `checksums`")
	flag.Parse()
	out, err := run(*sums)
	if err != nil {
		fmt.Fprintln(os.Stderr, "registry: error:", err)
		os.Exit(1)
	}
	fmt.Print(string(out))
}

func run(sums string) ([]byte, error) {
	text, err := os.ReadFile(entry)
	if err != nil {
		return nil, err
	}
	lines, err := os.ReadFile(sums)
	if err != nil {
		return nil, err
	}
	out, err := fill(text, string(lines))
	if err != nil {
		return nil, fmt.Errorf("filling in %s: %w", entry, err)
	}
	return out, nil
}

// fill gives every mcpb package its fileSha256, found under the name of the
// file that its URL ends in. The rest of the document stays as it is.
func fill(text []byte, sums string) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	packages, _ := doc["packages"].([]any)
	filled := 0
	for _, p := range packages {
		p, _ := p.(map[string]any)
		if p["registryType"] != "mcpb" {
			continue
		}
		url, _ := p["identifier"].(string)
		hash := sum(sums, path.Base(url))
		if hash == "" {
			return nil, fmt.Errorf("no checksum of %s", path.Base(url))
		}
		p["fileSha256"] = hash
		filled++
	}
	if filled == 0 {
		return nil, fmt.Errorf("no package of type mcpb")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(doc)
	return b.Bytes(), err
}

// sum finds a file's line as sha256sum writes it, "HASH  NAME".
func sum(sums, name string) string {
	for line := range strings.Lines(sums) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == name {
			return f[0]
		}
	}
	return ""
}
