package apierror

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Each code, each type and all words of kindTable have an example in testdata, which has another
// result without them.
func TestEachName(t *testing.T) {
	want := examples(t)
	for i := range kindTable {
		for _, names := range []*[]string{&kindTable[i].codes, &kindTable[i].words} {
			whole := *names
			for k, name := range whole {
				t.Run(name, func(t *testing.T) {
					t.Cleanup(func() {
						*names = whole
						rules = sync.OnceValue(compileRules)
					})
					*names = slices.Delete(slices.Clone(whole), k, k+1)
					rules = sync.OnceValue(compileRules)
					if maps.Equal(examples(t), want) {
						t.Error("no example in testdata needs it")
					}
				})
			}
		}
	}
}

// examples returns the kinds of the errors in named.table, by name, with and without their
// statuses.
func examples(t *testing.T) map[string]string {
	kinds := map[string]string{}
	for _, row := range compare.Table(t, "named", 6) {
		name := row[0]
		status, _ := strconv.Atoi(row[1])
		e := apiError([]byte(row[4]), "")
		e.Status = status
		kinds[name] = classify(e, nil).Label()
		e.Status = 0
		kind := applyRules(e, nil)
		if kind != (call.Kind{}) {
			kinds[name+", without its status"] = kind.Label()
		}
	}
	return kinds
}
