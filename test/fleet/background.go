//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// inBackground is a configuration whose answers are late, and come from the background.
const inBackground = `
model_profiles:
  answer: { background: true }
server: { answer_within_ms: 1000 }
`

// background shows that the store has what responses in the background have used, and the log a
// line for each, where the replica of the call drains, is killed or goes on, and when calls are
// stopped.
func (f *fleet) background(server *redistest.Server) error {
	file, err := f.file("background.yaml", inBackground)
	if err != nil {
		return err
	}
	for person, leave := range map[string]func(*replica){
		"alice0": func(r *replica) { _ = r.Stop() },
		"alice1": func(r *replica) { r.Kill() },
		"alice2": func(*replica) {},
	} {
		for _, tokens := range []int{20_000, 200_000} { // a call reserves 60,000
			err = errors.Join(err, f.lateAnswer(server, file, person, leave, tokens))
			server.Do("FLUSHALL")
		}
	}
	return errors.Join(err, f.stops(server, file))
}

// lateAnswer begins a late answer, lets its replica leave, and reads its end at the others at once.
func (f *fleet) lateAnswer(
	server *redistest.Server, file, person string, leave func(*replica), tokens int,
) error {
	defer f.stop()
	err := f.start(3, "--tokens-per-day 1000000 --config "+file, storeAt(server.Address))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	question := fmt.Sprintf(`{"query":"tokens=%d+slow=100ms"}`, tokens)
	body, err := f.replicas[0].use(ctx, person, "answer", question)
	if err != nil {
		return err
	}
	id := late(body).Get("id").Str
	leave(&f.replicas[0])

	var readers sync.WaitGroup
	for _, r := range f.replicas[1:] {
		readers.Go(func() {
			next := id
			for next != "" && ctx.Err() == nil {
				body, _ := r.use(ctx, person, "answer_result", `{"id":"`+next+`"}`)
				next = late(body).Get("id").Str
			}
		})
	}
	readers.Wait()
	_ = wait(func() bool { return f.lines() > 0 })
	time.Sleep(time.Second) // for the replica of the call, if that goes on

	lines := f.lines()
	used, err := usedTokens(server)
	fmt.Printf("%s: %d tokens of %d are in the store, %d lines in the log\n", person, used, tokens, lines)
	if id == "" || lines != 1 || used > tokens || used < tokens-1000 { // some refill
		err = errors.Join(err, fmt.Errorf("%s: id %q, %d tokens, %d lines", person, id, used, lines))
	}
	return err
}

// lines is how many calls that were not limited are in the logs.
func (f *fleet) lines() (n int) {
	for _, r := range f.replicas {
		n += r.Logged(" call ") - r.Logged("outcome=limited")
	}
	return n
}

// late is the text of a result, as JSON.
func late(body string) gjson.Result {
	_, body, _ = strings.Cut(body, "{") // of an event
	return gjson.Parse(gjson.Get("{"+body, "result.content.0.text").Str)
}

// stored returns what the only person in the store has used of a quota, and what is reserved.
func stored(server *redistest.Server, quota string) (used, reserved float64, err error) {
	keys, err := redis.Strings(server.Do("KEYS", "*:"+quota+":?*"))
	if err != nil || len(keys) != 1 {
		return 0, 0, fmt.Errorf("keys %q: %w", keys, err)
	}
	value, err := redis.String(server.Do("GET", keys[0]))
	_, _ = fmt.Sscan(value, &used)
	for word := range strings.FieldsSeq(value) {
		_, units, _ := strings.Cut(word, ":")
		n, _ := strconv.ParseFloat(units, 64) // 0 without a colon
		reserved += n
	}
	return used, reserved, err
}

// usedTokens returns the tokens of the only person in the store, also those that are reserved.
func usedTokens(server *redistest.Server) (int, error) {
	used, reserved, err := stored(server, "day")
	return int(math.Round(used + reserved)), err
}

// stops shows that three calls whose client leaves count what the API says.
func (f *fleet) stops(server *redistest.Server, file string) error {
	defer f.stop()
	err := f.start(1, "--tokens-per-day 1000000 --config "+file, storeAt(server.Address))
	if err != nil {
		return err
	}
	used := 0
	for range 3 {
		f.leave("bob", "bills+tokens=7000+slow=100ms", 2) // a GET follows once the response has a name
		var readErr error
		waitErr := wait(func() bool { // until nothing is reserved
			used, readErr = usedTokens(server)
			return readErr != nil || used <= 21_000
		})
		err = errors.Join(err, waitErr, readErr)
	}
	fmt.Printf("three calls of 7,000 tokens that are stopped: %d\n", used)
	if used < 20_000 {
		err = errors.Join(err, fmt.Errorf("%d tokens are in the store", used))
	}
	return err
}
