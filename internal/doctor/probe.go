package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// lookupLimit bounds the requests for the models.
const lookupLimit = 15 * time.Second

// probe judges what the API says.
type probe struct {
	Options
	client   *llm.Client
	models   map[string]json.RawMessage // what the API says about a model, by id; nil: it has none of that id
	took     time.Duration              // of the first lookup
	fault    *llm.Error                 // that ended the lookups, or nil
	answered string                     // the model that answered the question of live, or ""
}

// newProbe asks the API for each model once, until a request fails for a reason other than its
// model.
func newProbe(ctx context.Context, o Options) *probe {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	if !o.Config.KeySet {
		o.Client.APIKey = "none" // the API's refusal shows that the connection works
	}
	p := &probe{Options: o, client: llm.New(o.Client), models: map[string]json.RawMessage{}}
	begin := time.Now()
	for _, tool := range tools {
		id := p.Profiles[tool].Model
		if _, done := p.models[id]; done {
			continue
		}
		body, err := p.client.Model(ctx, id)
		p.took = cmp.Or(p.took, time.Since(begin))
		e, failed := errors.AsType[*llm.Error](err)
		// OpenRouter has the model in data. LM Studio answers unknown paths with 200.
		if !failed && !gjson.GetBytes(body, "id").Exists() && !gjson.GetBytes(body, "data.id").Exists() {
			e = &llm.Error{Kind: llm.KindBadResponse, Status: http.StatusOK, Message: "GET /models/" + id + " returned no model; see with --live whether questions are answered"}
		}
		if e != nil && e.Kind != llm.KindModel {
			p.fault = e
			break
		}
		p.models[id] = body
	}
	return p
}

// live asks a short question as the tools do, as a stream. An answer shows that a fault is about
// GET /models only, which many compatible servers lack.
func (p *probe) live(ctx context.Context) Check {
	if !p.Config.KeySet && !p.Offline || p.fault != nil && p.fault.Status == 0 {
		return warn("live", "no question was asked", "fix the failures above")
	}
	ctx, cancel := answer.WithTimeout(ctx, min(p.Config.Timeout(), 2*time.Minute))
	defer cancel()
	streamed := false // where streams are refused, the client makes a plain request by itself
	ans, err := answer.New(answer.Options{
		Client:       p.client,
		Instructions: "Answer with one word and do not search.",
		Profiles:     p.Profiles,
		ExtraBody:    p.Config.Request.ExtraBody,
		Stream:       "true",
	}).Ask(ctx, "answer", answer.Question{Query: "Say ok."}, func(ev llm.Event) {
		if done, ok := ev.(llm.Done); ok {
			streamed = done.Response.Streamed
		}
	})
	if err != nil {
		problem, hint := p.Advisor.Advise("answer", err)
		return fail("live", problem, hint)
	}
	p.answered, p.fault = p.Profiles["answer"].Model, nil
	report := fmt.Sprintf("%s answered in %.1f s with %d tokens; streaming is ",
		cmp.Or(ans.Meta.ResolvedModel, ans.Model), ans.Meta.Elapsed.Seconds(), ans.Meta.Usage.Total)
	if streamed {
		return ok("live", report+"allowed")
	}
	return warn("live", report+"refused", "an OpenAI organization has to be verified for it, at "+answer.VerifyPage+
		"; until then, or if the server cannot stream, answers come in one piece")
}

// lacksScope reports whether the key may not read models. OpenAI answers such a key with 401 or
// 403, often without a code.
func (p *probe) lacksScope() bool {
	return strings.Contains(strings.ToLower(p.fault.Message), "missing scope")
}

// key checks whether there is a key and whether the API accepts it.
func (p *probe) key() Check {
	env, set := p.Advisor.Key, p.Advisor.Key+" is set"
	switch {
	case p.Offline:
		return ok("key", "none is needed with --offline")
	case !p.Config.KeySet:
		return fail("key", env+" is not set", p.Advisor.GetKey()+" where the client starts the server; setup CLIENT shows how, --offline needs none")
	case p.fault == nil:
		return ok("key", set+" and accepted")
	case p.fault.Kind == llm.KindAuth && !p.lacksScope():
		problem, hint := p.Advisor.Advise("", p.fault)
		return fail("key", set+", but "+problem, hint)
	case p.Advisor.KeyFlaw != "":
		return warn("key", set+", but "+p.Advisor.KeyFlaw, "put the key alone into "+env)
	}
	return ok("key", set)
}

// http checks the connection. The error of the lookups says what failed.
func (p *probe) http() Check {
	e := p.fault
	switch {
	case e == nil, e.Kind == llm.KindAuth && e.Status != 0 && !p.lacksScope():
		return ok("http", fmt.Sprintf("answers in %d ms", p.took.Milliseconds()))
	case p.lacksScope():
		return warn("http", fmt.Sprintf("the key may not read models (%d): %s", e.Status, e.Message),
			"give the key that right, or see with --live whether it may ask questions")
	case e.Kind == llm.KindTimeout:
		return fail("http", fmt.Sprintf("no answer within %v", lookupLimit),
			"check the network, the firewall, openai.base_url and "+p.Advisor.Proxy+"; try again later")
	}
	problem, hint := p.Advisor.Advise("", e)
	return fail("http", problem, cmp.Or(p.Advisor.NoModels(e), hint))
}

// model checks the model of a tool.
func (p *probe) model(tool string) Check {
	name, profile := "model "+tool, p.Profiles[tool]
	missing, hint := p.Advisor.Advise(tool, &llm.Error{Kind: llm.KindModel})
	body, known := p.models[profile.Model]
	c := warn(name, profile.Model+" was not looked up", "see the checks above")
	switch {
	case body != nil:
		c = shutdown(name, profile.Model, body, time.Now(), hint)
	case p.answered == profile.Model:
		c = ok(name, profile.Model+" answers questions, but cannot be looked up")
	case known:
		return fail(name, profile.Model+": "+missing, hint)
	}
	c.Text += "; " + sent(profile)
	return c
}

// sent says which settings of a profile the model gets.
func sent(p answer.Profile) string {
	can := llm.CapabilityOf(p.Model)
	switch {
	case can.Reasoning && can.Verbosity:
		return fmt.Sprintf("effort %s and verbosity %s are sent", p.ReasoningEffort, p.Verbosity)
	case can.Reasoning:
		return fmt.Sprintf("effort %s is sent, verbosity is not: it takes none", p.ReasoningEffort)
	}
	return "effort and verbosity are not sent: it takes neither"
}

// notice is how long before its shutdown a model gets a warning.
const notice = 120 * 24 * time.Hour

// shutdown checks the day of the shutdown of a model that the API has. body is the API's
// description of the model, and hint how to choose another one.
func shutdown(name, id string, body []byte, now time.Time, hint string) Check {
	day := gjson.GetBytes(body, "shutdown_date").String() // 2027-03-21
	end, err := time.Parse(time.DateOnly, day)
	left := end.Sub(now)
	switch {
	case err != nil:
		return ok(name, id+" is there")
	case left <= 0:
		return fail(name, fmt.Sprintf("%s was shut down on %s", id, day), hint)
	case left <= notice:
		return warn(name, fmt.Sprintf("%s is shut down on %s (days left: %d)", id, day, int(left.Hours()/24)+1), hint)
	}
	return ok(name, id+" is there until "+day)
}
