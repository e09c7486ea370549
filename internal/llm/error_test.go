package llm

import (
	"errors"
	"strings"
	"testing"
)

// errorRows have error bodies of the API, compatible servers and gateways.
var errorRows = []struct {
	name   string
	status int
	body   string
	kind   Kind
	want   string // type, code, param, message
}{
	{
		"unknown model", 404,
		apiBody("bad", "model_not_found", "model", "No gpt-x"),
		KindModel, "bad|model_not_found|model|No gpt-x",
	},
	{
		"key", 401,
		`{"error":{"message":"Bad key","type":"bad","param":null,"code":"invalid_api_key"}}`,
		KindAuth, "bad|invalid_api_key||Bad key",
	},
	{
		"permission", 403,
		`{"error":{"message":"No","type":null,"param":null,"code":null}}`,
		KindPermission, "|||No",
	},
	{
		"OpenRouter: a number as code", 429,
		`{"error":{"code":429,"message":"Slow"}}`,
		KindRateLimit, "|429||Slow",
	},
	{
		"Ollama: a string", 400,
		`{"error":"no such model"}`,
		KindParameter, "|||no such model",
	},
	{
		"FastAPI: a text", 422,
		`{"detail":"field required"}`,
		KindParameter, "|||field required",
	},
	{
		"FastAPI: a list", 422,
		`{"detail":[{"loc":["body"]}]}`,
		KindParameter, `|||[{"loc":["body"]}]`,
	},
	{
		"flat", 400,
		`{"message":"flat","code":"bad"}`,
		KindParameter, "|bad||flat",
	},
	{
		"values of other types", 400,
		`{"error":{"message":"Nope","param":{"a":1},"type":7}}`,
		KindParameter, `7||{"a":1}|Nope`,
	},
	{
		"conflict", 409,
		`{}`,
		KindParameter, "|||Conflict",
	},
	{
		"no body", 418,
		``,
		KindParameter, "|||I'm a teapot",
	},
	{
		"web page", 502,
		"<!DOCTYPE html><title>Bad gateway</title>",
		KindServer, "|||Bad Gateway",
	},
	{
		"plain HTTP", 400,
		"<html>\r\n<p>The plain HTTP request was sent to HTTPS port",
		KindParameter, "|||" + ErrPlainHTTP.Error(),
	},
	{
		"text", 503,
		"upstream connect error\nreset",
		KindServer, "|||Service Unavailable: upstream connect error",
	},
	{
		"null", 529,
		"null",
		KindServer, "|||HTTP 529: null",
	},
	{
		"cut off", 500,
		`{"error":{"mess`,
		KindServer, "|||Internal Server Error",
	},
	{
		"payment", 402,
		`{"error":{"message":"Pay"}}`,
		KindQuota, "|||Pay",
	},
	{
		"wrong path", 404,
		apiBody("", "", "", "Invalid URL (POST /v1/model)"),
		KindNotFound, "|||Invalid URL (POST /v1/model)",
	},
	{
		"model by its code", 403,
		apiBody("", "model_not_found", "", "No."),
		KindModel, "|model_not_found||No.",
	},
	{
		"OpenRouter: model", 400,
		`{"error":{"message":"x/y is not a valid model ID","code":400}}`,
		KindModel, "|400||x/y is not a valid model ID",
	},
	{
		"unverified organization", 403,
		apiBody("", "", "", "Your organization must be verified."),
		KindUnverified, "|||Your organization must be verified.",
	},
	{
		"quota as a string", 429,
		`{"error":"insufficient_quota"}`,
		KindQuota, "|insufficient_quota||insufficient_quota",
	},
	{
		"quota by its type", 429,
		`{"error":{"type":"insufficient_quota","code":null,"message":"No."}}`,
		KindQuota, "insufficient_quota|||No.",
	},
	{
		"hard limit", 400,
		apiBody("", "billing_hard_limit_reached", "", "No."),
		KindQuota, "|billing_hard_limit_reached||No.",
	},
	{
		"inactive billing", 500,
		apiBody("", "billing_not_active", "", "No."),
		KindQuota, "|billing_not_active||No.",
	},
}

func TestErrorAnswers(t *testing.T) {
	for _, tt := range errorRows {
		t.Run(tt.name, func(t *testing.T) {
			c, _, _ := newClient(t, 0, answer(tt.status, tt.body, "X-Request-Id", "req_1"))
			err := createError(t, c)

			wantKind(t, err, tt.kind)
			e := asError(t, err)
			got := strings.Join([]string{e.Type, e.Code, e.Param, e.Message}, "|")
			if got != tt.want {
				t.Errorf("error = %q, want %q", got, tt.want)
			}

			if e.Status != tt.status {
				t.Errorf("status = %d, want %d", e.Status, tt.status)
			}

			if e.RequestID != "req_1" {
				t.Errorf("request id = %q, want req_1", e.RequestID)
			}

			page := strings.HasPrefix(tt.body, "<!")
			if errors.Is(err, ErrWebPage) != page {
				t.Errorf("a web page: %v, want %v", !page, page)
			}
		})
	}
}
