package llm

import (
	"errors"
	"strings"
	"testing"
)

// TestErrorAnswers has error bodies of the API, compatible servers and gateways.
func TestErrorAnswers(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		kind   Kind
		want   string // type, code, param, message
	}{
		{404, apiBody("bad", "model_not_found", "model", "No gpt-x"), KindModel, "bad|model_not_found|model|No gpt-x"},
		{401, `{"error":{"message":"Bad key","type":"bad","param":null,"code":"invalid_api_key"}}`, KindAuth, "bad|invalid_api_key||Bad key"},
		{403, `{"error":{"message":"No","type":null,"param":null,"code":null}}`, KindPermission, "|||No"},
		{429, `{"error":{"code":429,"message":"Slow"}}`, KindRateLimit, "|429||Slow"}, // OpenRouter
		{400, `{"error":"no such model"}`, KindParameter, "|||no such model"},         // Ollama
		{422, `{"detail":"field required"}`, KindParameter, "|||field required"},
		{422, `{"detail":[{"loc":["body"]}]}`, KindParameter, `|||[{"loc":["body"]}]`},
		{400, `{"message":"flat","code":"bad"}`, KindParameter, "|bad||flat"},
		{400, `{"error":{"message":"Nope","param":{"a":1},"type":7}}`, KindParameter, `7||{"a":1}|Nope`},
		{409, `{}`, KindParameter, "|||Conflict"},
		{418, ``, KindParameter, "|||I'm a teapot"},
		{502, "<!DOCTYPE html><title>Bad gateway</title>", KindServer, "|||Bad Gateway"},
		{400, "<html>\r\n<p>The plain HTTP request was sent to HTTPS port", KindParameter, "|||" + ErrPlainHTTP.Error()},
		{503, "upstream connect error\nreset", KindServer, "|||Service Unavailable: upstream connect error"},
		{529, "null", KindServer, "|||HTTP 529: null"},
		{500, `{"error":{"mess`, KindServer, "|||Internal Server Error"},
		{402, `{"error":{"message":"Pay"}}`, KindQuota, "|||Pay"},
		{404, apiBody("", "", "", "Invalid URL (POST /v1/model)"), KindNotFound, "|||Invalid URL (POST /v1/model)"},
		{403, apiBody("", "model_not_found", "", "No."), KindModel, "|model_not_found||No."},
		{400, `{"error":{"message":"x/y is not a valid model ID","code":400}}`, KindModel, "|400||x/y is not a valid model ID"},
		{403, apiBody("", "", "", "Your organization must be verified."), KindUnverified, "|||Your organization must be verified."},
		{429, `{"error":"insufficient_quota"}`, KindQuota, "|insufficient_quota||insufficient_quota"},
		{429, `{"error":{"type":"insufficient_quota","code":null,"message":"No."}}`, KindQuota, "insufficient_quota|||No."},
		{400, apiBody("", "billing_hard_limit_reached", "", "No."), KindQuota, "|billing_hard_limit_reached||No."},
		{500, apiBody("", "billing_not_active", "", "No."), KindQuota, "|billing_not_active||No."},
	} {
		c, _, _ := newClient(t, 0, answer(tt.status, tt.body, "X-Request-Id", "req_1"))
		_, err := c.Create(t.Context(), question())
		e := asError(t, err)
		got := strings.Join([]string{e.Type, e.Code, e.Param, e.Message}, "|")
		if got != tt.want || e.Kind != tt.kind || e.Status != tt.status || e.RequestID != "req_1" {
			t.Errorf("%d %s: %v (%q), want %v (%q)", tt.status, tt.body, e, got, tt.kind, tt.want)
		}
		if page := strings.HasPrefix(tt.body, "<!"); page != errors.Is(err, ErrWebPage) {
			t.Errorf("%d %s: a web page: %v", tt.status, tt.body, !page)
		}
	}
}

// A context carries a traceparent to the API and to the debug log.
func TestTraceparent(t *testing.T) {
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for value, want := range map[string]string{valid: valid, "": "", valid + "-x": "", "01" + valid[2:]: "", strings.ToUpper(valid): "", valid + "\n": ""} {
		c, api, log := newClient(t, 0, answer(200, finished))
		if _, err := c.Create(WithTraceparent(t.Context(), value), question()); err != nil {
			t.Fatal(err)
		}
		if got := api.header.Get("Traceparent"); got != want || strings.Contains(log.String(), "traceparent="+valid) != (want != "") {
			t.Errorf("traceparent %q: header %q, want %q; log:\n%s", value, got, want, log)
		}
	}
}
