package llm

import (
	"errors"
	"strings"
	"testing"
)

// TestErrorAnswers has error bodies of the API, compatible servers and gateways.
func TestErrorAnswers(t *testing.T) {
	type fields struct {
		Kind                             Kind
		Type, Code, Param, Message, Name string
	}
	tests := []struct {
		status int
		body   string
		want   fields
	}{
		{404, `{"error":{"message":"The model 'gpt-x' does not exist","type":"invalid_request_error","param":"model","code":"model_not_found"}}`,
			fields{KindModel, "invalid_request_error", "model_not_found", "model", "The model 'gpt-x' does not exist", "NotFoundError"}},
		{401, `{"error":{"message":"Bad key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			fields{KindAuth, "invalid_request_error", "invalid_api_key", "", "Bad key", "AuthenticationError"}},
		{403, `{"error":{"message":"No","type":null,"param":null,"code":null}}`, fields{Kind: KindPermission, Message: "No", Name: "PermissionDeniedError"}},
		{429, `{"error":{"code":429,"message":"Slow"}}`, fields{Kind: KindRateLimit, Code: "429", Message: "Slow", Name: "RateLimitError"}}, // OpenRouter
		{400, `{"error":"no such model"}`, fields{Kind: KindParameter, Message: "no such model", Name: "BadRequestError"}},                  // Ollama
		{422, `{"detail":"field required"}`, fields{Kind: KindParameter, Message: "field required", Name: "BadRequestError"}},
		{422, `{"detail":[{"loc":["body"]}]}`, fields{Kind: KindParameter, Message: `[{"loc":["body"]}]`, Name: "BadRequestError"}},
		{400, `{"message":"flat","code":"bad"}`, fields{Kind: KindParameter, Code: "bad", Message: "flat", Name: "BadRequestError"}},
		{400, `{"error":{"message":"Nope","param":{"a":1},"type":7}}`, fields{Kind: KindParameter, Type: "7", Param: `{"a":1}`, Message: "Nope", Name: "BadRequestError"}},
		{409, `{}`, fields{Kind: KindParameter, Message: "Conflict", Name: "BadRequestError"}},
		{418, ``, fields{Kind: KindParameter, Message: "I'm a teapot", Name: "BadRequestError"}},
		{502, "<!DOCTYPE html><title>Bad gateway</title>", fields{Kind: KindServer, Message: "Bad Gateway", Name: "InternalServerError"}},
		{400, "<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n",
			fields{Kind: KindParameter, Message: "a plain HTTP request was sent to a TLS port", Name: "BadRequestError"}},
		{503, "upstream connect error\nreset", fields{Kind: KindServer, Message: "Service Unavailable: upstream connect error", Name: "InternalServerError"}},
		{529, "null", fields{Kind: KindServer, Message: "HTTP 529: null", Name: "InternalServerError"}},
		{500, `{"error":{"mess`, fields{Kind: KindServer, Message: "Internal Server Error", Name: "InternalServerError"}},
		{402, `{"error":{"message":"Pay"}}`, fields{Kind: KindQuota, Message: "Pay", Name: "RateLimitError"}},
		{404, apiBody("", "", "", "Invalid URL (POST /v1/model)"),
			fields{Kind: KindNotFound, Message: "Invalid URL (POST /v1/model)", Name: "NotFoundError"}},
		{403, apiBody("", "model_not_found", "", "No."),
			fields{Kind: KindModel, Code: "model_not_found", Message: "No.", Name: "NotFoundError"}},
		{400, `{"error":{"message":"x/y is not a valid model ID","code":400}}`,
			fields{Kind: KindModel, Code: "400", Message: "x/y is not a valid model ID", Name: "NotFoundError"}},
		{403, apiBody("", "", "", "Your organization must be verified to use this model."),
			fields{Kind: KindUnverified, Message: "Your organization must be verified to use this model.", Name: "PermissionDeniedError"}},
		{429, `{"error":"insufficient_quota"}`, fields{Kind: KindQuota, Code: "insufficient_quota", Message: "insufficient_quota", Name: "RateLimitError"}},
		{429, `{"error":{"type":"insufficient_quota","code":null,"message":"No."}}`,
			fields{Kind: KindQuota, Type: "insufficient_quota", Message: "No.", Name: "RateLimitError"}},
		{400, apiBody("", "billing_hard_limit_reached", "", "No."),
			fields{Kind: KindQuota, Code: "billing_hard_limit_reached", Message: "No.", Name: "RateLimitError"}},
		{500, apiBody("", "billing_not_active", "", "No."),
			fields{Kind: KindQuota, Code: "billing_not_active", Message: "No.", Name: "RateLimitError"}},
	}
	for _, tt := range tests {
		c, _, _ := newClient(t, 0, answer(tt.status, tt.body, "X-Request-Id", "req_1"))
		_, err := c.Create(t.Context(), question())
		e := asError(t, err)
		got := fields{e.Kind, e.Type, e.Code, e.Param, e.Message, e.Name()}
		if got != tt.want {
			t.Errorf("%d %s: %+v, want %+v", tt.status, tt.body, got, tt.want)
		}
		if page := strings.HasPrefix(tt.body, "<!"); page != errors.Is(err, ErrWebPage) {
			t.Errorf("%d %s: a web page: %v", tt.status, tt.body, !page)
		}
		if e.Status != tt.status || e.RequestID != "req_1" {
			t.Errorf("%d %s: status %d, request id %q", tt.status, tt.body, e.Status, e.RequestID)
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
