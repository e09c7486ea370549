package budget

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
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

// losing is a connection that loses what is written while loses is set, and does not end then. late
// gets what sends it after all, except for probes.
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
			_ = l.Conn.SetDeadline(time.Time{})
			_, _ = l.Conn.Write(sent)
		}
	}
	return len(p), nil
}

func (l losing) Close() error {
	if l.loses.Load() {
		return nil
	}
	return l.Conn.Close()
}

// The end of a response is settled once in all replicas, however its call has ended: the store has
// what the API tells, and of the calls of the process that was killed nothing twice.
func TestSettleResponse(t *testing.T) {
	server := redistest.New(t)
	for i, tt := range compare.Rows[struct {
		Name, Steps string
		Thousands   float64 // tokens
		Calls       float64
		Observers   int // processes that observe the call
	}](t, "responses") {
		t.Run(tt.Name, func(t *testing.T) {
			server.Do("FLUSHALL")
			response := fmt.Sprint("resp_", i)
			var replicas []*replica
			var loses atomic.Bool
			late := make(chan func(), 100)
			for range 3 {
				r := idleReplica(t, "redis://"+server.Address, ofResponses)
				r.Store.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					return losing{conn, &loses, late}, err
				}
				go r.Store.Probe(t.Context())
				replicas = append(replicas, r)
			}
			c := &call.Call{Tool: "answer_detailed", Person: alice}
			var taken *Taken

			var observers atomic.Int32
			count := func(observes bool) {
				if observes {
					observers.Add(1)
				}
			}
			do := func(step string) {
				word, number, _ := strings.Cut(step, "=")
				n, _ := strconv.ParseInt(number, 10, 64)
				switch word {
				case "takes", "takes-refused": // with RefuseWithoutStore
					refuses := word == "takes-refused"
					replicas[0].RefuseWithoutStore = refuses
					var err string
					taken, err = takeCall(replicas[0].Budget, c)
					compare.Equal(t, "refused", err != "", refuses)
				case "again": // another replica takes another call
					_, err := takeCall(replicas[1].Budget, &call.Call{Tool: c.Tool, Person: alice})
					compare.Equal(t, "error", err, "")
				case "alone": // a process without a store has taken it
					_, err := takeCall(New(ofResponses), c)
					compare.Equal(t, "error", err, "")
				case "ends", "ends-thrice", "ends-guessed": // after more responses, which others do not know
					end := reading(n)
					of := end.Reported
					switch word {
					case "ends-thrice":
						end.Usage.Input *= 3
					case "ends-guessed":
						end.UnreportedRequests = 1
						end.UnreportedBegun = 1
					}
					count(taken.Settle(end, End{ResponseID: response, ReportedOfResponse: of}))
				case "settles": // other processes do not know its response
					count(taken.Settle(reading(n), End{}))
				case "forges": // another program settles the key of the call
					server.Do("SET", replicas[0].Store.fullKey(callKey(taken.callName)), "settled 1")
				case "drains":
					leaving := &call.Call{}
					leaving.RequestInput = []json.RawMessage{make([]byte, 4<<20)} // a long question
					leaving.UnreportedRequests = 1
					leaving.UnreportedBegun = 1
					taken.Settle(leaving, End{ResponseID: response, GoesOn: true})
				case "second", "third":
					r := replicas[1]
					if word == "third" {
						r = replicas[2]
					}
					end := reading(n)
					end.NotInStore = c.NotInStore
					count(r.SettleResponse(end, response))
				case "full", "fails":
					server.Do("CONFIG", "SET", "maxmemory", "1")
					if word == "fails" { // and the first replica knows
						replicas[0].Store.runScript(probe)
					}
				case "denies":
					server.Do("ACL", "SETUSER", "default", "-set")
				case "flushes":
					server.Do("FLUSHALL")
				case "loses":
					loses.Store(true)
				case "arrives":
					for range len(late) {
						(<-late)()
					}
					time.Sleep(50 * time.Millisecond) // the store runs it
				case "works":
					loses.Store(false)
					server.Do("CONFIG", "SET", "maxmemory", "0")
					server.Do("ACL", "SETUSER", "default", "+set")
					for _, r := range replicas {
						r.until(t, false)
					}
					time.Sleep(200 * time.Millisecond) // applyPending
				}
			}
			for steps := range strings.FieldsSeq(tt.Steps) {
				var all sync.WaitGroup
				for step := range strings.SplitSeq(steps, "+") { // at once
					all.Go(func() { do(step) })
				}
				all.Wait()
			}

			inStore := func(of unit, scale float64) float64 {
				return math.Round(stored(t, server, replicas[0].Budget, of) / scale)
			}
			compare.Equal(t, "tokens", inStore(unitTokens, 1000), tt.Thousands)
			compare.Equal(t, "USD", inStore(unitUSD, 1000), 2*tt.Thousands)
			compare.Equal(t, "calls", inStore(unitCalls, 1), tt.Calls)
			compare.Equal(t, "observers", int(observers.Load()), tt.Observers)
			compare.Equal(t, "the store fails", replicas[0].Store.IsFailing(), false)
			bob := replicas[1].bucketOf(call.Person{ID: "token:bob"}, unitTokens).key
			n, _ := redis.Int(server.Do("EXISTS", replicas[1].Store.fullKey(bob)))
			compare.Equal(t, "keys of another person", n, 0)
		})
	}
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
