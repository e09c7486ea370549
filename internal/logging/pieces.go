package logging

import (
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	piece    = 8  // characters of a secret that give it away, when they are no word
	tellable = 16 // characters of a secret that has pieces
)

// masked is a secret as others show it: its ends, with stars or dots between.
var masked = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z0-9_-]*)(?:[*•]{2,}|…+|\.{3,})[*•….]*([A-Za-z0-9_-]*)`)
})

// pieces finds what is left of secrets that were cut, masked or escaped in a
// way that nobody lists: some characters of one as \u0041, some as %41.
type pieces struct {
	secrets []string        // without escapes
	grams   map[uint64]bool // every piece of them
	tails   [1 << 12]bool   // the last bits of them, to look no further in most places
}

// newPieces takes the secrets that look made by chance. Of others, an address
// or a name, parts are in any text.
func newPieces(secrets []string) *pieces {
	p := &pieces{grams: map[uint64]bool{}}
	for _, s := range secrets {
		s = bare(strings.TrimSpace(s))
		if len(s) < tellable || strings.Contains(s, "://") || strings.Contains(s, " ") || !chance(s) {
			continue
		}
		p.secrets = append(p.secrets, s)
		for _, form := range append(encoded(s), s) {
			p.add(form)
		}
	}
	return p
}

// add takes down the pieces of a secret.
func (p *pieces) add(s string) {
	var last uint64
	for i := range len(s) {
		if last = last<<8 | uint64(s[i]); i+1 >= piece {
			p.grams[last], p.tails[last%uint64(len(p.tails))] = true, true
		}
	}
}

// chance reports whether a text is no word: it mixes letters with digits, or
// has a capital within.
func chance[T string | []byte](s T) bool {
	letters, digits, capitals := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'A' <= c && c <= 'Z' && i > 0 && 'a' <= s[i-1] && s[i-1] <= 'z':
			capitals++
		default:
			letters++
		}
	}
	return digits > 0 && letters > 0 || digits > piece || capitals > 0
}

// replace takes every piece out of s.
func (p *pieces) replace(s string) string {
	if len(p.secrets) == 0 {
		return s
	}
	if p.in(s) {
		s = p.runs(s, unquoted{s: s, asItIs: true})
	}
	// Not at once: an escape may be none, as in 100%ab.
	if strings.Contains(s, "%") || strings.Contains(s, `\u`) || strings.Contains(s, `\x`) {
		s = p.runs(s, unquoted{s: s})
	}
	return p.unmask(s)
}

// in reports whether there is a piece in s as it is; mostly there is none.
func (p *pieces) in(s string) bool {
	var last uint64
	for i := range len(s) {
		if last = last<<8 | uint64(s[i]); p.tails[last%uint64(len(p.tails))] && p.grams[last] {
			return true
		}
	}
	return false
}

// runs replaces what is piece or more characters of a secret in a row, in s as
// t reads it.
func (p *pieces) runs(s string, t unquoted) string {
	var (
		b    strings.Builder
		end  int        // of s, as far as it is written
		last uint64     // the last characters, without escapes
		at   [piece]int // where each of them stands
		run  []byte     // the piece that grows
		from int        // where it begins
		to   int        // and where it ends
	)
	for n, ok := 1, true; ok; n++ {
		var c byte
		c, ok = t.next()
		last = last<<8 | uint64(c)
		at[n%piece] = t.from
		switch hit := ok && n >= piece && p.tails[last%uint64(len(p.tails))] && p.grams[last]; {
		case hit && run == nil:
			run, from, to = binary.BigEndian.AppendUint64(nil, last), at[(n+1)%piece], t.to
		case hit:
			run, to = append(run, c), t.to
		case run != nil:
			if chance(run) && to > end {
				b.WriteString(s[end:max(end, from)] + mark)
				end = to
			}
			run = nil
		}
	}
	if end == 0 {
		return s
	}
	return b.String() + s[end:]
}

// unmask replaces the ends of a secret around a mask.
func (p *pieces) unmask(s string) string {
	if !strings.Contains(s, "**") && !strings.Contains(s, "...") && !strings.ContainsAny(s, "…•") {
		return s
	}
	return masked().ReplaceAllStringFunc(s, func(m string) string {
		ends := masked().FindStringSubmatch(m)
		if slices.ContainsFunc(p.secrets, func(secret string) bool {
			return len(ends[1]) >= 3 && strings.HasPrefix(secret, ends[1]) || len(ends[2]) >= 3 && strings.HasSuffix(secret, ends[2])
		}) {
			return mark
		}
		return m
	})
}

// bare is s without what quoting adds.
func bare(s string) string {
	t, out := unquoted{s: s}, make([]byte, 0, len(s))
	for c, ok := t.next(); ok; c, ok = t.next() {
		out = append(out, c)
	}
	return string(out)
}

// unquoted reads a text without what quoting adds: %41, \x41 and \u0041 are
// the character, and a backslash is nothing.
type unquoted struct {
	s        string
	asItIs   bool   // nothing is an escape
	from, to int    // where the character of the last byte stands in s
	left     []byte // of that character
	char     [utf8.UTFMax]byte
}

func (t *unquoted) next() (c byte, ok bool) {
	for len(t.left) == 0 {
		if t.to == len(t.s) {
			return 0, false
		}
		t.from = t.to
		t.left = t.char[:1]
		if c := t.s[t.from]; t.asItIs || c != '%' && c != '\\' {
			t.char[0], t.to = c, t.from+1
			break
		}
		t.unescape(t.s[t.from:])
	}
	c, t.left = t.left[0], t.left[1:]
	return c, true
}

// unescape reads the escape at the start of s.
func (t *unquoted) unescape(s string) {
	digits, skip := 2, 2
	switch {
	case s[0] == '%':
		skip = 1
	case strings.HasPrefix(s, `\u`):
		digits = 4
	}
	if len(s) >= skip+digits && (skip == 1 || digits == 4 || s[1] == 'x') {
		if v, err := strconv.ParseUint(s[skip:skip+digits], 16, 16); err == nil {
			t.left, t.to = append(t.char[:0], byte(v)), t.from+skip+digits
			if digits == 4 {
				t.left = utf8.AppendRune(t.char[:0], rune(v))
			}
			return
		}
	}
	t.left, t.to = append(t.char[:0], s[0]), t.from+1
	if s[0] == '\\' {
		t.left = nil
	}
}
