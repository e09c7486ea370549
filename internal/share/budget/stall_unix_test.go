//go:build unix

package budget

import (
	"syscall"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// A server that stalls runs the script of a call later, of which no answer has come. The call counts
// once.
func TestStall(t *testing.T) {
	server := redistest.New(t)
	r := idleReplica(t, "redis://"+server.Address, Options{Limits: Limits{CallsPerHour: 3}})
	taken, _ := take(r.Budget, "alice")
	settle(taken, 0)

	_ = syscall.Kill(server.Pid(), syscall.SIGSTOP)
	taken, _ = take(r.Budget, "alice")
	compare.Equal(t, "the store has not answered", taken.stored, storeUnsure)
	_ = syscall.Kill(server.Pid(), syscall.SIGCONT)
	go r.Store.Probe(t.Context())
	r.until(t, false)
	settle(taken, 0)

	other := newReplica(t, "redis://"+server.Address, Options{Limits: Limits{CallsPerHour: 3}})
	_, third := take(other.Budget, "alice")
	compare.Equal(t, "the third call", third, "")
	_, fourth := take(other.Budget, "alice")
	compare.Contains(t, "the fourth call", fourth, "used 3 of 3 calls an hour")
}
