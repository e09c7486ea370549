package cite

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
)

func TestPageURL(t *testing.T) {
	check(t, "pages", func(u string) string { return cmp.Or(PageURL(u), "none") })
}

func TestPageKey(t *testing.T) {
	check(t, "keys", func(urls string) string {
		a, b, _ := strings.Cut(urls, " ")
		return fmt.Sprint(PageKey(a) == PageKey(b))
	})
}

func TestDomainSet(t *testing.T) {
	set := NewDomainSet([]string{"bad.example", "Worse.example", "xn--wgv71a.example"})
	check(t, "hosts", func(u string) string { return fmt.Sprint(set.HasPage(u)) })
}
