package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// The aims, on a machine with two cores.
const (
	aimStart   = 3.0  // times the hello world
	aimIdle    = 12.0 // MiB resident
	aimCallCPU = 0.3  // ms of processor time a call
	aimPeak    = 24.0 // MiB resident, with 64 calls side by side
	aimSize    = 12.0 // MB, 1,000,000 bytes each
)

const (
	starts  = 20              // of each program
	settled = 1 * time.Second // after the last answer a program is idle
)

// start is the time from the spawn to the initialize answer, and the processor
// time from there to the end.
func (b *bench) start(ctx context.Context) ([]figure, error) {
	wall, cpu := samples{}, samples{}
	once := func(p *program) error {
		run, err := p.spawn(ctx)
		if err != nil {
			return err
		}
		wall.add(p, milliseconds(run.answered))
		ms, err := run.end()
		cpu.add(p, ms)
		return err
	}
	// The first of each brings the file into memory.
	if err := b.turns(1, b.hello, once); err != nil {
		return nil, err
	}
	clear(wall)
	clear(cpu)
	if err := b.turns(starts, b.hello, once); err != nil {
		return nil, err
	}
	for p := range cpu {
		b.startCPU[p] = cpu.median(p)
	}
	return []figure{
		b.figure("start to initialize answer", "ms", b.hello, wall).times(aimStart),
		b.figure("start and end, processor", "ms", b.hello, cpu),
	}, nil
}

// idle is the memory of a program that a client has started, asked for its
// tools, and left alone: what it costs to have it configured and not use it.
func (b *bench) idle(ctx context.Context) ([]figure, error) {
	rss, pss := samples{}, samples{}
	err := b.turns(3, b.hello, func(p *program) error {
		run, err := p.spawn(ctx)
		if err != nil {
			return err
		}
		if _, err := run.ask(initialized + list); err != nil {
			return fmt.Errorf("listing the tools of %s: %w", p.name, err)
		}
		select {
		case <-time.After(settled):
		case <-ctx.Done():
		}
		rss.add(p, run.memory("status", "VmRSS:"))
		pss.add(p, run.memory("smaps_rollup", "Pss:"))
		_, err = run.end()
		return err
	})
	return []figure{
		b.figure("idle, resident (VmRSS)", "MiB", b.hello, rss).below(aimIdle),
		b.figure("idle, proportional (Pss)", "MiB", b.hello, pss),
	}, err
}

// memory reads a field of a file of Linux's /proc, in MiB; NaN where there is
// none. VmRSS is what is resident, pages of the file of the program included,
// VmHWM the most that ever was; Pss counts a page that several processes share
// by parts.
func (r *process) memory(file, field string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.cmd.Process.Pid, file))
	if err != nil {
		return math.NaN()
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			if err != nil {
				return math.NaN()
			}
			return kb / 1024
		}
	}
	return math.NaN()
}

// size is what a download of the binary weighs, uncompressed.
func (b *bench) size(context.Context) ([]figure, error) {
	mb := samples{}
	err := b.turns(1, b.hello, func(p *program) error {
		if p.file == "" {
			mb.add(p, math.NaN())
			return nil
		}
		info, err := os.Stat(p.file)
		if err != nil {
			return err
		}
		mb.add(p, float64(info.Size())/1e6)
		return nil
	})
	return []figure{b.figure("binary", "MB", b.hello, mb).below(aimSize)}, err
}
