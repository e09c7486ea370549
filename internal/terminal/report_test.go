package terminal

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const report = `ok    version                program 1
ok    config                 read c.yaml
      server.debug from c.yaml:1
fail  model answer_detailed  gpt-9: model not found; nothing was sent
      -> model_profiles.answer.model is gpt-9: name another model
`

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name  string
		width int
		want  string
	}{
		{"wide", 60, `[ok]    version                program 1
[ok]    config                 read c.yaml
      server.debug from c.yaml:1
[fail]  model answer_detailed  gpt-9: model not found; nothing
                             was sent
      -> model_profiles.answer.model is gpt-9: name another
         model
`},
		{"narrow", 38, `[ok]    version: program 1
[ok]    config: read c.yaml
      server.debug from c.yaml:1
[fail]  model answer_detailed: gpt-9:
      model not found; nothing was
      sent
      -> model_profiles.answer.model
         is gpt-9: name another model
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := newTestScreen(io.Discard, nil, tt.width).Report(report)

			short := strings.NewReplacer("\x1b[0;32m", "[", "\x1b[0;31m", "[", "\x1b[0m", "]")
			if diff := cmp.Diff(tt.want, short.Replace(got)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}
