package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// errorRows have error bodies of the API, compatible servers and gateways.
var errorRows = []struct {
	name   string
	status int
	kind   Kind
	want   string // type, code, param, message
	body   string
}{
	{
		"unknown model", 404, KindModel, "bad|model_not_found|model|No gpt-x",
		`{"error":{"message":"No gpt-x","type":"bad","param":"model","code":"model_not_found"}}`,
	},

	{
		"key", 401, KindAuth, "bad|invalid_api_key||Bad key",
		`{"error":{"message":"Bad key","type":"bad","param":null,"code":"invalid_api_key"}}`,
	},
	{
		"permission", 403, KindPermission, "|||No",
		`{"error":{"message":"No","type":null,"param":null,"code":null}}`,
	},

	{
		"OpenRouter: a number as code", 429, KindRateLimit, "|429||Slow",
		`{"error":{"code":429,"message":"Slow"}}`,
	},

	{
		"Ollama: a string", 400, KindParameter, "|||no such model",
		`{"error":"no such model"}`,
	},

	{
		"FastAPI: a list", 422, KindParameter, `|||[{"loc":["body"]}]`,
		`{"detail":[{"loc":["body"]}]}`,
	},
	{
		"flat", 400, KindParameter, "|bad||flat",
		`{"message":"flat","code":"bad"}`,
	},
	{
		"values of other types", 400, KindParameter, `7||{"a":1}|Nope`,
		`{"error":{"message":"Nope","param":{"a":1},"type":7}}`,
	},

	{
		"no body", 418, KindParameter, "|||I'm a teapot",
		``,
	},

	{
		"web page", 502, KindServer, "|||Bad Gateway",
		"<!DOCTYPE html><title>Bad gateway</title>",
	},
	{
		"web page of a firewall", 403, KindBadResponse, "|||Forbidden",
		"<!DOCTYPE html><title>Blocked</title>",
	},
	{
		"plain HTTP", 400, KindParameter, "|||" + ErrPlainHTTP.Error(),
		"<html>\r\n<p>The plain HTTP request was sent to HTTPS port",
	},

	{
		"text", 503, KindServer, "|||Service Unavailable: upstream connect error",
		"upstream connect error\nreset",
	},

	{
		"null", 529, KindServer, "|||HTTP 529: null",
		"null",
	},
	{
		"cut off", 500, KindServer, "|||Internal Server Error",
		`{"error":{"mess`,
	},

	{
		"payment", 402, KindQuota, "|||Pay",
		`{"error":{"message":"Pay"}}`,
	},
	{
		"wrong path", 404, KindNotFound, "|||Invalid URL (POST /v1/model)",
		`{"error":{"message":"Invalid URL (POST /v1/model)"}}`,
	},

	{
		"model by its code", 403, KindModel, "|model_not_found||No.",
		`{"error":{"message":"No.","code":"model_not_found"}}`,
	},
	{
		"OpenRouter: model", 400, KindModel, "|400||x/y is not a valid model ID",
		`{"error":{"message":"x/y is not a valid model ID","code":400}}`,
	},

	{
		"unverified organization", 403, KindUnverified, "|||Your organization must be verified.",
		`{"error":{"message":"Your organization must be verified."}}`,
	},

	{
		"quota by its type", 429, KindQuota, "insufficient_quota|||No.",
		`{"error":{"type":"insufficient_quota","code":null,"message":"No."}}`,
	},
	{
		"quota as a text", 429, KindQuota, "|insufficient_quota||insufficient_quota",
		`{"error":"insufficient_quota"}`,
	},
	{
		"hard limit", 400, KindQuota, "|billing_hard_limit_reached||No.",
		`{"error":{"message":"No.","code":"billing_hard_limit_reached"}}`,
	},
	{
		"inactive billing", 500, KindQuota, "|billing_not_active||No.",
		`{"error":{"message":"No.","code":"billing_not_active"}}`,
	},
}

// The cause of the end of a context may name the kind.
func TestCauses(t *testing.T) {
	for cause, want := range map[error]Kind{
		context.Canceled:                 KindCanceled,
		context.DeadlineExceeded:         KindTimeout,
		ErrDetached:                      KindCanceled,
		KindShutdown.Errorf("bye %d", 1): KindShutdown,
	} {
		t.Run(cause.Error(), func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(cause)
			c, _ := newClient(0)
			_, err := c.Create(ctx, &Call{}, question())

			wantKind(t, err, want)
			wantEqual(t, "cause found", errors.Is(err, cause), true)
		})
	}
}

func TestErrorAnswers(t *testing.T) {
	for _, tt := range errorRows {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := newClient(0, answer(tt.status, tt.body, "X-Request-Id", "req_1"))
			err := createError(t, c)

			wantKind(t, err, tt.kind)
			e := asError(t, err)
			got := fmt.Sprint(e.Type, "|", e.Code, "|", e.Param, "|", e.Message)
			wantEqual(t, "error", got, tt.want)

			wantEqual(t, "status", e.Status, tt.status)
			wantEqual(t, "request id", e.RequestID, "req_1")

			if e.Kind == KindBadResponse { // a page: its class is that of the status
				wantEqual(t, "name", e.Name(), "PermissionDeniedError")
			}
			page := strings.HasPrefix(tt.body, "<!")
			wantEqual(t, "a web page", errors.Is(err, ErrWebPage), page)
		})
	}
}
