package stdio

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestSwapToken(t *testing.T) {
	tests := []struct {
		name, params, swapped, token string
	}{
		{"string", `{"_meta":{"progressToken":"a\u0062"}}`, `{"_meta":{"progressToken":7}}`, `"a\u0062"`},
		{"empty string", `{"_meta":{"progressToken":""}}`, `{"_meta":{"progressToken":7}}`, `""`},
		{"more than a float64 holds", `{"_meta":{"progressToken":9007199254740993}}`, `{"_meta":{"progressToken":7}}`, `9007199254740993`},
		{"fraction", `{"_meta":{"progressToken":-1.50}}`, `{"_meta":{"progressToken":7}}`, `-1.50`},
		{"the rest stays", `{"name":"x","arguments":{"q":"<a>&","n":1.0},"_meta":{"k":[1],"progressToken":1}}`,
			`{"_meta":{"k":[1],"progressToken":7},"arguments":{"q":"<a>&","n":1.0},"name":"x"}`, `1`},
		{"null", `{"_meta":{"progressToken":null}}`, "", ""},
		{"no string or number", `{"_meta":{"progressToken":{"a":1}}}`, "", ""},
		{"another case", `{"_meta":{"ProgressToken":1}}`, "", ""},
		{"null _meta", `{"_meta":null}`, "", ""},
		{"no object", `[1]`, "", ""},
		{"nothing", ``, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.token == "" {
				tt.swapped = tt.params
			}
			swapped, token := swapToken(json.RawMessage(tt.params), 7)
			if string(swapped) != tt.swapped || string(token) != tt.token {
				t.Errorf("swapToken(%s) = %s, %s, want %s, %s", tt.params, swapped, token, tt.swapped, tt.token)
			}
		})
	}
}

// The token of a call leaves as it came, and only while the call is in flight.
func TestConnProgress(t *testing.T) {
	output, out := io.Pipe()
	lines := bufio.NewScanner(output)
	tr := &Transport{
		In: strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":9007199254740993}}}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"),
		Out:     out,
		Methods: []string{"ping"},
		Log:     slog.New(slog.DiscardHandler),
	}
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = c.Close(), output.Close() }()
	read := func(method string) *jsonrpc.Request {
		t.Helper()
		m, err := c.Read(t.Context())
		r, ok := m.(*jsonrpc.Request)
		if err != nil || !ok || r.Method != method {
			t.Fatalf("Read = %v, %v, want %s", m, err, method)
		}
		return r
	}
	tell := func(params string) {
		t.Helper()
		if err := c.Write(t.Context(), &jsonrpc.Request{Method: notifyProgress, Params: json.RawMessage(params)}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := string(read("ping").Params), `{"_meta":{"progressToken":1}}`; got != want {
		t.Errorf("params = %s, want %s", got, want)
	}
	tell(`{"progressToken":1,"progress":3,"message":"a <b>"}`)
	want := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"a <b>","progress":3,"progressToken":9007199254740993}}`
	if !lines.Scan() || lines.Text() != want {
		t.Errorf("stdout = %q, want %q", lines.Text(), want)
	}
	read("ping")
	tell(`{"progressToken":2,"progress":1}`) // of a call without a token
	tell(`{"progressToken":"1","progress":1}`)
	read(cancelled)
	tell(`{"progressToken":1,"progress":4}`)
	if err := c.Write(t.Context(), &jsonrpc.Response{ID: number(2), Result: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Errorf("stdout = %q, want the answer and nothing before it", lines.Text())
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Read = %v, want EOF", err)
	}
}
