package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// event is something that is counted.
type event int

const (
	calls event = iota // of tools; each becomes one of the next five
	callsAnswered
	callsCancelled
	callsCrossed // answered, and cancelled too late
	callsRefused // under an id that was in flight
	callsLeft    // by a client that went
	callsFailed  // answered by an error; timeouts among them
	callsTimedOut
	others // requests answered that are no calls
	cancelsOfNothing
	cancelsTooLate
	garbageRefused
	progressTold
	pauses // of the reader
	requests
	read
	sentFramed
	sentLines
	sessions
	endedEOF
	endedGone
	endedTerm
	endedDump
	events // how many there are
)

// tally counts what happens.
type tally struct {
	mu     sync.Mutex
	counts [events]int
	faults map[string]int
}

func newTally() *tally { return &tally{faults: map[string]int{}} }

func (t *tally) add(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[e]++
}

// fault counts a fault of the API that a request has met.
func (t *tally) fault(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[kind]++
}

// note keeps a line for the summary.
func (k *soak) note(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, fmt.Sprintf(format, args...))
}

// report prints the summary, and the breach if there was one.
func (k *soak) report(cause error) error {
	n := &k.tally.counts
	fmt.Printf("calls     %d: %d answered (%d by an error, %d of them a timeout), %d cancelled, %d cancelled too late, %d refused under an id in flight, %d left by a client that went\n",
		n[calls], n[callsAnswered], n[callsFailed], n[callsTimedOut], n[callsCancelled], n[callsCrossed], n[callsRefused], n[callsLeft])
	fmt.Printf("client    %d messages framed, %d lines, %d other requests answered, %d pieces of garbage refused, %d cancellations of nothing and %d of what was answered, %d pauses of the reader\n",
		n[sentFramed], n[sentLines], n[others], n[garbageRefused], n[cancelsOfNothing], n[cancelsTooLate], n[pauses])
	fmt.Printf("server    %d messages, %d of them progress, %d requests at the API\n", n[read], n[progressTold], n[requests])
	fmt.Printf("sessions  %d: %d ended by EOF, %d by a client that went, %d by SIGTERM, %d by a dump\n",
		n[sessions], n[endedEOF], n[endedGone], n[endedTerm], n[endedDump])
	var kinds []string
	faults := 0
	for _, kind := range slices.Sorted(maps.Keys(k.tally.faults)) {
		faults += k.tally.faults[kind]
		kinds = append(kinds, fmt.Sprintf("%d %s", k.tally.faults[kind], kind))
	}
	fmt.Printf("faults    %d: %s\n", faults, strings.Join(kinds, "; "))
	slices.Sort(k.lines)
	for _, line := range k.lines {
		fmt.Println(line)
	}
	if b := k.breach; b != nil {
		fmt.Printf("\n%s\n%s", b.what, b.transcript)
		return fmt.Errorf("%s (seed %d)", b.what, k.seed)
	}
	if cause != nil {
		return fmt.Errorf("%w (seed %d)", cause, k.seed)
	}
	if sum := n[callsAnswered] + n[callsCancelled] + n[callsCrossed] + n[callsRefused] + n[callsLeft]; sum != n[calls] {
		return fmt.Errorf("%d calls were made, and %d accounted for (seed %d)", n[calls], sum, k.seed)
	}
	fmt.Printf("soak: %d calls, each answered once or cancelled, under %d faults; nothing left behind\n", n[calls], faults)
	return nil
}
