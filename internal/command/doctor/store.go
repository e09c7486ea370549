package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// maxClockDifference is how much the clocks of the store and of this machine may differ.
const maxClockDifference = time.Minute

// addStart adds a failed check if the server cannot start, because of err.
func (l *checklist) addStart(name string, err error) {
	if err != nil {
		l.add(name, fail(err.Error(), "correct that: the program does not start"))
	}
}

// addStore adds the checks of the store of the quotas, if there is one: whether it runs the script
// of the quotas with the rights of the account, how far its clock is off, and which keys it drops.
func (l *checklist) addStore(ctx context.Context, s *service.Service) {
	store, err := s.ConfiguredStore()
	if err != nil {
		l.add("store", fail(err.Error(), "correct MCP_STORE_URL, or the file of MCP_STORE_URL_FILE"))
		return
	}
	if store == nil {
		return
	}

	address := store.Address()
	at := address.Host + ", database " + address.Database
	if address.Prefix != "" {
		at += ", prefix " + address.Prefix
	}
	found := store.Check(ctx)
	if found.Err != nil {
		l.add("store", fail(at+": "+found.Err.Error(), found.Hint))
		return
	}
	l.add("store", pass(at+": runs the script of the limits"))
	l.add("store clock", clockCheck(found.ClockAhead))
	switch {
	case found.DropsKeys:
		l.add("store policy", warn(found.EvictionPolicy+": "+budget.DropsWarning, budget.DropsHint))
	case found.EvictionPolicy != "":
		l.add("store policy", pass(found.EvictionPolicy+": no key is dropped"))
	default:
		l.add("store policy", pass("not known: the account has no +info, or the store no policy"))
	}
}

// clockCheck checks how far the clock of the store, by which quotas refill, is ahead.
func clockCheck(ahead time.Duration) Check {
	order := "ahead of"
	if ahead < 0 {
		order = "behind"
	}
	differs := fmt.Sprintf("%v %s that of this machine", ahead.Abs(), order)

	if ahead.Abs() <= maxClockDifference {
		return pass(differs)
	}
	const hint = "set both by NTP: limits refill by the clock of the store, so that a jump of it lifts them " +
		"early or late"
	return warn(differs, hint)
}
