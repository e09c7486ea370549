package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// lookupLimit bounds the requests for the models.
	lookupLimit = 15 * time.Second
	// notice is how long before its shutdown a model is reported.
	notice = 120 * 24 * time.Hour
)

// lookup is what the API said about a model.
type lookup struct {
	body  json.RawMessage
	fault *Fault
	took  time.Duration
}

// findings is what the requests to the API showed.
type findings struct {
	models   map[string]*lookup // by model id
	main     string             // the model of the first profile
	answered string             // the model that answered the live question, or ""
}

// lookUp asks the API for each model once.
func (o *Options) lookUp(ctx context.Context) *findings {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	f := &findings{models: map[string]*lookup{}, main: o.Profiles[0].Model}
	var wg sync.WaitGroup
	for _, p := range o.Profiles {
		if f.models[p.Model] != nil {
			continue
		}
		l := &lookup{}
		f.models[p.Model] = l
		wg.Go(func() {
			begin := time.Now()
			l.body, l.fault = o.Model(ctx, p.Model)
			l.took = time.Since(begin)
			if l.fault != nil && l.fault.Status == 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				l.fault.Text = fmt.Sprintf("no answer within %v", lookupLimit)
				l.fault.Cure = fmt.Sprintf("check the network, the firewall, openai.base_url and %s; try again later", o.ProxyVariable)
			}
		})
	}
	wg.Wait()
	return f
}

func (f *findings) first() *lookup { return f.models[f.main] }

// reached reports whether the API has responded.
func (f *findings) reached() bool {
	l := f.first()
	return l.fault == nil || l.fault.Status != 0
}

// accepted reports whether the API has accepted the key.
func (f *findings) accepted() bool {
	l := f.first()
	return f.answered != "" || l.fault == nil || f.reached() && l.fault.About == AboutModel
}

// http reports the connection. The error of the first request says what failed.
func (o *Options) http(f *findings) Check {
	l := f.first()
	c := Check{Name: "http", Verdict: OK, Text: fmt.Sprintf("answers in %d ms", l.took.Milliseconds())}
	switch {
	case l.fault == nil, l.fault.About == AboutModel, l.fault.About == AboutKey && f.reached():
	case l.fault.About == AboutKey:
		c.Verdict, c.Text, c.Cure = Warn, "no request was sent", "fix the failure above"
	case f.answered != "":
		c.Text = "questions are answered; GET /models is not"
	default:
		c.Verdict, c.Text, c.Cure = Fail, l.fault.Text, l.fault.Cure
		if l.fault.About == AboutScope {
			c.Verdict = Warn
		}
	}
	return c
}

// model reports the model of a profile.
func (o *Options) model(p Profile, f *findings) Check {
	c := Check{Name: "model " + p.Name, Verdict: OK}
	l := f.models[p.Model]
	answered := f.answered == p.Model
	switch {
	case l.fault == nil && !isModel(l.body) && !answered:
		c.Verdict, c.Text = Warn, p.Model+" was asked for, and what came back is not a model"
		c.Cure = "see with --live whether questions are answered; if not, correct openai.base_url"
	case l.fault == nil:
		o.shutdown(&c, p, l.body)
	case l.fault.About == AboutModel && !answered:
		c.Verdict, c.Text, c.Cure = Fail, p.Model+": "+l.fault.Text, "set another model in "+p.Where
		return c
	case l.fault.About == AboutModel: // some gateways take names that they do not list
		c.Verdict, c.Text = Warn, p.Model+": questions are answered, but the server does not list it"
		c.Cure = "nothing, if the answers are those of the model that you want"
	case f.answered != "":
		c.Text = p.Model + " was not looked up: the server does not list models"
	case f.accepted(): // only this request failed
		c.Verdict, c.Text, c.Cure = Warn, p.Model+" could not be looked up: "+l.fault.Text, l.fault.Cure
	default:
		c.Verdict, c.Text, c.Cure = Warn, p.Model+" was not looked up", "fix the failure above"
	}
	c.Text += "; " + p.Sent
	return c
}

// isModel reports whether a response describes a model: it has an id, with some
// gateways in data. Other JSON may come with status 200 too.
func isModel(body json.RawMessage) bool {
	type model struct {
		ID string `json:"id"`
	}
	var m struct {
		model
		Data model `json:"data"`
	}
	_ = json.Unmarshal(body, &m) // members of other types leave the ids empty
	return m.ID != "" || m.Data.ID != ""
}

// shutdown reports a model that is there, and the day when it ends.
func (o *Options) shutdown(c *Check, p Profile, body json.RawMessage) {
	c.Text = p.Model + " is there"
	var m struct {
		Date string `json:"shutdown_date"` // 2027-03-21, perhaps with a time
	}
	if json.Unmarshal(body, &m) != nil || len(m.Date) < len(time.DateOnly) {
		return
	}
	day := m.Date[:len(time.DateOnly)]
	end, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return
	}
	switch left := end.Sub(o.Now()); {
	case left <= 0:
		c.Verdict, c.Text = Fail, fmt.Sprintf("%s was shut down on %s", p.Model, day)
	case left <= notice:
		c.Verdict, c.Text = Warn, fmt.Sprintf("%s is shut down on %s (days left: %d)", p.Model, day, int(left.Hours()/24)+1)
	default:
		c.Text = fmt.Sprintf("%s is there until %s", p.Model, day)
		return
	}
	c.Cure = "set another model in " + p.Where
}
