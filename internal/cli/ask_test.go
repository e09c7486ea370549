package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

const testKey = "sk-canary-Zq7XbT0wPl94mKfR"

// ran is what an invocation has left behind.
type ran struct {
	code           int
	stdout, stderr string
}

// program is this program in a test: its environment and the API behind it.
type program struct {
	env  []string
	api  *fakeapi.Server
	host string // of the API
}

func newProgram(t *testing.T, steps string) *program {
	t.Helper()
	p := &program{api: fakeapi.New(fakeapi.Options{Key: testKey})}
	base, stop, err := p.api.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	list, err := fakeapi.ParseSteps(steps)
	if err != nil {
		t.Fatal(err)
	}
	p.api.Queue(list...)
	p.host = strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/v1")
	home := t.TempDir()
	p.env = []string{"HOME=" + home, "USERPROFILE=" + home, "OPENAI_API_KEY=" + testKey, "OPENAI_BASE_URL=" + base, "OPENAI_MAX_RETRIES=1"}
	return p
}

// run runs it; the key must be in nothing that it prints.
func (p *program) run(t *testing.T, ctx context.Context, stdin io.Reader, args ...string) ran {
	t.Helper()
	var out, err bytes.Buffer
	got := ran{code: Run(ctx, args, p.env, stdin, &out, &err)}
	got.stdout, got.stderr = out.String(), err.String()
	if strings.Contains(got.stdout+got.stderr, testKey) {
		t.Errorf("the key was printed:\n%s%s", got.stdout, got.stderr)
	}
	return got
}

// sent is the body of the one request that was made.
func (p *program) sent(t *testing.T) map[string]any {
	t.Helper()
	all := p.api.Requests()
	if len(all) != 1 {
		t.Fatalf("%d requests were made, want one", len(all))
	}
	var body map[string]any
	if err := json.Unmarshal(all[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestAskPrintsTheAnswer(t *testing.T) {
	p := newProgram(t, "text=404:<none>")
	got := p.run(t, t.Context(), nil, "ask", "What", "is 404?")
	if diff := cmp.Diff(ran{0, "404:<none>\n", ""}, got, cmp.AllowUnexported(ran{})); diff != "" {
		t.Errorf("ask (-want +got):\n%s", diff)
	}
	body := p.sent(t)
	if _, ok := body["stream"]; ok {
		t.Errorf("nobody watches, and the request has stream = %v", body["stream"])
	}
	if input, _ := json.Marshal(body["input"]); !strings.Contains(string(input), `"What is 404?\n[Hints]`) {
		t.Errorf("input = %s, want the words as one question", input)
	}
}

func TestAskJSON(t *testing.T) {
	p := newProgram(t, "text=<b>404</b>")
	got := p.run(t, t.Context(), nil, "ask", "--json", "404?")
	want := ran{0, `{"answer":"<b>404</b>","used_search":false,"citations":[],"model":"gpt-5.2"}` + "\n", ""}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(ran{})); diff != "" {
		t.Errorf("ask --json (-want +got):\n%s", diff)
	}
}

func TestAskProfile(t *testing.T) {
	for _, tt := range []struct{ flags, want string }{
		{"--offline=false", "m-answer"}, {"--detailed", "m-detailed"}, {"--quick", "m-quick"},
		{"--model=m", "m"}, {"--detailed --model=m", "m"}, {"--model=m --quick", "m"},
	} {
		p := newProgram(t, "")
		p.env = append(p.env, "MODEL_ANSWER=m-answer", "MODEL_DETAILED=m-detailed", "MODEL_QUICK=m-quick")
		args := slices.Concat([]string{"ask"}, strings.Fields(tt.flags), []string{"404?"})
		if got := p.run(t, t.Context(), nil, args...); got.code != 0 {
			t.Errorf("%v = %+v", args, got)
		}
		if got := p.sent(t)["model"]; got != tt.want {
			t.Errorf("%v asks %v, want %s", args, got, tt.want)
		}
	}
}

func TestAskOffline(t *testing.T) {
	p := newProgram(t, "")
	got := p.run(t, t.Context(), nil, "ask", "--offline", "--json", "404?")
	if got.code != 0 || !strings.Contains(got.stdout, "offline answer") || !strings.Contains(got.stdout, `"model":"offline"`) {
		t.Errorf("ask --offline = %+v", got)
	}
	if n := len(p.api.Requests()); n != 0 {
		t.Errorf("ask --offline made %d requests to the API of the configuration", n)
	}
}

func TestAskUsage(t *testing.T) {
	const (
		noQuestion = "hint: openai-responses-mcp ask \"What does HTTP 404 mean?\", or - to read it from stdin\n"
		convert    = "hint: save or convert it as UTF-8: iconv -f SHIFT_JIS -t UTF-8 QUESTION.txt | openai-responses-mcp ask -\n"
		alone      = "hint: - alone reads the question from stdin; quotes make one word of a question\n"
	)
	for _, tt := range []struct {
		args  []string
		stdin string
		want  string // on stderr, after "openai-responses-mcp: error: "
	}{
		{nil, "", "no question\n" + noQuestion},
		{[]string{" ", ""}, "", "no question\n" + noQuestion},
		{[]string{"-"}, " \n", "no question\n" + noQuestion},
		{[]string{"--json", "--events", "?"}, "", "--json and --events exclude each other\nhint: choose one; see --help\n"},
		{[]string{"--detailed", "--quick", "?"}, "", "--detailed and --quick exclude each other\nhint: choose one; see --help\n"},
		{[]string{"--loud", "?"}, "", "unknown flag --loud\nhint: see --help\n"},
		{[]string{"?", "--json"}, "", "--json stands behind the question\nhint: flags go first, and -- ends them\n"},
		{[]string{"?", "--model=x"}, "", "--model=x stands behind the question\nhint: flags go first, and -- ends them\n"},
		{[]string{"\xff"}, "", "the question is not UTF-8 text\n" + convert},
		{nil, "\xff\xfeh\x00i\x00", "the question is not UTF-8 text\n" + convert}, // UTF-16
		{nil, strings.Repeat("x", maxQuestion+1), "the question on stdin is longer than 1048576 bytes\nhint: send the part that matters\n"},
		{[]string{"--offline", "-", "extra"}, "404?", "- stands beside other words\n" + alone},
		{[]string{"extra", "-"}, "404?", "- stands beside other words\n" + alone},
	} {
		p := newProgram(t, "")
		got := p.run(t, t.Context(), strings.NewReader(tt.stdin), append([]string{"ask"}, tt.args...)...)
		if diff := cmp.Diff(ran{2, "", "openai-responses-mcp: error: " + tt.want}, got, cmp.AllowUnexported(ran{})); diff != "" {
			t.Errorf("ask %q (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestAskQuestionFrom(t *testing.T) {
	for _, tt := range []struct {
		name  string
		args  []string
		stdin string
		want  string
	}{
		{"a pipe", nil, "from the pipe\n", "from the pipe"},
		{"a dash", []string{"-"}, "line 1\nline 2\n", "line 1\nline 2"},
		{"words before a pipe", []string{"from", "words"}, "from the pipe", "from words"},
		{"a dash behind --", []string{"--", "-"}, "from the pipe\n", "from the pipe"},
		{"a dash among words behind --", []string{"--", "-", "5"}, "from the pipe\n", "- 5"},
		{"a dash between words", []string{"7", "-", "5"}, "from the pipe\n", "7 - 5"},
		{"a mark of Windows", []string{"-"}, "\ufefffrom the pipe\r\n", "from the pipe"},
		{"behind --", []string{"--", "--json", "is what?"}, "", "--json is what?"},
		{"a single dash among words", []string{"what is", "-l"}, "", "what is -l"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProgram(t, "ok")
			got := p.run(t, t.Context(), strings.NewReader(tt.stdin), append([]string{"ask"}, tt.args...)...)
			if got.code != 0 {
				t.Fatalf("ask = %+v", got)
			}
			input, _ := json.Marshal(p.sent(t)["input"])
			want, _ := json.Marshal(tt.want + "\n[Hints]")
			if !strings.Contains(string(input), strings.TrimSuffix(string(want), `"`)) {
				t.Errorf("input = %s, want %s", input, want)
			}
		})
	}
}

// A terminal and the null device hold no question: waiting for one would look
// like a program that hangs.
func TestPiped(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "question"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		name string
		in   io.Reader
		want bool
	}{
		{"the null device", null, false}, {"a pipe", r, true}, {"a file", file, true}, {"nothing", nil, false},
	} {
		if got := piped(tt.in); got != tt.want {
			t.Errorf("piped(%s) = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestAskFails(t *testing.T) {
	for _, tt := range []struct{ step, want string }{
		{"401", "the API refused the key (401)\nhint: put a whole and current key for HOST into OPENAI_API_KEY"},
		{"404", "model not found (404): The model `gpt-5.2` does not exist or you do not have access to it.\n" +
			"hint: model_profiles.answer.model is gpt-5.2 (the default): name another model there, or with MODEL_ANSWER or --model"},
		{"quota", "quota exceeded (429)\nhint: check plan, credit and limits of your account at HOST"},
		{"incomplete:empty", "incomplete: max_output_tokens; the model wrote no answer\nhint: ask for less, or raise max_output_tokens in request.extra_body"},
	} {
		for _, flag := range []string{"--json", "--json=false"} {
			p := newProgram(t, tt.step)
			got := p.run(t, t.Context(), nil, "ask", flag, "?")
			want := "openai-responses-mcp: error: " + strings.ReplaceAll(tt.want, "HOST", p.host) + "\n"
			if diff := cmp.Diff(ran{1, "", want}, got, cmp.AllowUnexported(ran{})); diff != "" {
				t.Errorf("ask %s on %s (-want +got):\n%s", flag, tt.step, diff)
			}
		}
	}
}

// interrupted is a context that ends when a request has arrived.
func (p *program) interrupted(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		if err := p.api.WaitRequests(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { <-done })
	return ctx
}

func TestAskInterrupted(t *testing.T) {
	p := newProgram(t, "hang")
	got := p.run(t, p.interrupted(t), nil, "ask", "?")
	if diff := cmp.Diff(ran{code: 130}, got, cmp.AllowUnexported(ran{})); diff != "" {
		t.Errorf("ask (-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	endless, w := io.Pipe()
	defer w.Close()
	if got := p.run(t, ctx, endless, "ask"); got.code != 130 {
		t.Errorf("ask without a question = %+v, want 130", got)
	}
}
