package doctor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// Each problem is one failure with its hint; what follows from it is a warning.
func TestProbe(t *testing.T) {
	const http, sent = "ok http: answers in 0 ms", "; effort and verbosity are not sent: it takes neither"
	const unknown = "warn model answer: x was not looked up" + sent + " -> see the checks above"
	fault := func(kind llm.Kind, status int, message string) func(*probe) {
		return func(p *probe) { p.models, p.fault = nil, &llm.Error{Kind: kind, Status: status, Message: message} }
	}
	tests := []struct {
		name   string
		change func(*probe)
		want   []string
	}{
		{"healthy", func(*probe) {}, []string{"ok key: K is set and accepted", http, "ok model answer: x is there" + sent}},
		{"offline", func(p *probe) { p.Offline, p.Config.KeySet = true, false }, []string{"ok key: none is needed with --offline", http, "ok model answer: x is there" + sent}},
		{"no key", func(p *probe) { fault(llm.KindAuth, 401, "")(p); p.Config.KeySet = false }, []string{
			"fail key: K is not set -> set K to a key for api.example (any text if that server needs none) where the client starts the server; setup CLIENT shows how, --offline needs none",
			http, unknown}},
		{"refused key", fault(llm.KindAuth, 401, "Incorrect API key"), []string{
			"fail key: K is set, but the API refused the key (401) -> set K to a complete and current key for api.example", http, unknown}},
		{"key in quotes, no connection", func(p *probe) {
			fault(llm.KindConnection, 0, "reset")(p)
			p.Advisor.KeyFlaw = "it has quotes around it"
		}, []string{"warn key: K is set, but it has quotes around it -> put the key alone into K",
			"fail http: connection failed: reset -> check the network, openai.base_url, HTTPS_PROXY and the firewall", unknown}},
		{"timeout", fault(llm.KindTimeout, 0, ""), []string{"ok key: K is set",
			"fail http: no answer within 15s -> check the network, the firewall, openai.base_url and HTTPS_PROXY; try again later", unknown}},
		{"key without the scope", fault(llm.KindAuth, 401, "Missing scopes: api.model.read"), []string{"ok key: K is set",
			"warn http: the key may not read models (401): Missing scopes: api.model.read -> give the key that right, or see with --live whether it may ask questions", unknown}},
		{"server without models", fault(llm.KindNotFound, 404, ""), []string{"ok key: K is set",
			"fail http: not found (404) -> check openai.base_url (Y): it ends with the version, as in https://api.openai.com/v1, or see with --live whether it answers questions", unknown}},
		{"server without models that answers", func(p *probe) { p.models, p.answered = nil, "x" }, []string{
			"ok key: K is set and accepted", http, "ok model answer: x answers questions, but cannot be looked up" + sent}},
		{"no such model", func(p *probe) { p.models["x"] = nil }, []string{
			"ok key: K is set and accepted", http, "fail model answer: x: model not found -> M is x (Y): name another model there"}},
	}
	for _, tt := range tests {
		p := &probe{models: map[string]json.RawMessage{"x": json.RawMessage(`{"id":"x"}`)}, Options: Options{
			Config: &config.Config{Derived: &config.Derived{KeySet: true}},
			Advisor: answer.Advisor{Key: "K", Proxy: "HTTPS_PROXY", BaseURL: answer.Setting{Value: "https://api.example/v1", From: "Y"},
				Models: map[string]answer.Setting{"answer": {Name: "M", Value: "x", From: "Y"}}},
			Profiles: map[string]answer.Profile{"answer": {Model: "x"}},
		}}
		tt.change(p)
		var got []string
		for _, c := range []Check{p.key(), p.http(), p.model("answer")} {
			got = append(got, strings.TrimSuffix(c.Verdict+" "+c.Name+": "+c.Text+" -> "+c.Hint, " -> "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
