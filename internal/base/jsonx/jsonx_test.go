package jsonx

import (
	"math"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
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
			compare.Equal(t, "JSON", string(got), tt.want)
			compare.Equal(t, "success", err == nil, tt.want != "")
			if tt.indent == "" {
				compare.Equal(t, "text", MarshalToString(tt.v), tt.want)
			}
		})
	}
}
