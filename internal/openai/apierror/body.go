package apierror

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// maxNested bounds how deep errors are nested: the error of a gateway may contain that of its
// provider, whose message may be JSON.
const maxNested = 4

// apiError reads an error body: OpenAI's {"error":{...}}, or what compatible servers and gateways
// send instead (a string, a list, a bare message or detail). message is used if the body has none.
// Status is set if the code of the error is an HTTP status, or its message begins with one.
func apiError(data []byte, message string) *call.APIError {
	e := &call.APIError{Message: message, Body: string(data)}
	readAPIError(e, data, maxNested)
	return e
}

// readAPIError sets in e what an error body says, and reports whether data is an error body. If the
// error of a gateway contains the error of its provider, e gets the error of the provider, the
// cause.
func readAPIError(e *call.APIError, data []byte, levelsLeft int) bool {
	if levelsLeft == 0 || !json.Valid(data) { // not gjson.Valid, which recurses
		return false
	}

	doc := gjson.ParseBytes(data)
	switch {
	case doc.Type == gjson.String: // JSON in JSON
		return readAPIError(e, []byte(doc.Str), levelsLeft-1)
	case doc.IsArray(): // Gemini
		doc = doc.Get("0")
	}
	fields, bare, isError := findError(doc)
	if !isError && levelsLeft < maxNested { // the outermost body is an error in any case
		return false
	}

	setString(&e.Type, fields, "type")
	setParam(e, doc, fields)
	if isKnownCode(bare) {
		e.Code = bare
	}
	setString(&e.Code, fields, "code")
	// The codes of OpenRouter are coarse, and error_type or the words tell more
	// (https://openrouter.ai/docs/api/reference/responses/error-handling.md). Its metadata is null or has
	// raw, that of OpenAI's responses is neither.
	metadata := doc.Get("metadata")
	isOpenRouter := metadata.Raw == "null" || metadata.Get("raw").Exists()
	if e.Code == "invalid_prompt" && isOpenRouter {
		e.Code = ""
	}
	if e.Code == "" || e.Code == "server_error" {
		setString(&e.Code, doc, "error_type")
	}
	setString(&e.Message, doc, "detail")
	setString(&e.Message, doc, "Message") // AWS: https://github.com/BerriAI/litellm/pull/39166
	e.Message = cmp.Or(bare, e.Message)
	setString(&e.Message, fields, "message")
	if strings.Contains(e.Param, " ") { // MiMo: https://github.com/XiaomiMiMo/MiMo-V2-Flash/issues/18
		e.Message += ": " + e.Param
		e.Param = ""
	}
	setStatus(e)
	e.RetryAfter = max(e.RetryAfter, bodyWait(fields))
	readInner(e, fields.Get("metadata.raw"), levelsLeft-1)
	return true
}

// findError returns fields, the object in an error body that has the fields of the error. If the
// error is a string, a message or a code, bare is this string. isError reports whether doc is an
// error body.
func findError(doc gjson.Result) (fields gjson.Result, bare string, isError bool) {
	fields = doc.Get("error")
	for _, list := range []string{"error.0", "errors.0"} { // Cloudflare
		if !fields.IsObject() {
			fields = doc.Get(list)
		}
	}
	if fields.IsObject() {
		return fields, "", true
	}

	setString(&bare, fields, "@this") // errors.0, if it is a string
	setString(&bare, doc, "error")
	isError = bare != "" || doc.Get("message").Type == gjson.String || doc.Get("detail").Exists()
	return doc, bare, isError
}

// bodyWait returns how long to wait as the fields of an error say, or 0.
func bodyWait(fields gjson.Result) time.Duration {
	delay := ""
	setString(&delay, fields, "details.#.retryDelay|0") // Gemini
	setString(&delay, fields, "resets_in_seconds")      // Codex: https://github.com/router-for-me/CLIProxyAPI/issues/1666
	headers := fields.Get("metadata.headers")
	remaining := headers.Get("X-RateLimit-Remaining").String()
	reset := headers.Get("X-RateLimit-Reset").String()
	return max(headerWait(delay, time.Second), unixReset(remaining, reset, time.Now()))
}

// setString sets dst to the value at a path of doc, unless that is empty, or "None", which LiteLLM
// writes for null (https://github.com/BerriAI/litellm/pull/39521).
func setString(dst *string, doc gjson.Result, path string) {
	value := doc.Get(path).String()
	if value != "" && value != "None" {
		*dst = value
	}
}

// setStatus sets the HTTP status that is the code of an error, or begins its message: Qwen writes
// "<400> InternalError.Algo.InvalidParameter: ...".
func setStatus(e *call.APIError) {
	inMessage, _, _ := strings.Cut(strings.TrimPrefix(e.Message, "<"), "> ")
	for _, number := range []string{inMessage, e.Code} {
		status, _ := strconv.Atoi(number)
		if status >= 400 && status < 600 {
			e.Status = status
		}
	}
}

// setParam sets the parameter of an error. Servers that check requests with Zod send a list of
// issues in place of the name, or as the error itself: OpenRouter
// (https://github.com/BerriAI/litellm/issues/30851), Vercel
// (https://github.com/vercel/ai/issues/8815) and Hugging Face
// (https://github.com/huggingface/responses.js). An object names no parameter
// (https://github.com/vercel/ai/issues/9290).
func setParam(e *call.APIError, doc, fields gjson.Result) {
	param := fields.Get("param")
	if !param.IsObject() && !param.IsArray() {
		setString(&e.Param, fields, "param")
	}
	raw := gjson.Parse(doc.Get("metadata.raw").String())
	for _, issue := range []gjson.Result{raw.Get("0"), param.Get("0"), fields} {
		e.Param = cmp.Or(pathName(issue.Get("path")), e.Param)
	}
}

// pathName returns the name of the parameter at a path: ["tools",0,"type"] is tools[0].type.
func pathName(path gjson.Result) string {
	if !path.IsArray() { // some servers have the path of the URL here
		return ""
	}
	var b strings.Builder
	for _, step := range path.Array() {
		if step.Type == gjson.Number {
			b.WriteString("[" + step.Raw + "]")
		} else {
			b.WriteString("." + step.Str)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// readInner sets in e what the error inside an error says. The inner error is in raw, the
// metadata.raw of OpenRouter, as JSON or as plain words. Or it is in the message of e, as JSON.
func readInner(e *call.APIError, raw gjson.Result, levelsLeft int) {
	for _, inner := range []string{raw.String(), unwrapped(e.Message)} {
		inner = strings.TrimSpace(inner)
		isJSON := strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, `"{`)
		if isJSON && len(inner) <= MaxText && readAPIError(e, []byte(inner), levelsLeft) {
			e.MaybeThisCall = true
			return
		}
	}

	words := strings.TrimSpace(raw.Str)
	isText := words != "" && !strings.ContainsAny(words[:1], "<{[\"")
	if isText && len(words) <= MaxText {
		e.Message = words
		e.MaybeThisCall = true
	}
}

// litellmPrefix matches what LiteLLM writes before the error of a provider
// (https://github.com/OpenHands/software-agent-sdk/issues/755), for Azure with a class after the
// exception (https://github.com/BerriAI/litellm/issues/13407).
var litellmPrefix = text.LazyRegexp(`^litellm\.[\w.: ]*(?:Exception|Error) - \s*\{`)

// namingClass matches the classes of LiteLLM that name the kind of an error (kindTable) even where
// the error of the provider does not.
var namingClass = text.LazyRegexp(`ContextWindowExceededError|ContentPolicyViolationError`)

// unwrapped returns the JSON of a provider's error in a message of LiteLLM, without the words
// before and after it, or any other message unchanged.
func unwrapped(message string) string {
	at := litellmPrefix().FindStringIndex(message[:min(len(message), MaxText)])
	if at == nil || namingClass().MatchString(message[:at[1]]) {
		return message
	}
	var inner json.RawMessage
	err := json.NewDecoder(strings.NewReader(message[at[1]-1:])).Decode(&inner)
	if err != nil {
		return message
	}
	return string(inner)
}
