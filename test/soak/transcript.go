package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// kept is how many entries of a transcript are kept, and how long one may be.
const (
	kept  = 150
	width = 240
)

// transcript is the end of what went over the pipes.
type transcript struct {
	begin time.Time
	mu    sync.Mutex
	lines []string
}

func newTranscript() *transcript { return &transcript{begin: time.Now()} }

func (t *transcript) add(way, text string) {
	text = strconv.Quote(text)
	if len(text) > width {
		text = strings.ToValidUTF8(text[:width], "") + "…"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf("%10.3f %s %s\n", time.Since(t.begin).Seconds(), way, text))
	if len(t.lines) > 2*kept {
		t.lines = append(t.lines[:0], t.lines[kept:]...)
	}
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines[max(0, len(t.lines)-kept):], "")
}
