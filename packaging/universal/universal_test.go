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
	var b bytes.Buffer
	h := macho.FileHeader{Magic: macho.Magic64, Cpu: cpu, Type: macho.TypeExec}
	if err := binary.Write(&b, binary.LittleEndian, h); err != nil {
		panic(err)
	}
	b.Write(bytes.Repeat([]byte{byte(cpu)}, size-b.Len()))
	return b.Bytes()
}

// join makes a universal binary of the objects in the given order.
func join(t *testing.T, objects ...[]byte) []byte {
	t.Helper()
	head := []uint32{macho.MagicFat, uint32(len(objects))}
	at := align
	for _, o := range objects {
		cpu, sub := binary.LittleEndian.Uint32(o[4:]), binary.LittleEndian.Uint32(o[8:])
		head = append(head, cpu, sub, uint32(at), uint32(len(o)), alignBits)
		at = (at + len(o) + align - 1) / align * align
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.BigEndian, head); err != nil {
		t.Fatal(err)
	}
	for i, o := range objects {
		b.Write(make([]byte, int(head[2+5*i+2])-b.Len()))
		b.Write(o)
	}
	return b.Bytes()
}

func TestSorted(t *testing.T) {
	amd, arm := object(macho.CpuAmd64, 3*align+5), object(macho.CpuArm64, align)
	want := join(t, amd, arm)
	for name, in := range map[string][]byte{"in order": want, "out of order": join(t, arm, amd)} {
		got, err := sorted(slices.Clone(in))
		if err != nil {
			t.Fatalf("sorted, %s: %v", name, err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("sorted, %s: got %d bytes that differ from the %d of amd64 before arm64", name, len(got), len(want))
		}
	}
	if _, err := sorted([]byte("not Mach-O")); err == nil {
		t.Error("sorted of another format: no error")
	}
}
