package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// examined are the profiles as doctor shows them.
func examined(cfg *config.Config, offline bool) []doctor.Profile {
	all := profiles(cfg)
	var list []doctor.Profile
	for _, name := range []string{"answer", "answer_detailed", "answer_quick"} {
		p, key := all[name], modelKey(cfg, name)
		if offline {
			p.Model = "offline"
		}
		list = append(list, doctor.Profile{
			Name:  name,
			Model: p.Model,
			Where: fmt.Sprintf("%s (%s)", key, from(cfg, key)),
			Sent:  sent(p),
		})
	}
	return list
}

// sent says which of a profile's settings the model gets to see.
func sent(p answer.Profile) string {
	can := llm.CapabilityOf(p.Model)
	switch {
	case can.Reasoning && can.Verbosity:
		return fmt.Sprintf("effort %s and verbosity %s are sent", p.Effort, p.Verbosity)
	case can.Reasoning:
		return fmt.Sprintf("effort %s is sent, verbosity is not: it takes none", p.Effort)
	}
	return "effort and verbosity are not sent: it takes neither"
}

// specialist asks the API on behalf of doctor.
type specialist struct {
	client     *llm.Client
	guide      answer.Guide
	request    llm.Request // the live question
	timeout    time.Duration
	streamed   atomic.Bool // the last answer came as a stream
	unverified atomic.Bool // a request was refused to an organization that is not verified
}

// newSpecialist makes the client of the server, but for the retries: doctor
// wants to see the first failure.
func newSpecialist(cfg *config.Config, x *examination, guide answer.Guide, log *slog.Logger) *specialist {
	o := clientOptions(cfg, log)
	s := &specialist{guide: guide, timeout: cfg.Timeout()}
	hc := llm.NewHTTPClient()
	x.closers = append(x.closers, hc.CloseIdleConnections)
	hc.Transport = s.watch(hc.Transport)
	o.BaseURL, o.HTTPClient = x.BaseURL, hc
	if x.Offline {
		o.Headers = nil
	}
	if o.APIKey == "" || x.Offline {
		// The way to the API can be tried without one: it ends in a refusal.
		o.APIKey = "none"
	}
	s.client = llm.New(o)
	p := profiles(cfg)["answer"]
	s.request = llm.Request{
		Model:            x.Profiles[0].Model,
		Instructions:     "Answer with one word and do not search.",
		Input:            []llm.Item{llm.UserText("Say ok.")},
		Tools:            []json.RawMessage{json.RawMessage(`{"type":"web_search"}`)},
		Effort:           p.Effort,
		Verbosity:        p.Verbosity,
		ReasoningSummary: p.Summary,
		Extra:            cfg.Request.ExtraBody,
	}
	return s
}

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// watch notes whether an answer comes as a stream. The client falls back to a
// plain call by itself, so its caller would not know.
func (s *specialist) watch(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
			s.streamed.Store(kind == "text/event-stream")
			if resp.StatusCode == http.StatusBadRequest {
				s.overhear(resp)
			}
		}
		return resp, err
	})
}

// overhear reads a refusal, which the client answers by asking in another way.
func (s *specialist) overhear(resp *http.Response) {
	const enough = 64 << 10
	start, _ := io.ReadAll(io.LimitReader(resp.Body, enough))
	if answer.Unverified(string(start)) {
		s.unverified.Store(true)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
}

func (s *specialist) model(ctx context.Context, id string) (json.RawMessage, *doctor.Fault) {
	body, err := s.client.Model(ctx, id)
	return body, s.fault("", err)
}

// live asks the shortest question there is, the way the tools ask.
func (s *specialist) live(ctx context.Context) (*doctor.Answer, *doctor.Fault) {
	ctx, cancel := context.WithTimeout(ctx, min(s.timeout, 2*time.Minute))
	defer cancel()
	begin := time.Now()
	var done *llm.Response
	for event, err := range s.client.Stream(ctx, s.request) {
		if err != nil {
			return nil, s.fault("answer", err)
		}
		if d, ok := event.(llm.Done); ok {
			done = d.Response
		}
	}
	if done == nil {
		return nil, &doctor.Fault{Text: "the answer ended early", Cure: "try again"}
	}
	a := &doctor.Answer{Text: fmt.Sprintf("%s answered in %.1f s with %d tokens", done.Model, time.Since(begin).Seconds(), done.Usage.Total)}
	switch {
	case s.streamed.Load():
		a.Text += "; streaming is allowed"
	case s.unverified.Load():
		a.Problem = "streaming is refused to an organization that is not verified"
		a.Cure = "verify it at " + answer.VerifyPage + "; until then answers come in one piece"
	default:
		a.Problem = "it was not streamed, though asked to be"
		a.Cure = "nothing, if the server cannot: answers come in one piece (responses.stream: false says so at once)"
	}
	return a, nil
}

// fault takes an error apart: what it is about, what it says and what to do.
// The words are those that MCP clients show. profile is that of the question,
// "" when only a model was looked up.
func (s *specialist) fault(profile string, err error) *doctor.Fault {
	if err == nil {
		return nil
	}
	f := &doctor.Fault{}
	f.Text, f.Cure = s.guide.Advise(profile, err)
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return f
	}
	f.Status = e.Status
	switch {
	case strings.Contains(strings.ToLower(e.Message), "missing scope"):
		f.About = doctor.AboutScope
		f.Cure = "give the key the right to read models, or see with --live whether it may ask questions"
	case e.Kind == llm.KindAuth, e.Kind == llm.KindMissingKey:
		f.About = doctor.AboutKey
	case answer.ModelNotFound(err):
		f.About = doctor.AboutModel
	case e.Kind == llm.KindNotFound, e.Kind == llm.KindBadResponse:
		f.About = doctor.AboutAddress
	}
	if cure, ok := s.guide.NoModels(err); ok && profile == "" {
		f.About, f.Cure = doctor.AboutAddress, cure
	}
	return f
}
