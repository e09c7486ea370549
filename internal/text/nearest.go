package text

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the name that s most likely stands for, or "" if all are far.
// Of a name with dots the last part counts. The first of equally near names wins.
func Nearest(s string, names []string) string {
	nearest, least := "", max(2, len(s)/3)+1
	for _, name := range names {
		last := name[strings.LastIndex(name, ".")+1:]
		distance := levenshtein.ComputeDistance(strings.ToLower(s), last)
		if distance > 1 && len(s) > 2 && strings.Contains(last, s) {
			distance = 1
		}
		if distance < min(least, len(last)) {
			nearest, least = name, distance
		}
	}
	return nearest
}
