package llm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// The cause of the end of a context may name the kind.
func TestCauses(t *testing.T) {
	for cause, want := range map[error]Kind{
		context.Canceled:                 KindCanceled,
		context.DeadlineExceeded:         KindTimeout,
		ErrDetached:                      KindCanceled,
		KindShutdown.Errorf("bye %d", 1): KindShutdown,
	} {
		t.Run(cause.Error(), func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(cause)
			c, _ := newClient(0)
			_, err := c.Create(ctx, &Call{}, question())

			wantKind(t, err, want)
			wantEqual(t, "cause found", errors.Is(err, cause), true)
		})
	}
}

func TestErrorAnswers(t *testing.T) {
	for name, row := range table(t, "errors") {
		t.Run(name, func(t *testing.T) {
			status, kind, want, body := row[0], row[1], row[2], row[3]
			code, _ := strconv.Atoi(status)
			c, _ := newClient(0, answer(code, body, "X-Request-Id", "req_1"))
			err := createError(t, c)

			e := asError(t, err)
			got := fmt.Sprint(e.Type, "|", e.Code, "|", e.Param, "|", e.Message)
			wantEqual(t, "error", got, want)
			wantEqual(t, "kind", e.Kind.Label(), kind)
			wantEqual(t, "status", fmt.Sprint(e.Status), status)
			wantEqual(t, "request id", e.RequestID, "req_1")

			if e.Kind == KindBadResponse { // a page: its class is that of the status
				wantEqual(t, "name", e.Name(), "PermissionDeniedError")
			}
			page := strings.HasPrefix(body, "<!")
			wantEqual(t, "a web page", errors.Is(err, ErrWebPage), page)
		})
	}
}
