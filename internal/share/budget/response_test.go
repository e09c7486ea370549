package budget

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// ofResponses are limits that no call of these tests reaches.
var ofResponses = Options{
	Limits:  Limits{CallsPerHour: 100, TokensPerDay: 10_000_000, USDPerDay: 20},
	Prices:  map[string]*call.Price{"answer_detailed": {Input: 2, Output: 2}},
	Timeout: time.Hour,
}

// reading is a call that reads the end of a response.
func reading(n int64) *call.Call {
	c := &call.Call{Tool: "answer_detailed", Person: alice}
	c.Usage.Input = n
	return c
}

// unreported is a call with n requests, whose last response has a search but no usage.
func unreported(n int) *call.Call {
	c := reading(0)
	c.Searches = 1
	c.UnreportedRequests = n
	c.UnreportedBegun = 1
	return c
}

// stored returns how many units of a quota alice has used in the store, with those reserved. Some
// refill during a test.
func stored(t *testing.T, server *redistest.Server, b *Budget, of unit) (sum float64) {
	t.Helper()
	key := b.bucketOf(alice, of).key
	value, err := redis.String(server.Do("GET", b.Store.fullKey(key)))
	if err != nil && !errors.Is(err, redis.ErrNil) {
		t.Fatal(err)
	}
	for i, word := range strings.Fields(value) {
		_, reserved, ok := strings.Cut(word, ":")
		if i == 0 || ok {
			units, _ := strconv.ParseFloat(cmp.Or(reserved, word), 64)
			sum += units
		}
	}
	return sum
}

// losing is a connection that loses what is written while loses is set, and times out at once, but
// does not end then. late gets what sends it after all, and waits for the reply, except for probes.
type losing struct {
	net.Conn
	loses *atomic.Bool
	late  chan func()
}

func (l losing) Write(p []byte) (int, error) {
	if !l.loses.Load() {
		return l.Conn.Write(p)
	}
	sent := bytes.Clone(p)
	if !bytes.Contains(sent, []byte("probe")) {
		l.late <- func() {
			_ = l.Conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = l.Conn.Write(sent)
			_, _ = l.Conn.Read(make([]byte, 1))
		}
	}
	return len(p), nil
}

func (l losing) Read(p []byte) (int, error) {
	if l.loses.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	return l.Conn.Read(p)
}

func (l losing) Close() error {
	if l.loses.Load() {
		return nil
	}
	return l.Conn.Close()
}

// shared is a store that three replicas share, and a call of the first one.
type shared struct {
	*testing.T
	server    *redistest.Server
	replicas  []*replica
	loses     atomic.Bool // what the replicas send is lost
	late      chan func()
	response  string
	call      *call.Call
	taken     *Taken
	observers atomic.Int32 // processes that observe the call
}

func newShared(t *testing.T, server *redistest.Server) *shared {
	s := &shared{
		T:        t,
		server:   server,
		late:     make(chan func(), 100),
		response: "resp_" + rand.Text(),
		call:     &call.Call{Tool: "answer_detailed", Person: alice},
	}
	for range 3 {
		r := idleReplica(t, "redis://"+server.Address, ofResponses)
		r.Store.options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return losing{conn, &s.loses, s.late}, err
		}
		s.replicas = append(s.replicas, r)
	}
	return s
}

// step takes a step of responses.table.
func (s *shared) step(step string) {
	word, number, _ := strings.Cut(step, "=")
	n, _ := strconv.ParseInt(number, 10, 64)
	if !s.start(word) && !s.end(word, n) && !s.disturb(word) {
		s.Errorf("no step %q", step)
	}
}

// start is step for the start of calls.
func (s *shared) start(word string) (known bool) {
	refused := ""
	switch word {
	case "takes":
		s.taken, refused = takeCall(s.replicas[0].Budget, s.call)
	case "takes-refused":
		s.replicas[0].RefuseWithoutStore = true
		_, refused = takeCall(s.replicas[0].Budget, s.call)
	case "again": // another replica takes another call
		_, refused = takeCall(s.replicas[1].Budget, &call.Call{Tool: s.call.Tool, Person: alice})
	case "alone": // a process without a store has taken it
		s.call = &call.Call{Tool: s.call.Tool, Person: alice}
		_, refused = takeCall(New(ofResponses), s.call)
	default:
		return false
	}
	compare.Equal(s.T, "refused", refused != "", word == "takes-refused")
	return true
}

// end is step for what reads the end of the response, or of the call.
func (s *shared) end(word string, n int64) (known bool) {
	end := reading(n)
	ofCall := End{ResponseID: s.response, ReportedOfResponse: end.Reported}
	observes := false
	switch word {
	case "ends":
		observes = s.taken.Settle(end, ofCall)
	case "ends-thrice": // after two responses that others do not know
		end.Usage.Input *= 3
		observes = s.taken.Settle(end, ofCall)
	case "ends-guessed":
		end.UnreportedRequests = 1
		end.UnreportedBegun = 1
		observes = s.taken.Settle(end, ofCall)
	case "ends-unreported": // n tries; the API reports searches of the last one only
		end = unreported(int(n))
		ofCall.ReportedOfResponse = end.Reported
		observes = s.taken.Settle(end, ofCall)
	case "second-unreported":
		end = unreported(1)
		end.Reservation = s.call.Reservation
		observes = s.replicas[1].SettleResponse(end, s.response)
	case "settles": // other processes do not know its response
		observes = s.taken.Settle(end, End{})
	case "drains":
		end.RequestInput = []json.RawMessage{make([]byte, 4<<20)} // a long question
		end.UnreportedRequests = 1
		end.UnreportedBegun = 1
		s.taken.Settle(end, End{GoesOn: true})
	case "second", "third":
		end.Reservation = s.call.Reservation
		i := slices.Index([]string{"", "second", "third"}, word)
		observes = s.replicas[i].SettleResponse(end, s.response)
	default:
		return false
	}
	if observes {
		s.observers.Add(1)
	}
	return true
}

// disturb is step for faults of the store and their end.
func (s *shared) disturb(word string) (known bool) {
	switch word {
	case "forges": // another program settles the key of the call
		s.server.Do("SET", s.replicas[0].Store.fullKey(callKey(s.taken.callName)), "settled 1")
	case "dearer":
		s.replicas[1].Prices = map[string]*call.Price{"answer_detailed": {Input: 20, Output: 20}}
	case "unlimits":
		s.replicas[1].SetPersonLimits(PersonLimits{alice.ID: {"calls_per_hour": 0}})
	case "full":
		s.server.Do("CONFIG", "SET", "maxmemory", "1")
	case "fails": // and the first replica knows
		s.server.Do("CONFIG", "SET", "maxmemory", "1")
		s.replicas[0].Store.runScript(probe)
	case "denies":
		s.server.Do("ACL", "SETUSER", "default", "-set")
	case "flushes":
		s.server.Do("FLUSHALL")
	case "loses":
		s.loses.Store(true)
	case "arrives":
		for range len(s.late) {
			(<-s.late)()
		}
	case "works":
		s.loses.Store(false)
		s.server.Do("CONFIG", "SET", "maxmemory", "0")
		s.server.Do("ACL", "SETUSER", "default", "+set")
		for _, r := range s.replicas {
			eventually(s.T, "the store works", func() bool {
				r.Store.probeOnce(s.Context())
				return !r.Store.IsFailing()
			})
		}
	default:
		return false
	}
	return true
}

// The end of a response is settled once in all replicas, however its call has ended: the store has
// what the API tells, and of the calls of the process that was killed nothing twice.
func TestSettleResponse(t *testing.T) {
	server := redistest.New(t)
	for _, tt := range compare.Rows[struct {
		Name, Steps string
		Thousands   float64 // tokens
		Calls       float64
		Observers   int
	}](t, "responses") {
		t.Run(tt.Name, func(t *testing.T) {
			server.Do("FLUSHALL")
			s := newShared(t, server)
			for steps := range strings.FieldsSeq(tt.Steps) {
				var all sync.WaitGroup
				for step := range strings.SplitSeq(steps, "+") { // at once
					all.Go(func() { s.step(step) })
				}
				all.Wait()
			}

			inStore := func(of unit, scale float64) float64 {
				return math.Round(stored(t, server, s.replicas[0].Budget, of) / scale)
			}
			compare.Equal(t, "tokens", inStore(unitTokens, 1000), tt.Thousands)
			compare.Equal(t, "USD", inStore(unitUSD, 1000), 2*tt.Thousands)
			compare.Equal(t, "calls", inStore(unitCalls, 1), tt.Calls)
			compare.Equal(t, "observers", int(s.observers.Load()), tt.Observers)
			compare.Equal(t, "the store fails", s.replicas[0].Store.IsFailing(), false)
			bob := s.replicas[1].bucketOf(call.Person{ID: "token:bob"}, unitTokens).key
			n, _ := redis.Int(server.Do("EXISTS", s.replicas[1].Store.fullKey(bob)))
			compare.Equal(t, "keys of another person", n, 0)
		})
	}
}

// If the reader has other limits, tokens beyond what is reserved count.
func TestSettleResponseOfOtherLimits(t *testing.T) {
	server := redistest.New(t)
	own := idleReplica(t, "redis://"+server.Address, ofResponses)
	reader := idleReplica(t, "redis://"+server.Address, ofResponses)
	reader.SetPersonLimits(PersonLimits{alice.ID: {"calls_per_hour": 0}})
	c := &call.Call{Tool: "answer_detailed", Person: alice}
	taken, _ := takeCall(own.Budget, c)
	taken.Settle(&call.Call{Used: call.Used{UnreportedRequests: 1, UnreportedBegun: 1}}, End{GoesOn: true})

	ended := reading(900_000)
	ended.Reservation = c.Reservation
	compare.Equal(t, "observes", reader.SettleResponse(ended, "resp_1"), true)
	thousands := math.Round(stored(t, server, own.Budget, unitTokens) / 1000)
	compare.Equal(t, "thousand tokens", thousands, 900)
}

// Without a store, and without a limit, when the store is not asked, only the process that runs a
// call settles it.
func TestSettleResponseAlone(t *testing.T) {
	server := redistest.New(t)
	for name, b := range map[string]*Budget{
		"without a store": New(ofResponses),
		"without a limit": idleReplica(t, "redis://"+server.Address, Options{}).Budget,
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := redis.Int(server.Do("DBSIZE"))
			compare.Equal(t, "another process", b.SettleResponse(reading(1000), "resp_1"), false)
			taken, _ := takeCall(b, &call.Call{Person: alice})
			own := taken.Settle(&call.Call{}, End{ResponseID: "resp_1"})
			compare.Equal(t, "its own", own, true)
			after, _ := redis.Int(server.Do("DBSIZE"))
			compare.Equal(t, "keys", after-before, 0)
		})
	}
}

// Units that are given back before their reservation counts as used do not refill, and never exceed
// it.
func TestGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{TokensPerDay: 1_440_000}}) // 1,000 a minute
		for _, tt := range compare.Rows[struct {
			What                        string
			After                       time.Duration
			Use, Reserve, Used, Running int64
		}](t, "given-back") {
			time.Sleep(tt.After)
			untilMinute := b.local.minute() + 10
			if tt.Reserve < 0 {
				untilMinute--
			}
			cc := callChange{
				use:     amount{unitTokens: tt.Use},
				reserve: amount{unitTokens: tt.Reserve},
			}
			b.local.apply(untilMinute, cc.inBuckets(b.buckets(alice)))
			used, running := b.held(unitTokens)
			compare.Equal(t, tt.What+": used", used, tt.Used)
			compare.Equal(t, tt.What+": reserved", running, tt.Running)
		}
	})
}
