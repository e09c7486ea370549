package answer

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The debug log says what a request asks for, as far as the model takes it.
func TestRequestLog(t *testing.T) {
	const profile = "level=DEBUG msg=\"answer: profile=answer model="
	const summary = "level=DEBUG msg=\"answer: request summary tools=web_search(on) reasoning="
	const gpt5 = profile + "gpt-5.2 supports={verbosity:true, reasoning:true}\"\n" + summary
	const gpt4 = profile + "gpt-4.1 supports={verbosity:false, reasoning:false}\"\n" + summary
	for name, tt := range map[string]struct {
		profile Profile
		want    string
	}{
		"both": {
			Profile{Model: "gpt-5.2", ReasoningEffort: "low", Verbosity: "low"},
			gpt5 + "on text.verbosity=on\"\n",
		},
		"not asked for": {
			Profile{Model: "gpt-5.2"},
			gpt5 + "off text.verbosity=off\"\n",
		},
		"not taken": {
			Profile{Model: "gpt-4.1", ReasoningEffort: "low", Verbosity: "low"},
			gpt4 + "off text.verbosity=off\"\n",
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var log bytes.Buffer
			a, _ := newAnswerer(func(o *Options) {
				o.Profiles["answer"] = tt.profile
				o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
					Level:       slog.LevelDebug,
					ReplaceAttr: withoutTime,
				}))
			}, completed(message("", "Yes.")))
			_, err := a.Ask(t.Context(), &llm.Call{Tool: "answer"}, Question{Query: "?"})
			if err != nil {
				t.Fatal(err)
			}
			compare.Equal(t, "log", log.String(), tt.want)
		})
	}
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
