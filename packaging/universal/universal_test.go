package main

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"slices"
	"testing"
)

// object makes a Mach-O file without commands, padded to size.
func object(cpu macho.Cpu, size int) []byte {
	header := macho.FileHeader{
		Magic: macho.Magic64,
		Cpu:   cpu,
		Type:  macho.TypeExec,
	}
	b, _ := binary.Append(nil, binary.LittleEndian, header)
	padding := bytes.Repeat([]byte{byte(cpu)}, size-len(b))
	return append(b, padding...)
}

// join makes a universal binary of the objects in the given order.
func join(objects ...[]byte) []byte {
	head := []uint32{macho.MagicFat, uint32(len(objects))}
	var body []byte
	for _, o := range objects {
		body = append(body, make([]byte, -len(body)&(align-1))...)
		cpu := binary.LittleEndian.Uint32(o[4:])
		subtype := binary.LittleEndian.Uint32(o[8:])
		offset := uint32(align + len(body))
		head = append(head, cpu, subtype, offset, uint32(len(o)), alignBits)
		body = append(body, o...)
	}
	b, _ := binary.Append(nil, binary.BigEndian, head)
	return slices.Concat(b, make([]byte, align-len(b)), body)
}

func TestSorted(t *testing.T) {
	amd := object(macho.CpuAmd64, 3*align+5)
	arm := object(macho.CpuArm64, align)
	want := join(amd, arm)
	for name, in := range map[string][]byte{
		"in order":     want,
		"out of order": join(arm, amd),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sorted(in)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, %v, want the %d of amd64 before arm64", len(got), err, len(want))
			}
		})
	}

	t.Run("another format", func(t *testing.T) {
		if _, err := sorted([]byte("not Mach-O")); err == nil {
			t.Error("no error")
		}
	})
}
