package llm

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestErrorAnswers has error bodies of the API, compatible servers and gateways.
func TestErrorAnswers(t *testing.T) {
	type fields struct{ Type, Code, Param, Message, Name string }
	tests := []struct {
		status int
		body   string
		want   fields
	}{
		{404, `{"error":{"message":"The model 'gpt-x' does not exist","type":"invalid_request_error","param":"model","code":"model_not_found"}}`,
			fields{"invalid_request_error", "model_not_found", "model", "The model 'gpt-x' does not exist", "NotFoundError"}},
		{401, `{"error":{"message":"Bad key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			fields{"invalid_request_error", "invalid_api_key", "", "Bad key", "AuthenticationError"}},
		{403, `{"error":{"message":"No","type":null,"param":null,"code":null}}`, fields{Message: "No", Name: "PermissionDeniedError"}},
		{429, `{"error":{"code":429,"message":"Slow"}}`, fields{Code: "429", Message: "Slow", Name: "RateLimitError"}}, // OpenRouter
		{400, `[{"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT"}}]`, fields{Code: "400", Message: "Bad", Name: "BadRequestError"}},
		{400, `{"error":"no such model"}`, fields{Message: "no such model", Name: "BadRequestError"}}, // Ollama
		{422, `{"detail":"field required"}`, fields{Message: "field required", Name: "UnprocessableEntityError"}},
		{422, `{"detail":[{"loc":["body"]}]}`, fields{Message: `[{"loc":["body"]}]`, Name: "UnprocessableEntityError"}},
		{400, `{"message":"flat","code":"bad"}`, fields{Code: "bad", Message: "flat", Name: "BadRequestError"}},
		{400, `{"error":{"message":"Nope","param":{"a":1},"type":7}}`, fields{Type: "7", Param: `{"a":1}`, Message: "Nope", Name: "BadRequestError"}},
		{409, `{}`, fields{Message: "Conflict", Name: "ConflictError"}},
		{418, ``, fields{Message: "I'm a teapot", Name: "APIError"}},
		{502, "<!DOCTYPE html><title>Bad gateway</title>", fields{Message: "Bad Gateway", Name: "InternalServerError"}},
		{400, "<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n",
			fields{Message: "a plain HTTP request was sent to a TLS port", Name: "BadRequestError"}},
		{503, "upstream connect error\nreset", fields{Message: "Service Unavailable: upstream connect error", Name: "InternalServerError"}},
		{529, "null", fields{Message: "HTTP 529: null", Name: "InternalServerError"}},
		{500, `{"error":{"mess`, fields{Message: "Internal Server Error", Name: "InternalServerError"}},
		{402, `{"error":{"message":"Pay"}}`, fields{Message: "Pay", Name: "RateLimitError"}},
	}
	for _, tt := range tests {
		c, _, _ := newClient(t, 0, answer(tt.status, tt.body, "X-Request-Id", "req_1"))
		_, err := c.Create(t.Context(), question())
		e := asError(t, err)
		got := fields{e.Type, e.Code, e.Param, e.Message, e.Name()}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%d %s (-want +got):\n%s", tt.status, tt.body, diff)
		}
		if page := strings.HasPrefix(tt.body, "<!"); page != errors.Is(err, ErrWebPage) {
			t.Errorf("%d %s: a web page: %v", tt.status, tt.body, !page)
		}
		if e.Status != tt.status || e.RequestID != "req_1" {
			t.Errorf("%d %s: status %d, request id %q", tt.status, tt.body, e.Status, e.RequestID)
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		e    *Error
		want string
	}{
		{&Error{Kind: KindRateLimit, Status: 429, Code: "rate_limit_exceeded", Message: "Slow down.", RequestID: "req_1"},
			"calling the Responses API: rate limited (429 rate_limit_exceeded): Slow down. [req_1]"},
		{&Error{Kind: KindTimeout, Message: "no complete answer in time"}, "calling the Responses API: timed out: no complete answer in time"},
	}
	for _, tt := range tests {
		if got := tt.e.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	want := map[Kind]string{
		KindMissingKey: "OpenAIError", KindAuth: "AuthenticationError", KindPermission: "PermissionDeniedError",
		KindModel: "BadRequestError", KindUnverified: "BadRequestError",
		KindNotFound: "NotFoundError", KindQuota: "RateLimitError", KindRateLimit: "RateLimitError",
		KindParameter: "BadRequestError", KindServer: "InternalServerError", KindTimeout: "APIConnectionTimeoutError",
		KindCanceled: "APIUserAbortError", KindConnection: "APIConnectionError",
		KindBadResponse: "APIResponseValidationError", KindFailed: "APIError",
	}
	for k := KindMissingKey; k <= KindUnverified; k++ {
		e := &Error{Kind: k}
		if got := e.Name(); got != want[k] {
			t.Errorf("Name() of %v = %q, want %q", k, got, want[k])
		}
		if strings.HasPrefix(k.String(), "kind ") {
			t.Errorf("Kind %d has no name", k)
		}
	}
}

// The key appears in no error, no log and no printed client, also when the
// API repeats it.
func TestKeyStaysSecret(t *testing.T) {
	const key = testKey
	bodies := []step{
		answer(401, apiBody("", "invalid_api_key", "", "Incorrect key "+key)),
		answer(500, "key "+key),
		answer(400, apiBody("", "", "store", key)),
		answer(200, "key="+key),
		answer(200, `{"status":"failed","error":{"message":"`+key+`"}}`),
		answer(200, `{"status":"failed","error":{"code":"`+key+`","type":"`+key+`"}}`),
		answer(400, apiBody("", "", "store", `sk\u002dtest-0123456789`)), // decoded it is the key
		answer(200, `{"status":"`+key+`"}`),
		answer(200, strings.Replace(finished, "Yes.", key, 1)),
	}
	c, _, log := newClient(t, 0, append(bodies, sseStep(`{"type":"error","message":"key `+key+`"}`))...)
	for range len(bodies) + 1 {
		_, err := c.Create(t.Context(), question())
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, key) {
			t.Errorf("the key is in the error %s", text)
		}
	}
	if strings.Contains(log.String(), key) {
		t.Errorf("the key is in the log:\n%s", log)
	}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, key) {
		t.Errorf("the key is in the printed client")
	}
}

// TestDebugLog checks the lines of spec-v0.9 section 8.1.
func TestDebugLog(t *testing.T) {
	body := `{"error":{"message":"No such model","code":"model_not_found"},"more":"` + strings.Repeat("x", 400) + `"}`
	c, _, log := newClient(t, 0, answer(404, body))
	c.Create(t.Context(), question())
	for _, want := range []string{
		`msg="openai(client): request" body="{\"instructions\":\"Answer.\",`,
		`msg="openai(client): error" attempt=1 status=404 name=NotFoundError code=model_not_found msg="No such model" body="{\"error\":`,
		strings.Repeat("x", 200),
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log.String(), strings.Repeat("x", 300)) {
		t.Error("the log has more than the first 300 characters of the body")
	}
}
