//go:build unix

package terminal

import (
	"os"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// What a terminal shows: the answer and the status line, where it understands control sequences.
func TestTerminals(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()

	type shown struct{ Text, Status bool }
	for _, tt := range []struct {
		name    string
		options Options
		want    shown
	}{
		{"xterm", Options{}, shown{true, true}},
		{"JSON", Options{NoText: true}, shown{false, true}},
		{"dumb", Options{Term: "dumb"}, shown{false, false}},
		{"dumb in color", Options{Term: "dumb", Color: "always"}, shown{true, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Stdout = tty
			tt.options.Stderr = tty
			s := New(t.Context(), tt.options)
			got := shown{s.ShowsText(), s.status != nil}
			compare.Equal(t, "shown", got, tt.want)

			s.Configure(nil, true)
			if s.ShowsText() || s.status != nil {
				t.Error("something is shown in debug")
			}
		})
	}
}
