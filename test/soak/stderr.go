package main

import (
	"bufio"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// stderr reads what a server says there: the runtime's line a collection, the
// goroutines of a dump, and its own log, in which nothing bad may stand.
type stderr struct {
	mu         sync.Mutex
	live       int      // MiB in use after a collection, the least since reset; -1: none yet
	dumped     bool     // a dump was asked for
	goroutines []string // in it, by who created them
	lines      []string
}

var collection = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^gc \d+ @.* \d+->\d+->(\d+) MB,`)
})

// read reads to the end, and tells the first line that is bad.
func (e *stderr) read(r io.Reader, bad func(why string)) {
	e.reset()
	told := false
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadString('\n')
		if why := e.take(strings.TrimSuffix(line, "\n")); why != "" && !told {
			told = true
			bad(why)
		}
		if err != nil {
			return // the server has ended
		}
	}
}

// take takes a line and says what is wrong with it, if anything.
func (e *stderr) take(line string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if found := collection().FindStringSubmatch(line); found != nil {
		if mib, err := strconv.Atoi(found[1]); err == nil && (e.live < 0 || mib < e.live) {
			e.live = mib
		}
		return ""
	}
	e.lines = append(e.lines, line)
	if len(e.lines) > 2*kept {
		e.lines = append(e.lines[:0], e.lines[kept:]...)
	}
	if strings.Contains(line, key) || strings.Contains(line, key[3:]) {
		return "the API key"
	}
	if e.dumped {
		// The runtime's own come and go with the collector. The main one, which
		// nobody has created, is always there.
		by, _, _ := strings.Cut(line, " in goroutine ")
		if by, ok := strings.CutPrefix(by, "created by "); ok && !strings.HasPrefix(by, "runtime.") {
			e.goroutines = append(e.goroutines, path.Base(by))
		}
		return ""
	}
	if slices.ContainsFunc([]string{"panic: ", "fatal error: ", "goroutine ", "WARNING: DATA RACE"}, func(bad string) bool {
		return strings.HasPrefix(line, bad)
	}) || strings.Contains(line, "internal error") {
		return line
	}
	return ""
}

// reset begins a new window of live.
func (e *stderr) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live = -1
}

// least is the memory in use after a collection, the least since reset, in MiB.
// What a server keeps is in it, what it works on is mostly not. -1: there was
// no collection.
func (e *stderr) least() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live
}

func (e *stderr) tail() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.lines) == 0 {
		return ""
	}
	return "stderr:\n" + strings.Join(e.lines[max(0, len(e.lines)-kept):], "\n") + "\n"
}

// dump says that the server is about to dump its goroutines.
func (e *stderr) dump() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dumped, e.lines = true, nil
}

// origins says who created the goroutines of the dump, once the server has ended.
func (e *stderr) origins() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(slices.Values(e.goroutines))
}
