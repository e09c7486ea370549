package smoke

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// shown returns a function for session that writes to w.
func shown(w io.Writer) func(Request) error {
	return func(r Request) error {
		_, err := io.WriteString(w, r.Response.Raw)
		return err
	}
}

// A session fails without its responses, and with one to a cancelled request. It shows nothing
// after an interrupt.
func TestSession(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	log := slog.New(slog.DiscardHandler)
	srv := server.New(server.Options{
		Log:      log,
		Settings: server.Settings{Timeout: time.Minute},
		Ask: func(context.Context, *call.Call, answer.Question) (*answer.Answer, error) {
			interrupt()
			return nil, ctx.Err()
		},
		Explain: func(_ string, err error) string { return err.Error() },
	})
	const params = `{"name":"answer","arguments":{"query":"?"}}`
	ask := Request{Method: "tools/call", Params: params}
	initialize := Request{Method: "initialize", Params: "{}", Cancelled: true}
	for _, tt := range []struct {
		name     string
		requests []Request
		want     string // the error
	}{
		{"no response", []Request{{}}, ": cancelled is false, answered is false"},
		{"cancelled", []Request{initialize}, "initialize: cancelled is true, answered is true"},
		{"interrupted", append(OpeningRequests(), ask), "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			err := Run(ctx, srv, log, true, tt.requests, shown(&out))

			compare.Equal(t, "the error", fmt.Sprint(err), tt.want)
			if strings.Contains(out.String(), `"error"`) {
				t.Errorf("shown: %s", &out)
			}
		})
	}
}
