// Command universal sorts the parts of a macOS universal binary, amd64 before
// arm64, in place.
//
//	go run ./packaging/universal dist/universal_darwin_all/openai-responses-mcp
//
// goreleaser joins the parts in the order in which their builds end, which
// would make two builds of the same sources differ.
package main

import (
	"bytes"
	"cmp"
	"debug/macho"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
)

// Parts begin at multiples of the page size of arm64, the larger of the two.
const (
	alignBits = 14
	align     = 1 << alignBits
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./packaging/universal FILE")
		os.Exit(2)
	}
	if err := sortFile(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "universal: error: sorting %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// sortFile keeps the file's time: goreleaser sets it and archives it.
func sortFile(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	out, err := sorted(b)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, out, info.Mode()); err != nil {
		return err
	}
	return os.Chtimes(name, info.ModTime(), info.ModTime())
}

// sorted returns the universal binary with its parts ordered by processor. The
// format is a big-endian header, see mach-o/fat.h, and the parts.
func sorted(b []byte) ([]byte, error) {
	fat, err := macho.NewFatFile(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer fat.Close()
	parts := slices.Clone(fat.Arches)
	slices.SortFunc(parts, func(a, b macho.FatArch) int {
		return cmp.Or(cmp.Compare(a.Cpu, b.Cpu), cmp.Compare(a.SubCpu, b.SubCpu))
	})
	head := []uint32{macho.MagicFat, uint32(len(parts))}
	var body []byte
	for _, p := range parts {
		at := align + len(body)
		head = append(head, uint32(p.Cpu), p.SubCpu, uint32(at), p.Size, alignBits)
		body = append(body, b[p.Offset:p.Offset+p.Size]...)
		if rest := len(body) % align; rest != 0 && len(head) < 2+5*len(parts) {
			body = append(body, make([]byte, align-rest)...)
		}
	}
	var out bytes.Buffer
	if err := binary.Write(&out, binary.BigEndian, head); err != nil {
		return nil, err
	}
	out.Write(make([]byte, align-out.Len()))
	out.Write(body)
	return out.Bytes(), nil
}
