package cli

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// A session fails without its responses, and with one to a cancelled request.
func TestSession(t *testing.T) {
	for _, tt := range []struct {
		messages []message
		want     string
	}{
		{firstMessages("test"), ""},
		{[]message{{Method: "ping"}, {ID: 1}}, "no response to "},
		{[]message{{ID: 1, Method: "no/such"}}, "no/such: method not found (-32601)"},
		{[]message{{ID: 1, Method: "initialize"}, {Method: cancelled}}, "the server answered a cancelled call"},
	} {
		err := session(t.Context(), server.Options{Log: slog.New(slog.DiscardHandler)}, true, tt.messages, func(string, []byte) error { return nil })
		if got := fmt.Sprint(err); !strings.Contains(got, tt.want) {
			t.Errorf("%v: %v, want %s", tt.messages, err, tt.want)
		}
	}
}
