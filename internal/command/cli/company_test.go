package cli

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const (
	s        = time.Second
	callTime = 300 * s // request.timeout_ms
)

// setting is what a company is and what goes wrong. Its zero value is a company without people.
type setting struct {
	Background bool
	Plain      bool          // no streams
	Within     time.Duration // server.answer_within_ms; 0: no late answers
	Limit      int64         // --tokens-per-day; 0: none
	Rate       float64       // requests a second that the API accepts; 0: all
	Crowds     []crowd
	Happens    []happening
}

// crowd is a person with clients that ask questions of one kind.
type crowd struct {
	Person  string
	Client  string // a row of programs
	SignsIn bool   // at the issuer, in place of a static token
	Clients int
	Asks    int // questions of a client
	Every   time.Duration
	Token   bool          // progress tokens
	Leaves  time.Duration // from a question until its client leaves; 0: never
	Stops   bool          // it leaves with a cancellation, over HTTP, and reads on
	Back    time.Duration // until the client asks for the late answer
	plan    `yaml:",inline"`
}

// happening is a row of happenings. It ends by itself if it lasts.
type happening struct {
	What      string
	At, Lasts time.Duration
}

var names = []string{"alice", "bobby", "carol", "david", "erika"} // who has no questions

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func row[T any](r *rand.Rand, of map[string]T) string {
	return pick(r, slices.Sorted(maps.Keys(of))...)
}

// settingOf draws the setting of a seed. Nearly all times are one of two or their sum: what
// coincides finds most.
func settingOf(seed uint64) setting {
	r := rand.New(rand.NewPCG(seed, 0))
	a, b := pick(r, s/2, s, 2*s, 5*s), pick(r, s/2, s, 2*s, 5*s)
	round := func() time.Duration { return pick(r, a, b, a+b) }
	maybe := func() time.Duration { return pick(r, 0, round()) }
	c := setting{
		Background: r.IntN(2) == 0,
		Plain:      r.IntN(8) == 0,
		Limit:      pick[int64](r, 0, 500_000, 5_000_000),
		Rate:       pick(r, 0, 0, 0, 1, 2.0),
	}
	if r.IntN(3) > 0 {
		c.Within = max(2*s, round())
	}
	for range pick(r, 0, 0, 1, 1, 2) {
		what := pick(r, row(r, happenings), row(r, happenings), "a replica drains")
		if !c.happened(what) {
			c.Happens = append(c.Happens, happening{what, s + round(), 10 * round()})
		}
	}
	for i := range 1 + r.IntN(4) {
		who := crowd{
			Person:  names[i],
			Client:  pick(r, "", "", row(r, programs)),
			SignsIn: r.IntN(4) == 0,
			Clients: pick(r, 1, 2, 4, 8, 20),
			Asks:    pick(r, 1, 2, 3),
			Every:   maybe(),
			Token:   r.IntN(2) == 0,
			plan: plan{
				Latency: maybe(),
				Deltas:  pick(r, 1, 20, 200, 200, 16_000, 16_000),
				Pace:    round(),
				Tokens:  pick[int64](r, 5000, 30_000, 300_000),
			},
		}
		who.Batch = max(1, who.Deltas/pick(r, 5, 10, 20))
		if who.Deltas > 1000 {
			who.Clients, who.Asks = min(who.Clients, 4), 1 // takes long
		}
		if r.IntN(4) == 0 {
			who.Leaves, who.Back = round(), maybe()
		}
		for range pick(r, 0, 1, 1, 2) { // more of them hide each other
			kind := pick(r, row(r, troubles), row(r, troubles), "429 Retry-After: SECONDS")
			t := trouble{kind, pick(r, 1, 1, 2, 2, 6), pick(r, 0, a, b)}
			who.Troubles = append(who.Troubles, t)
		}
		if who.Deltas > 1000 && r.IntN(3) == 0 {
			who.Troubles = []trouble{{"deltas again", 6, 0}}
		}
		c.Crowds = append(c.Crowds, who)
	}
	return c
}

var zeroField = regexp.MustCompile(`(?m)^ *\w+: (0|0s|""|false|\[\])\n`)

// String returns the setting as known.yaml has it.
func (c setting) String() string {
	text, _ := yaml.Marshal(c)
	return zeroField.ReplaceAllString(string(text), "")
}

// simulate runs a setting in a bubble, and returns the promises that are broken, with messages.
func simulate(t *testing.T, c setting) (w *world, broken map[string][]string) {
	w = newWorld(t, c)
	// A goroutine that waits for a Mutex stops the time of the bubble.
	limit := 3 * time.Minute
	end, ok := t.Deadline()
	if ok {
		limit = time.Until(end) - 5*time.Second
	}
	stuck := time.AfterFunc(limit, func() {
		fmt.Fprintf(os.Stderr, "promise end: %s hangs\n%v\n", t.Name(), c)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		os.Exit(3)
	})
	defer stuck.Stop()

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	func() {
		defer func() { w.left = recover() }() // a goroutine that does not end
		synctest.Test(t, w.run)
	}()
	runtime.ReadMemStats(&after)
	w.allocated = int64(after.TotalAlloc - before.TotalAlloc)

	broken = map[string][]string{}
	for _, p := range promises {
		p.check(w, func(format string, args ...any) {
			broken[p.name] = append(broken[p.name], fmt.Sprintf(format, args...))
		})
	}
	return w, broken
}

// simpler are the ways to make a setting simpler.
func simpler(c setting) (all []setting) {
	add := func(change func(*setting)) {
		s := c
		s.Crowds = slices.Clone(c.Crowds)
		s.Happens = slices.Clone(c.Happens)
		change(&s)
		if !reflect.DeepEqual(s, c) {
			all = append(all, s)
		}
	}
	for i := range c.Happens {
		add(func(s *setting) { s.Happens = slices.Delete(s.Happens, i, i+1) })
	}
	for i, who := range c.Crowds {
		each := func(change func(*crowd)) { add(func(s *setting) { change(&s.Crowds[i]) }) }
		if len(c.Crowds) > 1 {
			add(func(s *setting) { s.Crowds = slices.Delete(s.Crowds, i, i+1) })
		}
		for k := range who.Troubles {
			each(func(w *crowd) { w.Troubles = slices.Delete(slices.Clone(w.Troubles), k, k+1) })
		}
		each(func(w *crowd) { w.Clients = (w.Clients + 1) / 2 })
		each(func(w *crowd) { w.Asks = 1 })
		each(func(w *crowd) { w.Client = "" })
		each(func(w *crowd) { w.SignsIn = false })
		each(func(w *crowd) { w.Token = false })
		each(func(w *crowd) { w.Leaves, w.Back = 0, 0 })
		each(func(w *crowd) { w.Every = 0 })
		each(func(w *crowd) { w.Deltas, w.Batch = min(w.Deltas, 20), 4 })
		each(func(w *crowd) { w.Latency = 0 })
	}
	add(func(s *setting) { s.Plain = false })
	add(func(s *setting) { s.Rate = 0 })
	add(func(s *setting) { s.Limit = 0 })
	add(func(s *setting) { s.Within, s.Background = 0, false })
	return all
}

// shrink returns a simpler setting that breaks a promise in one of a few runs.
func shrink(t *testing.T, c setting, name string) setting {
	for _, s := range simpler(c) {
		for range 4 {
			_, broken := simulate(t, s)
			if len(broken[name]) > 0 {
				return shrink(t, s, name)
			}
		}
	}
	return c
}

var shrinks = flag.Bool("shrink", false, "TestCompany prints the simplest setting that fails")

// keeps fails the test for each promise that a setting breaks.
func keeps(t *testing.T, c setting) {
	w, broken := simulate(t, c)
	t.Log(w)
	for name, list := range broken {
		run := strings.TrimPrefix(t.Name(), "TestCompany/")
		t.Errorf("promise %s: %s: %s (and %d more)\n%v", name, run, list[0], len(list)-1, c)
		if *shrinks {
			t.Errorf("simplest for %s:\n%v", name, shrink(t, c, name))
		}
	}
}

// known returns the settings of known.yaml.
func known(t *testing.T) (all []struct {
	Name    string
	setting `yaml:",inline"`
}) {
	t.Helper()
	file, err := os.Open("testdata/known.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := yaml.NewDecoder(file)
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCompany runs the whole program as a company uses it. TEST_SEEDS is how many settings are
// drawn.
func TestCompany(t *testing.T) {
	for _, k := range known(t) {
		t.Run("known/"+k.Name, func(t *testing.T) {
			for range 8 { // the order within one instant is not the same in all runs
				keeps(t, k.setting)
			}
		})
	}
	compare.SkipShort(t, "settings at random take seconds")
	for seed := range compare.Seeds(3) {
		t.Run(fmt.Sprint("seed=", seed+1), func(t *testing.T) {
			keeps(t, settingOf(seed+1))
		})
	}
}
