package cli

import "time"

// known are settings that once broke a promise, each as simple as it still did.
var known = []struct {
	name string
	setting
}{
	{"a turn comes as the wait ends", setting{
		background: true, within: 5500 * time.Millisecond,
		crowds: []crowd{{person: "alice", clients: 1, asks: 1, plan: plan{
			latency: 500 * time.Millisecond, deltas: 20, batch: 4, pace: time.Second, tokens: 5000,
			troubles: []trouble{{"429 Retry-After: SECONDS", 2, 5 * time.Second}},
		}}},
	}},
}
