package answer

import (
	"strings"
	"time"
)

// jst is Asia/Tokyo, the zone of every date in an answer (spec §9). Japan keeps
// no daylight saving time, so a fixed zone is exact and the scratch image needs
// no tzdata.
var jst = time.FixedZone("JST", 9*60*60)

// today returns the date in Asia/Tokyo: the access date of what was just read.
func today(now time.Time) string { return now.In(jst).Format(time.DateOnly) }

// dateLayouts are the ways in which sources state their date, besides ISO.
var dateLayouts = []string{
	time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822, time.RFC822Z, time.UnixDate, time.ANSIC,
	"January 2, 2006", "January 2 2006", "2 January 2006",
	"Jan 2, 2006", "Jan 2 2006", "Jan. 2, 2006", "2 Jan 2006",
	"Monday, January 2, 2006", "Mon, 2 Jan 2006",
	"2006/1/2", "2006.1.2", "2006-1-2", "2006年1月2日", "20060102",
	"2006/1/2 15:04", "2006/1/2 15:04:05", "2006年1月2日 15:04",
	"Jan 2, 2006 3:04 PM", "January 2, 2006 3:04 PM", "Jan 2, 2006 15:04", "January 2, 2006 15:04",
}

// isoDate normalizes a source's date to YYYY-MM-DD. A timestamp keeps the day
// that it names in its own zone, because that is the day printed on the page.
// It returns "" for what is no date, and for year 1, the zero value that some
// sites publish.
func isoDate(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return "" // most sources have none, and each layout that does not fit costs
	}
	if day, rest, ok := strings.Cut(s, "日"); ok && (strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "（")) {
		s = day + "日" // and the day of the week
	}
	if len(s) > len(time.DateOnly) && !isDigit(s[len(time.DateOnly)]) {
		if t, err := time.Parse(time.DateOnly, s[:len(time.DateOnly)]); err == nil && t.Year() > 1 {
			return t.Format(time.DateOnly)
		}
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil && t.Year() > 1 {
		return t.Format(time.DateOnly)
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1 {
			return t.Format(time.DateOnly)
		}
	}
	return ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
