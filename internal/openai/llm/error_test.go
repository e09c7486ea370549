package llm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// The end of its context ends a call at once, also in the wait for another attempt. The cause may
// name the kind.
func TestCauses(t *testing.T) {
	for cause, want := range map[error]call.Kind{
		context.Canceled:                      call.KindCanceled,
		context.DeadlineExceeded:              call.KindTimeout,
		call.ErrLeaveAtAPI:                    call.KindCanceled,
		call.KindShutdown.Errorf("bye %d", 1): call.KindShutdown,
	} {
		bubble(t, cause.Error(), func(t *testing.T) {
			cl, api := newClient(1, answer(503, "", "Retry-After", "60"))
			began := time.Now()
			_, err := cl.Create(endsAfter(t, time.Second, cause), &call.Call{}, question())

			wantKind(t, err, want)
			wantCause(t, err, cause)
			wantEqual(t, "attempts", asError(t, err).Attempts, 1)
			wantEqual(t, "time", time.Since(began), time.Second)
			api.wantRequests(t, 1)
		})
	}
}

func TestErrorAnswers(t *testing.T) {
	eachRow(t, "errors", func(t *testing.T, name string, row []string) {
		status, kind, want, body := row[0], row[1], row[2], row[3]
		code, _ := strconv.Atoi(status)
		header := "X-Request-Id"
		if strings.HasPrefix(name, "Azure: ") {
			header = "Apim-Request-Id"
		}
		cl, _ := newClient(0, answer(code, body, header, "req_1"))
		e := asError(t, createError(t, cl))

		got := fmt.Sprint(e.Type, "|", e.Code, "|", e.Param, "|", e.Message)
		wantEqual(t, "error", got, want)
		wantEqual(t, "kind", e.Kind.Label(), kind)
		wantEqual(t, "status", fmt.Sprint(e.Status), status)
		wantEqual(t, "request id", e.RequestID, "req_1")

		if e.Kind == call.KindBadResponse { // a page: its class is that of the status
			wantEqual(t, "name", e.SDKClass(), "PermissionDeniedError")
		}
		page := strings.HasPrefix(body, "<!")
		wantEqual(t, "a web page", errors.Is(e, call.ErrWebPage), page)
	})
}
