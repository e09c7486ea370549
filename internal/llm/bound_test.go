package llm

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Whatever pieces a body comes in, all of it is read, and never does more than
// its bound and a little take memory.
func TestReadAll(t *testing.T) {
	for _, size := range []int{0, 1, 8 << 10, 16 << 10, 1 << 20, maxBody - 1, maxBody} {
		want := bytes.Repeat([]byte("x"), size)
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"": func(r io.Reader) io.Reader { return r }, "half": iotest.HalfReader, "data with the error": iotest.DataErrReader,
		} {
			got, err := readAll(wrap(bytes.NewReader(want)))
			if err != nil || !bytes.Equal(got, want) || cap(got) > maxBody+16<<10 {
				t.Errorf("readAll of %d bytes (%s) = %d bytes in %d, %v", size, name, len(got), cap(got), err)
			}
		}
	}
	if _, err := readAll(endless{}); !errors.Is(err, errTooLarge) {
		t.Errorf("readAll of a body without end = %v, want %v", err, errTooLarge)
	}
	wrong := errors.New("wrong")
	if _, err := readAll(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(wrong))); !errors.Is(err, wrong) {
		t.Errorf("readAll = %v, want %v", err, wrong)
	}
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		json string
		want int
	}{
		{``, 0}, {`{}`, 1}, {`[1,2,3]`, 3}, {`{"a":[{},{}]}`, 5},
		{`"{[,"`, 0},           // within a string
		{`["\",[{",1]`, 2},     // behind an escaped quote
		{`["\\",1]`, 2},        // an escaped backslash escapes no quote
		{`["without end,[`, 1}, // what is no JSON does no harm
		{`["\`, 1},
	} {
		if got := values([]byte(tt.json)); got != tt.want {
			t.Errorf("values(%s) = %d, want %d", tt.json, got, tt.want)
		}
	}
}
