package jsonx

import (
	"math"
	"testing"
)

func TestMarshalIndent(t *testing.T) {
	for _, tt := range []struct {
		v            any
		indent, want string
	}{
		{[]string{"https://a.example/?a=1&b=<2>"}, "", `["https://a.example/?a=1&b=<2>"]`},
		{[]int{1}, "  ", "[\n  1\n]"},
		{"ends with a line feed\n", "", `"ends with a line feed\n"`},
		{math.NaN(), "", ""}, // an error
	} {
		t.Run(tt.want, func(t *testing.T) {
			got, err := MarshalIndent(tt.v, tt.indent)
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if (err != nil) != (tt.want == "") {
				t.Errorf("error %v", err)
			}
		})
	}
}
