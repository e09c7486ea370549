package doctor

import (
	"encoding/json"
	"fmt"
	"time"
)

// warning is how long before its end a model is reported.
const warning = 120 * 24 * time.Hour

// modelChecks are one check a profile.
func (o *Options) modelChecks(w *way) []Check {
	var checks []Check
	for _, p := range o.Profiles {
		checks = append(checks, o.modelCheck(p, w))
	}
	return checks
}

func (o *Options) modelCheck(p Profile, w *way) Check {
	c := Check{Name: "model " + p.Name, Verdict: OK}
	l, asked := w.models[p.Model]
	switch f := l.fault; {
	case f != nil && f.About == AboutModel && p.Model == w.answered: // some gateways take names that they do not list
		c.Verdict, c.Text = Warn, p.Model+": questions are answered; the server does not list it"
		c.Cure = "nothing, if the answers are those of the model that you want"
	case f != nil && f.About == AboutModel:
		c.Verdict, c.Text, c.Cure = Fail, p.Model+": "+f.Text, "set another model in "+p.Where
		return c
	case w.secret:
		c.Text = p.Model + " was not looked up: the server does not tell"
	case !asked || f != nil:
		c.Verdict, c.Text, c.Cure = Warn, p.Model+" was not looked up", "mend what failed above"
		if f != nil && w.accepted { // the others were, so it is not the way
			c.Text, c.Cure = p.Model+" could not be looked up: "+f.Text, f.Cure
		}
	case !describes(l.body) && p.Model != w.answered:
		c.Verdict, c.Text = Warn, p.Model+" was asked for, and what came back is no model"
		c.Cure = "see with --live whether questions are answered there; if not, mend openai.base_url"
	default:
		c.Text = p.Model + " is there"
		o.shutdown(&c, p, l.body)
	}
	c.Text += "; " + p.Sent
	return c
}

// describes reports whether an answer is about a model: it has an id, with some
// gateways within data. Any web page that is JSON has a status of 200.
func describes(body json.RawMessage) bool {
	type model struct {
		ID string `json:"id"`
	}
	var m struct {
		model
		Data model `json:"data"`
	}
	_ = json.Unmarshal(body, &m) // what does not fit is none
	return m.ID != "" || m.Data.ID != ""
}

// shutdown looks for the day on which a model ends. Compatible servers tell
// none.
func (o *Options) shutdown(c *Check, p Profile, body json.RawMessage) {
	end, known := shutdownDate(body)
	if !known {
		return
	}
	left := end.Sub(o.Now())
	day := end.Format(time.DateOnly)
	switch {
	case left <= 0:
		c.Verdict, c.Text = Fail, fmt.Sprintf("%s was shut down on %s", p.Model, day)
	case left <= warning:
		c.Verdict, c.Text = Warn, fmt.Sprintf("%s is shut down on %s (days left: %d)", p.Model, day, int(left.Hours()/24)+1)
	default:
		c.Text = fmt.Sprintf("%s is there until %s", p.Model, day)
		return
	}
	c.Cure = "set another model in " + p.Where
}

// shutdownDate reads shutdown_date: a day, a time, or Unix seconds.
func shutdownDate(body json.RawMessage) (time.Time, bool) {
	var m struct {
		Date any `json:"shutdown_date"`
	}
	if json.Unmarshal(body, &m) != nil {
		return time.Time{}, false
	}
	switch v := m.Date.(type) {
	case float64:
		return time.Unix(int64(v), 0).UTC(), v > 0
	case string:
		if len(v) > len(time.DateOnly) {
			v = v[:len(time.DateOnly)]
		}
		t, err := time.Parse(time.DateOnly, v)
		return t, err == nil
	}
	return time.Time{}, false
}
