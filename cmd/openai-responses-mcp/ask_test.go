package main_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/pty"
)

const weatherAnswer = `This is an offline answer: no API was asked.

Your question: "Weather?"

The search and its sources are samples; a real answer rests on pages like this one ([example.org](https://example.org/weather/forecast?utm_source=openai)).

Set an API key and leave out --offline for a real answer.

Sources:
- https://example.org/weather/forecast (DATE)
- oai-weather (DATE)
`

// dateless takes out of a text what is another day by day.
func dateless(s string) string {
	return regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(s, "DATE")
}

func TestAskAtTerminal(t *testing.T) {
	t.Parallel()
	const again = "This is an offline answer: no API was asked.\n\n--- that was cut off: starting again (2) ---\n\n"
	for _, tt := range []struct{ name, step, above string }{
		{"streamed", "weather", ""},
		{"cut off before the text", "cut-after=12", ""},
		{"cut off within the text", "cut-after=16", again},
		{"not streamed", "unverified", ""},
		{"a commentary first", "phases", "Offline: looking this up.\n\n--- searching on ---\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := askAt(t, newAPI(t, tt.step), nil, nil, "Weather?")
			if code := k.end(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			want := tt.above + weatherAnswer
			if tt.step == "phases" { // it cites another page
				want = strings.ReplaceAll(want, "example.org/weather/forecast", "example.com/docs/web-search")
				want = strings.Replace(strings.Replace(want, "[example.org]", "[example.com]", 1), "- oai-weather (DATE)\n", "", 1)
			}
			got := regexp.MustCompile(`(?m)^openai-responses-mcp: warning: .*\n`).ReplaceAllString(dateless(k.screen.String()), "")
			if got != want {
				t.Errorf("the screen shows\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// The line tells stage and query, follows the width, and is gone at the end.
func TestAskStatusLine(t *testing.T) {
	t.Parallel()
	k := askAt(t, newAPI(t, "weather+hang-after=12"), nil, nil, "Weather in Tokyo, and in Osaka, and in Nagoya?")
	k.see(t, "s: Weather in Tokyo, and in Osaka, and in N")
	if err := pty.Resize(k.person, 30, 24); err != nil {
		t.Fatal(err)
	}
	k.see(t, "…")
	if err := k.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := k.end(t); code != 130 || k.screen.String() != "" {
		t.Errorf("exit code %d, the screen shows %q, want 130 and nothing", code, k.screen)
	}
}

// Ctrl-C amid the text ends its line, and the request.
func TestAskInterruptedAtTerminal(t *testing.T) {
	t.Parallel()
	a := newAPI(t, "hang-after=16")
	k := askAt(t, a, nil, nil, "What is HTTP 404, and why is it sent, and by whom, and when?")
	k.see(t, "no API was asked.")
	if err := k.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := k.end(t); code != 130 || !strings.HasSuffix(k.screen.String(), "\n") {
		t.Errorf("exit code %d, the screen shows %q, want 130 and a fresh line", code, k.screen)
	}
}

// A pipe gets the answer and nothing else; the terminal is clean afterwards.
func TestAskIntoPipe(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	k := askAt(t, newAPI(t, "weather+slow=20ms"), &out, nil, "--usage", "Weather?")
	k.see(t, "searching, ")
	code := k.end(t)
	if got := dateless(out.String()); code != 0 || got != weatherAnswer {
		t.Errorf("exit code %d, the pipe got %q, want the answer", code, got)
	}
	if got := k.screen.String(); !strings.HasPrefix(got, "usage: ") || strings.Count(got, "\n") != 1 {
		t.Errorf("the screen shows %q, want a line on the usage", got)
	}
}

// Neither NO_COLOR nor a terminal that knows no sequences keeps the text away.
func TestAskAtPlainTerminal(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"TERM=dumb", "NO_COLOR=1"} {
		k := askAt(t, newAPI(t, "weather"), nil, []string{env}, "Weather?")
		if code, got := k.end(t), dateless(k.screen.String()); code != 0 || got != weatherAnswer {
			t.Errorf("%s: exit code %d, the screen shows %q", env, code, got)
		}
	}
}

// What the web says must not reach the terminal as a command, in any mode.
func TestAskHostileText(t *testing.T) {
	t.Parallel()
	const evil = "text=a\x1b]0;title\x07b\u009b31mc\x7f\u202ed\r\ne"
	for _, tt := range []struct{ flag, want string }{
		{"--json=false", "a]0;titleb31mcd\ne\n"},
		{"--json", `"answer":"a\u001b]0;title\u0007b\u009b31mc\u007f\u202ed\r\ne"`},
		{"--events", `\u009b`},
	} {
		k := askAt(t, newAPI(t, evil), nil, nil, tt.flag, "?")
		if code := k.end(t); code != 0 || !strings.Contains(k.screen.String(), tt.want) {
			t.Errorf("%s: exit code %d, the screen shows %q, want %q", tt.flag, code, k.screen, tt.want)
		}
	}
}

// An error stands below what was shown, in two lines.
func TestAskFailsAtTerminal(t *testing.T) {
	t.Parallel()
	k := askAt(t, newAPI(t, "404"), nil, []string{"MODEL_QUICK=gpt-9"}, "--quick", "?")
	want := "openai-responses-mcp: error: model not found (404): The model `gpt-9` does not exist or you do not have access to it.\n" +
		"hint: model_profiles.answer_quick.model is gpt-9 (MODEL_QUICK): name another model there\n"
	if code := k.end(t); code != 1 || k.screen.String() != want {
		t.Errorf("exit code %d, the screen shows %q, want %q", code, k.screen, want)
	}
}
