package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// nearThousandths is when a limit is nearly used up, in thousandths.
const nearThousandths = 800

// nearBucket is a bucket that was nearly used up.
type nearBucket struct {
	bucket     bucket      // its limit is the one that was nearly used up
	person     call.Person // who has used it last
	nearUntil  time.Time   // when less than nearThousandths is used, if no further call uses any
	quietUntil time.Time   // until when it is not logged again
}

// isExpired reports whether the bucket is not nearly used up any more, and may be logged again.
func (nb nearBucket) isExpired() bool {
	return !time.Now().Before(nb.nearUntil) && !time.Now().Before(nb.quietUntil)
}

// nearWords has words for limits that are nearly used up, such as "85 % of 100000 tokens a day", by
// the keys of their buckets.
type nearWords map[string]string

// of returns the words for the limits of buckets, in their order, or "".
func (w nearWords) of(buckets []bucket) string {
	var list []string
	for _, bk := range buckets {
		if w[bk.key] != "" {
			list = append(list, w[bk.key])
		}
	}
	return strings.Join(list, ", ")
}

// noteNear notes which limits are nearly used up: in words, and for NearLimitCounts. shares are how
// much of its limit each bucket of changes has used, in thousandths, or nil if this is not known.
// noteNear logs each bucket once in a period.
func (b *Budget) noteNear(words nearWords, p call.Person, changes []bucketChange, shares []int64) {
	b.nearMu.Lock()
	defer b.nearMu.Unlock()
	for i, share := range shares {
		bc := changes[i]
		if share >= nearThousandths && !bc.limitEnded {
			words[bc.key] = b.noteNearLocked(p, bc.bucket, share)
			continue
		}
		delete(words, bc.key)
		nb := b.nearBuckets.Get(bc.key)
		if nb.bucket.key != "" { // it has refilled, was reset, or its limit has ended
			nb.nearUntil = time.Time{}
			b.nearBuckets.Set(bc.key, nb)
		}
	}
}

// noteNearLocked notes one bucket that is nearly used up, and returns words for it. share is
// how much of its limit is used, in thousandths.
func (b *Budget) noteNearLocked(p call.Person, bk bucket, share int64) (words string) {
	words = fmt.Sprintf("%d %% of %s %s", share/10, bk.unit.format(bk.limitUnits), bk.unitWords())
	period := time.Duration(bk.period.micros) * time.Microsecond
	now := time.Now()

	nb := b.nearBuckets.Get(bk.key)
	mayLog := !now.Before(nb.quietUntil)
	if mayLog {
		nb.quietUntil = now.Add(period)
	}
	nb.bucket = bk
	nb.person = p
	nb.nearUntil = now.Add(time.Duration(share-nearThousandths+1) * (period / 1000))
	b.nearBuckets.Set(bk.key, nb)
	if mayLog && b.Log != nil {
		log := b.Log.With("limit", bk.Name, "used", words)
		if !bk.ofAll {
			log = log.With("client", p.Name)
		}
		log.Info("a limit is nearly used up")
	}
	return words
}

// NearLimitCounts returns how many people have used four fifths of a limit, by the name of the
// quota. A quota of all people counts as 1. The counts are of what noteNear has noted for calls of
// this process.
func (b *Budget) NearLimitCounts() map[string]int {
	b.nearMu.Lock()
	defer b.nearMu.Unlock()
	count := map[string]int{}
	for _, nb := range b.nearBuckets.Live() {
		// The limit may have ended, or be higher now.
		hasLimit := slices.ContainsFunc(b.buckets(nb.person), func(bk bucket) bool {
			return bk.key == nb.bucket.key && bk.limitUnits <= nb.bucket.limitUnits
		})
		if hasLimit && time.Now().Before(nb.nearUntil) {
			count[nb.bucket.Name]++
		}
	}
	return count
}
