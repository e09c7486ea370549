package cli

// known are settings that once broke a promise, or that a mutant needs, each as simple as it may
// be.
var known = []struct {
	name string
	setting
}{
	{"a turn comes as the wait ends", setting{background: true, within: 11 * s / 2, crowds: []crowd{
		{person: "alice", clients: 1, asks: 1, plan: plan{
			latency: s / 2, deltas: 20, batch: 4, pace: s,
			troubles: []trouble{{"429 Retry-After: SECONDS", 2, 5 * s}},
		}},
	}}},
	{"and the request fails", setting{background: true, within: 11 * s / 2, crowds: []crowd{
		{person: "alice", clients: 1, asks: 1, plan: plan{
			latency: s / 2, deltas: 20, batch: 4, pace: s,
			troubles: []trouble{{"429 Retry-After: SECONDS", 1, 5 * s}, {"503", 1, 0}},
		}},
	}}},
	{"a long stream that is not watched", setting{crowds: []crowd{
		{person: "alice", clients: 1, asks: 1, plan: plan{deltas: 16_000, batch: 1600, pace: s / 2}},
	}}},
	{"deltas of an item that has ended", setting{crowds: []crowd{
		{person: "alice", clients: 1, asks: 1, token: true, plan: plan{
			deltas: 16_000, batch: 1600, pace: s, troubles: []trouble{{"deltas again", 1, 0}},
		}},
	}}},
	{"no GET finds what has a name late", setting{background: true, within: 5 * s, crowds: []crowd{
		{person: "alice", clients: 4, asks: 1, plan: plan{
			latency: 10 * s, deltas: 20, batch: 1, pace: s, troubles: []trouble{{"no GET", 1, 0}},
		}},
	}}},
	{"one person is refused, and another one is not", setting{crowds: []crowd{
		{person: "alice", clients: 8, asks: 1, plan: plan{
			deltas: 20, batch: 4, pace: s, troubles: []trouble{{"429 Retry-After: SECONDS", 2, 5 * s}},
		}},
		{person: "bobby", clients: 1, asks: 2, plan: plan{deltas: 20, batch: 4, pace: s}},
	}}},
	{"one person waits for slots, and another one does not", setting{crowds: []crowd{
		{person: "alice", clients: 80, asks: 1, plan: plan{deltas: 20, batch: 4, pace: 4 * s}},
		{person: "bobby", clients: 1, asks: 3, plan: plan{deltas: 20, batch: 4, pace: s}},
	}}},
	{"the API refuses the requests of one person", setting{crowds: []crowd{
		{person: "alice", clients: 16, asks: 1, plan: plan{
			deltas: 20, batch: 4, pace: s, troubles: []trouble{{"401 invalid_api_key", 1, 0}},
		}},
		{person: "bobby", clients: 6, asks: 1, plan: plan{latency: s, deltas: 20, batch: 4, pace: s}},
	}}},
	{"a server fails again and again", setting{crowds: []crowd{
		{person: "alice", clients: 1, asks: 1, plan: plan{
			deltas: 1, batch: 1, troubles: []trouble{{"503", 6, 0}},
		}},
	}}},
	{"a stream is cut at the start, and the rate limit is reached", setting{
		background: true, within: 2 * s, rate: 1, crowds: []crowd{
			{person: "alice", clients: 8, asks: 1, plan: plan{
				deltas: 20, batch: 4, pace: s, troubles: []trouble{{"cut at the start", 1, 0}},
			}},
		},
	}},
	{"a person asks for much more than the limit", setting{limit: 2_000_000, crowds: []crowd{
		{person: "alice", clients: 8, asks: 14, plan: plan{deltas: 1, batch: 1, tokens: 300_000}},
	}}},
	{"a person asks who is denied", setting{
		happens: []happening{{"a person is denied", s, 40 * s}},
		crowds: []crowd{
			{person: "alice", clients: 1, asks: 12, every: 5 * s, plan: plan{deltas: 1, batch: 1}},
			{person: "bobby", clients: 1, asks: 12, every: 5 * s, plan: plan{deltas: 1, batch: 1}},
		},
	}},
	{"a server repeats the key", setting{crowds: []crowd{
		{person: "alice", clients: 1, asks: 1, plan: plan{
			deltas: 1, batch: 1, troubles: []trouble{{"500 with the key KEY", 6, 0}},
		}},
	}}},
	{"a stream in the background is silent", setting{background: true, crowds: []crowd{
		{person: "alice", clients: 2, asks: 1, plan: plan{
			deltas: 20, batch: 4, pace: s, troubles: []trouble{{"silent in the text", 1, 0}},
		}},
	}}},
	{"clients stop their calls", setting{crowds: []crowd{
		{person: "alice", clients: 20, asks: 2, leaves: s, stops: true, plan: plan{
			latency: s / 2, deltas: 200, batch: 10, pace: 5 * s,
		}},
		{person: "bobby", clients: 4, asks: 2, token: true, leaves: 2 * s, stops: true, plan: plan{
			deltas: 20, batch: 4, pace: 5 * s,
		}},
		{person: "carol", clients: 4, asks: 2, plan: plan{deltas: 20, batch: 4, pace: 5 * s}},
	}}},
	{"clients stop calls that could be late", setting{background: true, within: 2 * s, crowds: []crowd{
		{person: "alice", clients: 20, asks: 2, leaves: 2 * s, stops: true, plan: plan{
			latency: s / 2, deltas: 200, batch: 10, pace: 5 * s,
		}},
		{person: "bobby", clients: 20, asks: 2, leaves: s, stops: true, plan: plan{
			latency: s / 2, deltas: 200, batch: 10, pace: 5 * s,
		}},
	}}},
}
