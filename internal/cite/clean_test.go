package cite

import "testing"

func TestClean(t *testing.T) {
	check(t, table(t, "clean"), Clean)
}
