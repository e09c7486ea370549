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
	b, _ := binary.Append(nil, binary.LittleEndian, macho.FileHeader{Magic: macho.Magic64, Cpu: cpu, Type: macho.TypeExec})
	return append(b, bytes.Repeat([]byte{byte(cpu)}, size-len(b))...)
}

// join makes a universal binary of the objects in the given order.
func join(objects ...[]byte) []byte {
	head := []uint32{macho.MagicFat, uint32(len(objects))}
	var body []byte
	for _, o := range objects {
		body = append(body, make([]byte, -len(body)&(align-1))...)
		cpu, sub := binary.LittleEndian.Uint32(o[4:]), binary.LittleEndian.Uint32(o[8:])
		head = append(head, cpu, sub, uint32(align+len(body)), uint32(len(o)), alignBits)
		body = append(body, o...)
	}
	b, _ := binary.Append(nil, binary.BigEndian, head)
	return slices.Concat(b, make([]byte, align-len(b)), body)
}

func TestSorted(t *testing.T) {
	amd, arm := object(macho.CpuAmd64, 3*align+5), object(macho.CpuArm64, align)
	want := join(amd, arm)
	for name, in := range map[string][]byte{"in order": want, "out of order": join(arm, amd)} {
		if got, err := sorted(slices.Clone(in)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("sorted, %s: %v, got %d bytes that differ from the %d of amd64 before arm64", name, err, len(got), len(want))
		}
	}
	if _, err := sorted([]byte("not Mach-O")); err == nil {
		t.Error("sorted of another format: no error")
	}
}
