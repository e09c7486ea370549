package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
)

// lookupTimeout bounds the requests for the models.
const lookupTimeout = 15 * time.Second

// modelLookup holds what is known about the API. The API works if all models were looked up, and if
// answeredModel is set, even if lookups have failed.
type modelLookup struct {
	*service.Service
	client *llm.Client
	models map[string]json.RawMessage // descriptions by id; nil if the API lacks the model

	fault         *call.APIError // error that ended the lookups; nil if none, or with answeredModel
	answeredModel string         // model that answered the question of askLive, or ""
}

// lookUpModels asks the API for each model once, until a request fails for another reason than a
// missing model. key is the argument of Service.NewAPIClient.
func lookUpModels(ctx context.Context, s *service.Service, key string) *modelLookup {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()

	p := &modelLookup{
		Service: s,
		client:  s.NewAPIClient(key),
		models:  map[string]json.RawMessage{},
	}
	for _, tool := range slices.Sorted(maps.Keys(s.Profiles)) {
		id := s.Profiles[tool].Model
		_, found := p.models[id]
		if found {
			continue
		}

		body, err := p.lookUp(ctx, id)
		if err != nil && err.Kind != call.KindModel {
			p.fault = err
			break
		}
		p.models[id] = body
	}
	return p
}

// lookUp returns the API's description of a model.
func (p *modelLookup) lookUp(ctx context.Context, id string) (json.RawMessage, *call.APIError) {
	body, err := p.client.Model(ctx, id)
	e, failed := errors.AsType[*call.APIError](err)

	// OpenRouter puts the model into data. A 200 without a model is an error: LM Studio answers
	// unknown paths so.
	hasModel := gjson.GetBytes(body, "id").Exists() ||
		gjson.GetBytes(body, "data.id").Exists()
	if failed || hasModel {
		return body, e
	}
	message := "GET /models/" + id + " returned no model; " +
		"see with --live whether questions are answered"
	return nil, &call.APIError{
		Kind:    call.KindBadResponse,
		Status:  http.StatusOK,
		Message: message,
	}
}

// askLive asks a short question as the tools do, with a stream. If there is an answer, a fault is
// about GET /models only, which many compatible servers lack.
func (p *modelLookup) askLive(ctx context.Context) Check {
	lacksKey := !p.Config.HasCredential && !p.Offline
	unreachable := p.fault != nil && p.fault.Status == 0
	if lacksKey || unreachable {
		return warn("no question was asked", "fix the failures")
	}

	const longest = 2 * time.Minute
	ctx, cancel := call.WithTimeout(ctx, min(p.Config.Timeout(), longest))
	defer cancel()
	answerer := answer.New(answer.Options{
		Create:       p.client.Create,
		Instructions: "Answer with one word and do not search.",
		Profiles:     p.Profiles,
		ExtraBody:    p.Config.Request.ExtraBody,
	})
	streamed := false // if the API refuses a stream, the client repeats the request without one
	c := &call.Call{
		Tool: call.DefaultTool,
		Sink: func(event call.Event) {
			done, ok := event.(call.Done)
			if ok {
				streamed = done.Streamed
			}
		},
	}
	ans, err := answerer.Ask(ctx, c, answer.Question{Query: "Say ok."})
	if err != nil {
		problem, hint := p.Advisor.Advise(call.DefaultTool, err)
		if ctx.Err() != nil && p.Config.Timeout() > longest { // no setting makes it wait longer
			hint = "see the API's status page, and whether a proxy or firewall on the way is silent"
		}
		return fail(problem, hint)
	}

	p.answeredModel = p.Profiles[call.DefaultTool].Model
	p.fault = nil
	report := fmt.Sprintf("%s answered in %.1f s with %d tokens; streaming is ",
		cmp.Or(ans.Meta.ResolvedModel, ans.Model),
		ans.Meta.Elapsed.Seconds(),
		ans.Meta.Usage.Total)
	if streamed {
		return pass(report + "allowed")
	}
	const hint = "an OpenAI organization has to be verified for it, at " + advice.VerifyPage +
		"; until then, or if the server cannot stream, answers come in one piece"
	return warn(report+"refused", hint)
}

// keyIsRefused reports whether the fault is that the API does not accept the key.
func (p *modelLookup) keyIsRefused() bool {
	return p.fault != nil && p.fault.Kind == call.KindAuth
}

// CheckKey asks the API for the models with a key. refused is whether the API refuses the key. The
// check is about the refusal, else about a missing model or the connection.
func CheckKey(ctx context.Context, s *service.Service, key string) (c Check, refused bool) {
	p := lookUpModels(ctx, s, key)
	if p.keyIsRefused() {
		advisor := p.Advisor
		// The key is that of login, not the configured one.
		advisor.KeyFlaw = nil
		advisor.StoredKeyUnused = false
		advisor.LoginCommand = s.StartCommand + " login"
		return fail(advisor.Advise("", p.fault)), true
	}
	if p.fault == nil && p.models[p.Profiles[call.DefaultTool].Model] == nil {
		return p.modelCheck(call.DefaultTool), false
	}
	return p.connectionCheck(), false
}

// keyCheck checks whether there is a key and whether the API accepts it.
func (p *modelLookup) keyCheck() Check {
	advisor := p.Advisor
	variable := advisor.KeyVariable
	err := p.Config.APIKeyErr
	state := variable + " is set"
	if p.Config.UsesStoredKeyFile() {
		state = variable + " is stored in " + p.Config.APIKeyFile
	}

	switch {
	case p.Offline:
		return pass("none is needed with --offline")
	case err != nil:
		hint := advisor.MissingKeyHint()
		if !p.Config.UsesStoredKeyFile() {
			hint = "correct the path in " + variable + ", or " + hint
		}
		return fail(err.Error(), hint)
	case !p.Config.HasCredential:
		const more = "; setup CLIENT shows how a client passes it on, --offline needs none"
		return fail(variable+" is not set", advisor.MissingKeyHint()+more)
	case p.fault == nil:
		return pass(state + " and accepted")
	case p.keyIsRefused():
		problem, hint := advisor.Advise("", p.fault)
		return fail(state+", but "+problem, hint)
	case advisor.KeyFlaw() != "":
		return warn(state+", but "+advisor.KeyFlaw(), advisor.PutKeyHint("the key alone"))
	}
	return pass(state)
}

// connectionCheck checks the connection to the API, by the error of the lookups. A refused key is
// no problem of the connection.
func (p *modelLookup) connectionCheck() Check {
	e := p.fault
	switch {
	case e == nil, p.keyIsRefused():
		return pass("answers")
	case strings.Contains(e.Message, "Missing scope"): // with 401 or 403, often without a code
		const hint = "give the key that right, or see with --live whether it may ask questions"
		return warn("the key may not read models: "+e.Message, hint)
	case e.Kind == call.KindTimeout && !errors.As(e, new(call.RootsError)):
		hint := "check the network, the firewall, openai.base_url and " +
			p.Advisor.ProxyVariable +
			"; try again later"
		return fail(fmt.Sprintf("no answer within %v", lookupTimeout), hint)
	}

	problem, hint := p.Advisor.Advise("", e)
	return fail(problem, cmp.Or(p.Advisor.NoModelsHint(e), hint))
}

// modelCheck checks the model of a tool.
func (p *modelLookup) modelCheck(tool string) Check {
	profile := p.Profiles[tool]
	missing, hint := p.Advisor.Advise(tool, &call.APIError{Kind: call.KindModel})
	body, found := p.models[profile.Model]

	var c Check
	switch {
	case body != nil:
		c = shutdownCheck(profile.Model, body, time.Now(), hint)
	case p.answeredModel == profile.Model:
		c = pass(profile.Model + " answers questions, but cannot be looked up")
	case found:
		return fail(profile.Model+": "+missing, hint)
	default:
		c = warn(profile.Model+" was not looked up", "see the other checks")
	}
	c.Text += "; " + sentSettings(profile)
	return c
}

// sentSettings returns words for which settings of a profile are sent to its model.
func sentSettings(p answer.Profile) string {
	capability := call.CapabilityOf(p.Model)
	switch {
	case !capability.Reasoning:
		return "effort and verbosity are not sent: by its name it takes neither"
	case !capability.Verbosity:
		return fmt.Sprintf("effort %s is sent, verbosity is not: it takes none", p.ReasoningEffort)
	}
	return fmt.Sprintf("effort %s and verbosity %s are sent", p.ReasoningEffort, p.Verbosity)
}

// shutdownNotice is how long before the shutdown of a model its check is a warning.
const shutdownNotice = 120 * 24 * time.Hour

// shutdownCheck checks the day of the shutdown of a model that the API has. body is the API's
// description of the model, and hint is how to choose another model.
func shutdownCheck(id string, body []byte, now time.Time, hint string) Check {
	day := gjson.GetBytes(body, "shutdown_date").String() // 2027-03-21
	end, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return pass(id + " is there")
	}

	left := end.Sub(now)
	switch {
	case left <= 0:
		return fail(id+" was shut down on "+day, hint)
	case left <= shutdownNotice:
		return warn(id+" is shut down on "+day, hint)
	}
	return pass(id + " is there until " + day)
}
