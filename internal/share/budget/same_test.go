package budget

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// Limits of all quotas, and what a call has of each unit.
var (
	someLimits = Limits{
		CallsPerHour:      7,
		TokensPerDay:      500_000,
		TokensPerDayOfAll: 900_000,
		USDPerDay:         0.5,
		USDPerDayOfAll:    0.9,
	}
	typical = amount{
		unitCalls:  2,
		unitTokens: 100_000,
		unitUSD:    100_000,
	}
)

// random returns a change of some buckets of few people. A limit changes.
func random(r *rand.Rand) storeChange {
	upTo := func(most amount) (a amount) {
		for u, n := range most {
			a[u] = r.Int64N(n + 1)
		}
		return a
	}
	limits := someLimits
	limits.TokensPerDay += r.IntN(2) * 100_000
	b := New(Options{Limits: limits})
	cc := callChange{
		use:     upTo(typical),
		reserve: upTo(typical.times(3)),
		need:    min(r.Int64N(3), 1),
	}
	cc.reserve[unitCalls] = 0
	minutes := 1 + r.Int64N(100)
	if cc.need == 0 {
		cc.use = upTo(typical.times(15)).plus(typical.times(-5))
		cc.reserve = cc.reserve.times(-1)
		minutes = r.Int64N(10)
	}
	if r.IntN(3) == 0 { // so that others can use less than nothing
		cc.use = upTo(typical.times(40)).times(-1)
		cc.reserve = amount{}
	}
	list := cc.inBuckets(b.buckets(call.Person{ID: fmt.Sprint(r.IntN(3))}))
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return storeChange{
		minutes: minutes,
		buckets: list[:r.IntN(len(list)+1)],
	}
}

// strict lets a script fail at a key that is not in KEYS, as it does in Dragonfly.
const strict = `
local server, redis = redis, {}
for name, run in pairs({ call = server.call, pcall = server.pcall }) do
	redis[name] = function(command, key, ...)
		assert(string.find(table.concat(KEYS, ' ') .. ' ', key .. ' ', 1, true), key)
		return run(command, key, ...)
	end
end
`

// The script and the local buckets agree in random steps at random times, also about what is left.
// The script uses no key but those in KEYS.
func TestSame(t *testing.T) {
	const steps = 20_000
	for _, q := range someLimits.Quotas() {
		if q.Limit == 0 || typical[q.unit] == 0 {
			t.Errorf("%s has no limit in someLimits, or its unit no amount in typical", q.Setting)
		}
	}
	server := redistest.New(t)
	store := idleReplica(t, "redis://"+server.Address, Options{}).Store
	conn, err := store.connect(t.Context(), store.url.Load(), scriptReplies)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	source := strings.Replace(takeSource, "redis.call('TIME')", "{ARGV[#ARGV - 1], ARGV[#ARGV]}", 1)
	script := redis.NewScript(-1, strict+source)
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Now().UnixMicro()
	local := newLocalBuckets(func() time.Time { return time.UnixMicro(now) })
	passed, givenBack := 0, 0
	for step := range steps {
		now += r.Int64N([]int64{1000, 2e8, 1e10}[r.IntN(3)])
		if step == steps/2 { // so far back that keys which only Redis still has do not count
			now -= 20 * day.Microseconds()
		}
		change := random(r)
		untilMinute := local.minute() + change.minutes
		frees := slices.ContainsFunc(change.buckets, func(bc bucketChange) bool { return bc.reserve < 0 })
		if frees || r.IntN(2) == 0 { // the end of a call
			untilMinute -= r.Int64N(10)
			end := releaseMark("call")
			change.marks = []mark{end}
			server.Do("SET", store.fullKey(end.key), fmt.Sprint("taken ", untilMinute))
		}
		for key, state := range local.buckets { // by the clock of Redis they expire later
			if state.unusedAtMicros <= now {
				server.Do("DEL", store.fullKey(key))
			}
		}
		want := local.apply(untilMinute, change.buckets)
		args := append(store.arguments(change), now/1e6, now%1e6)
		n, err := redis.Int64s(script.Do(conn, args...))
		if err != nil {
			t.Fatal(err)
		}

		got, ok := parseReply(n, change)
		if fmt.Sprint(got) != fmt.Sprint(want) || !ok {
			t.Fatalf("step %d: the script says %v, the local buckets %v", step, n, want)
		}
		if want.outcome == made {
			passed++
		}
		if slices.ContainsFunc(change.buckets, func(bc bucketChange) bool { return local.buckets[bc.key].used < 0 }) {
			givenBack++
		}
	}
	if givenBack < steps/100 {
		t.Errorf("%d times a bucket was below 0, want more", givenBack)
	}
	if passed < steps/4 || passed > steps*3/4 {
		t.Errorf("%d of %d steps passed, want about half", passed, steps)
	}
}

// What a key should not hold is a full bucket, or one that owes no more than seven periods.
func TestWrongValues(t *testing.T) {
	server := redistest.New(t)
	s := newReplica(t, "redis://"+server.Address, Options{}).Store
	for _, tt := range compare.Rows[struct {
		Command, Value string
		Refuses        bool
	}](t, "values") {
		t.Run(tt.Value, func(t *testing.T) {
			b := New(Options{Limits: Limits{CallsPerHour: 4}, Store: s})
			server.Do("FLUSHALL")
			value := strings.Replace(tt.Value, "NOW", fmt.Sprint(time.Now().UnixMicro()), 1)
			server.Do(tt.Command, s.fullKey(b.bucketOf(alice, unitCalls).key), value)
			_, err := take(b, "token:alice")
			want := ""
			if tt.Refuses {
				want = "used 32 of 4 calls an hour; the next call at "
			}
			compare.Contains(t, "error", err, want)
			compare.Equal(t, "refuses", err != "", tt.Refuses)
		})
	}
	compare.Equal(t, "fails", s.IsFailing(), false)
}
