//go:build unix

package budget

import (
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// A server that stalls runs the scripts of calls later, of which no answer has come. What they take
// is given back, and calls that pass count once.
func TestStall(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		t.Run(fmt.Sprint("refuse ", refuse), func(t *testing.T) {
			server := redistest.New(t)
			o := ofResponses
			o.RefuseWithoutStore = refuse
			r := idleReplica(t, "redis://"+server.Address, o)
			taken, _ := takeCall(r.Budget, &call.Call{Tool: "answer_detailed", Person: alice})
			settle(taken, 1000)

			_ = syscall.Kill(server.Pid(), syscall.SIGSTOP)
			var all sync.WaitGroup
			var list [8]*Taken
			for i := range list {
				all.Go(func() {
					list[i], _ = takeCall(r.Budget, &call.Call{Tool: "answer_detailed", Person: alice})
				})
			}
			all.Wait()
			_ = syscall.Kill(server.Pid(), syscall.SIGCONT)
			go r.Store.Probe(t.Context())

			holds := func(want string) {
				t.Helper()
				eventually(t, "the store has "+want, func() bool {
					return want == fmt.Sprintf("%d thousand tokens, %.0f calls",
						stored(t, server, r.Budget, unitTokens), storedUnits(t, server, r.Budget, unitCalls))
				})
			}
			holds("1 thousand tokens, 1 calls")
			for _, taken := range list {
				compare.Equal(t, "refused", taken == nil, refuse)
				if taken != nil {
					settle(taken, 2000)
				}
			}
			if !refuse {
				holds("17 thousand tokens, 9 calls")
			}
		})
	}
}
