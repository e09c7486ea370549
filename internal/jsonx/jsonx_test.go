package jsonx

import (
	"math"
	"testing"
)

func TestMarshal(t *testing.T) {
	for _, tt := range []struct {
		v            any
		indent, want string
	}{
		{map[string]string{"url": "https://a.example/?a=1&b=<2>"}, "", `{"url":"https://a.example/?a=1&b=<2>"}`},
		{[]int{1}, "  ", "[\n  1\n]"},
		{"ends with a line feed\n", "", `"ends with a line feed\n"`},
		{math.NaN(), "", ""}, // an error
	} {
		got, err := MarshalIndent(tt.v, tt.indent)
		if string(got) != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("MarshalIndent(%v, %q) = %s, %v, want %s", tt.v, tt.indent, got, err, tt.want)
		}
	}
}
