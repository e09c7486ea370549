package logging

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// handler redacts each record and hands it on.
type handler struct {
	red  *redactor
	next slog.Handler
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.red.line(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.red.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.red.attr(a)
	}
	return &handler{red: h.red, next: h.next.WithAttrs(clean)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{red: h.red, next: h.next.WithGroup(h.red.value(name))}
}

// render turns any value into the text that a reader of the log wants: bytes as
// they are, errors and Stringers in their own words, the rest as JSON, because
// the values logged here are requests, answers and headers.
func render(v any) (s string) {
	defer func() {
		if recover() != nil { // a broken MarshalJSON must not end a call
			s = fmt.Sprintf("%T that cannot be shown", v)
		}
	}()
	switch v := v.(type) {
	case nil:
		return "<nil>"
	case error, fmt.Stringer:
		return fmt.Sprint(v)
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() == reflect.Uint8 {
		return string(rv.Bytes()) // []byte, json.RawMessage
	}
	b, err := unescaped.JSON(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}
