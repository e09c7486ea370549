// Package compare compares values in tests, reads their tables, runs their subtests, and skips
// those that take long.
package compare

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// Equal fails a test unless a value is what it should be. what names the value.
func Equal[T any](t testing.TB, what string, got, want T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Contains fails a test unless a text has a part.
func Contains(t testing.TB, what, got, part string) {
	t.Helper()
	if !strings.Contains(got, part) {
		t.Errorf("%s: want %q in %.2000q", what, part, got)
	}
}

// Bubble runs a subtest in a bubble of testing/synctest.
func Bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// Seeds returns how many seeds a test at random has: the value of TEST_SEEDS, which .ci/run sets,
// or a few, because they take long.
func Seeds(few uint64) uint64 {
	n, err := strconv.ParseUint(os.Getenv("TEST_SEEDS"), 10, 64)
	if err != nil {
		return few // not set
	}
	return n
}

// SkipRace skips a test under the race detector. why says what the detector would distort.
func SkipRace(t testing.TB, why string) {
	t.Helper()
	if race {
		t.Skipf("-race: %s; .ci/run runs it without", why)
	}
}

// SkipShort skips a test with -short. why says what takes long.
func SkipShort(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("-short: %s; .ci/run runs it", why)
	}
}
