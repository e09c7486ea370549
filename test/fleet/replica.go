//go:build unix

package main

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// replica is a process of serve --http.
type replica struct{ *serving.Process }

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}

// call makes a call, and reports whether it was answered.
func (r *replica) call(name, question string) bool {
	body, err := r.send(context.Background(), name, question)
	return err == nil && serving.IsAnswer(body)
}

// leave makes a call at the first replica, whose client leaves after so many requests to the API,
// unless the call is refused before.
func (f *fleet) leave(name, question string, requests int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	requests += f.api.Arrived()
	go func() {
		_ = f.api.WaitRequests(ctx, requests)
		cancel()
	}()
	_, _ = f.replicas[0].send(ctx, name, question)
}

func (r *replica) send(ctx context.Context, name, question string) (string, error) {
	return r.use(ctx, name, "answer", `{"query":"`+question+`"}`)
}

// use calls a tool, and returns the response.
func (r *replica) use(ctx context.Context, name, tool, arguments string) (string, error) {
	return serving.Call(ctx, client, r.Address, name, tool, arguments)
}

// ask makes n calls of a person at once, at all replicas in turn. It returns how many were
// answered, and how long the longest took.
func (f *fleet) ask(name string, n int, question string) (answered int, longest time.Duration) {
	var all sync.WaitGroup
	var count, most atomic.Int64
	for i := range n {
		all.Go(func() {
			began := time.Now()
			if f.replicas[i%len(f.replicas)].call(name, question) {
				count.Add(1)
			}
			took := int64(time.Since(began))
			for old := most.Load(); took > old && !most.CompareAndSwap(old, took); {
				old = most.Load()
			}
		})
	}
	all.Wait()
	return int(count.Load()), time.Duration(most.Load())
}
