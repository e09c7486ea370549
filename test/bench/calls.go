package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

const (
	side  = 64   // calls side by side
	calls = 2000 // in a round, after the first of them have brought everything up
)

// call is a request; quiet ones are not streamed.
func call(id int, watched bool) string {
	meta := ""
	if watched {
		meta = `,"_meta":{"progressToken":"bench"}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"answer","arguments":{"query":"What is the weather in Sapporo?"}%s}}`+"\n", id, meta)
}

// prepare makes a call of each kind, which the API answers and remembers: bare
// sends the same.
func (b *bench) prepare(ctx context.Context) error {
	run, err := b.ours.spawn(ctx)
	if err != nil {
		return err
	}
	for _, watched := range []bool{false, true} {
		if err := run.call(b, 1, watched); err != nil {
			return err
		}
	}
	if b.api.stream.events < events {
		return fmt.Errorf("streaming %d events, want at least %d", b.api.stream.events, events)
	}
	_, err = run.end()
	return err
}

// call makes one call and waits for its answer.
func (r *process) call(b *bench, id int, watched bool) error {
	if _, err := io.WriteString(r.in, call(id, watched)); err != nil {
		return err
	}
	got, err := r.answer(b, watched)
	if err == nil && got != id {
		err = fmt.Errorf("answer %d of %s, want %d", got, r.name, id)
	}
	return err
}

// answer reads the next answer, past notifications, and returns its id. It is an
// error when it does not hold what the API said.
func (r *process) answer(b *bench, watched bool) (id int, err error) {
	for {
		line, err := r.out.ReadBytes('\n')
		if err != nil {
			return 0, fmt.Errorf("reading from %s: %w", r.name, err)
		}
		var m struct {
			ID     *int
			Result struct {
				Content []struct{ Text string }
				// of bare
				Events, Bytes int
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return 0, fmt.Errorf("reading %.200q of %s: %w", line, r.name, err)
		}
		if m.ID == nil {
			continue
		}
		k, say := b.api.plain, "Sources:"
		if watched {
			k, say = b.api.stream, strings.Repeat("word ", 100)
		}
		right := m.Result.Bytes == len(k.body) && m.Result.Events == k.events
		if len(m.Result.Content) == 1 {
			right = strings.Contains(m.Result.Content[0].Text, say)
		}
		if !right {
			return 0, fmt.Errorf("wrong answer of %s: %.300s", r.name, line)
		}
		return *m.ID, nil
	}
}

// latency is the time of one call after another.
func (b *bench) latency(ctx context.Context) ([]figure, error) {
	runs := map[*program]*process{}
	ms := samples{}
	err := b.turns(1, b.bare, func(p *program) error {
		run, err := p.spawn(ctx)
		if err != nil {
			return err
		}
		runs[p] = run
		for id := range 20 {
			if err := run.call(b, id, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = b.turns(200, b.bare, func(p *program) error {
		begin := time.Now()
		err := runs[p].call(b, 1, false)
		ms.add(p, milliseconds(time.Since(begin)))
		return err
	})
	for _, run := range runs {
		if _, e := run.end(); err == nil {
			err = e
		}
	}
	return []figure{b.figure("one call after another", "ms", b.bare, ms)}, err
}

// load is 64 calls side by side: how many a second, what one costs, and the most
// memory. The first 64 are held back until all of them have come.
func (b *bench) load(ctx context.Context) ([]figure, error) {
	rate, cpu, peak := samples{}, samples{}, samples{}
	err := b.turns(7, b.bare, func(p *program) error {
		run, err := p.spawn(ctx)
		if err != nil {
			return err
		}
		b.api.hold(side)
		if err := run.many(b, side); err != nil {
			return err
		}
		begin := time.Now()
		if err := run.many(b, calls); err != nil {
			return err
		}
		rate.add(p, calls/time.Since(begin).Seconds())
		peak.add(p, run.memory("status", "VmHWM:"))
		ms, err := run.end()
		cpu.add(p, (ms-b.startCPU[p])/(calls+side))
		return err
	})
	return []figure{
		b.figure("calls a second, 64 at a time", "", b.bare, rate),
		b.figure("processor time of a call", "ms", b.bare, cpu).below(aimCallCPU),
		b.figure("peak, 64 at a time (VmHWM)", "MiB", b.bare, peak).below(aimPeak),
	}, err
}

// many makes n calls, as many of them side by side as side says.
func (r *process) many(b *bench, n int) error {
	open := map[int]bool{}
	for sent, done := 0, 0; done < n; done++ {
		for ; sent < n && len(open) < side; sent++ {
			if _, err := io.WriteString(r.in, call(sent, false)); err != nil {
				return err
			}
			open[sent] = true
		}
		id, err := r.answer(b, false)
		if err != nil {
			return err
		}
		if !open[id] {
			return fmt.Errorf("answer %d of %s: nobody waits for it", id, r.name)
		}
		delete(open, id)
	}
	return nil
}

// streams is how many events of a long stream a program takes in a second, from
// the call to the answer. The floor counts the lines of the same bytes.
func (b *bench) streams(ctx context.Context) ([]figure, error) {
	rate := samples{}
	err := b.turns(5, b.bare, func(p *program) error {
		run, err := p.spawn(ctx)
		if err != nil {
			return err
		}
		if err := run.call(b, 1, false); err != nil { // brings the connection up
			return err
		}
		before, begin := b.api.count(b.api.stream), time.Now()
		n := float64(b.api.stream.events)
		err = run.call(b, 1, true)
		took := time.Since(begin).Seconds()
		if b.api.count(b.api.stream) == before {
			n = math.NaN() // it did not ask for a stream
		}
		rate.add(p, n/took)
		_, e := run.end()
		if err == nil {
			err = e
		}
		return err
	})
	return []figure{b.figure("streamed events a second", "", b.bare, rate)}, err
}
