package cite

import "strings"

// rows returns the rows of a table, which have " | " between their columns.
func rows(table string) (all [][]string) {
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			all = append(all, strings.Split(line, " | "))
		}
	}
	return all
}
