package llm

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

func TestBaseURL(t *testing.T) {
	eachRow(t, "urls", func(t *testing.T, base string, row []string) {
		api := &scripted{steps: []step{succeed}}
		wantSuccess(t, createError(t, newClientOf(base, api, 0, io.Discard)))
		wantEqual(t, "URL", api.url, row[0])
	})
}

// The id of a model may have a vendor prefix.
func TestModel(t *testing.T) {
	const model = `{"id":"gpt-5.2","object":"model"}`
	cl, api := newClient(0, answer(200, model))

	got, err := cl.Model(t.Context(), "openai/gpt-5.2")
	wantSuccess(t, err)
	wantEqual(t, "model", string(got), model)
	wantEqual(t, "URL", api.url, "http://api.test/v1/models/openai/gpt-5.2?api-version=1")
}

func TestCapabilityOf(t *testing.T) {
	for can, models := range map[call.Capability]string{
		{Verbosity: true, Reasoning: true}: `gpt-5 gpt-5.2 GPT-5.2 gpt-5-mini-2025-08-07 gpt-5-chat-latest gpt-6
			gpt-6.1-sol gpt-10 gpt-10.5-2029-01-01 openai/gpt-5.2 ft:gpt-5-mini-2025-08-07:acme::a1b2
			openai.gpt-5.6-sol databricks-gpt-5-2 system.ai.gpt-5 gpt-daybreak-blue-latest
			gpt-rosalind-research`,
		{Reasoning: true}: `o1 o1-pro o3-mini-2025-01-31 o4-mini-deep-research openai/o4-mini:online
			ft:o4-mini-2025-04-16:acme::a1b2`,
		{}: `gpt-4.1 gpt-4o-mini-2024-07-18 gpt-3.5-turbo gpt-35-turbo gpt-oss-120b
			gpt-image-1 chatgpt-4o-latest codex-mini-latest omni-moderation-latest
			anthropic/claude-sonnet-5 ft:gpt-4.1-mini:acme:gpt-5:a1b2
			ft:gpt-4.1:acme:my-gpt-5:a1b2 openai.gpt-oss-120b gpt- o`,
	} {
		for model := range strings.FieldsSeq(models) {
			t.Run(model, func(t *testing.T) {
				wantEqual(t, "capability", call.CapabilityOf(model), can)
			})
		}
	}
}

// A new key is sent from the next request on, also where there was none.
func TestSetKey(t *testing.T) {
	api := &scripted{steps: []step{succeed}}
	cl := New(Options{HTTPClient: &http.Client{Transport: api}})
	wantKind(t, cl.CheckKey(), call.KindMissingKey)

	for _, key := range []string{"sk-first", "sk-second"} {
		t.Run(key, func(t *testing.T) {
			cl.SetKey(key + "\n")
			wantSuccess(t, createError(t, cl))
			want := "Bearer " + key
			wantEqual(t, "Authorization", api.header.Get("Authorization"), want)
		})
	}
}
