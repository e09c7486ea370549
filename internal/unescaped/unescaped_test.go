package unescaped

import (
	"math"
	"testing"
)

func TestJSON(t *testing.T) {
	for _, tt := range []struct {
		v            any
		indent, want string
	}{
		{map[string]string{"url": "https://a.example/?a=1&b=<2>"}, "", `{"url":"https://a.example/?a=1&b=<2>"}`},
		{[]int{1}, "  ", "[\n  1\n]"},
		{"ends with a line feed\n", "", `"ends with a line feed\n"`},
	} {
		got, err := Indented(tt.v, tt.indent)
		if err != nil || string(got) != tt.want {
			t.Errorf("Indented(%v, %q) = %s, %v, want %s", tt.v, tt.indent, got, err, tt.want)
		}
	}
	if got, err := JSON(math.NaN()); err == nil {
		t.Errorf("JSON(NaN) = %s, want an error", got)
	}
}
