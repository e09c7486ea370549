//go:build unix

package stdio

import (
	"os"
	"slices"
)

// shells are what a package runner starts a command with. Most replace
// themselves by it; dash stays, and outlives a runner that is killed.
var shells = [...]string{"sh", "ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "yash", "zsh"}

// ancestors are processes, each the parent of the one before and the first of
// them ours. When one ends, its child gets another parent at once and for
// good: that is looked at, and no process id that is used again deceives.
type ancestors []int

// trace returns the ancestors that end with the last of pids and, while that
// is a shell, its parent too: what npm started the shell for is over when npm
// is. It returns none when our parent is another: pids were named to a process
// above us, or outside of a sandbox that numbers its processes anew.
func trace(pids []int) ancestors {
	if len(pids) == 0 || pids[0] != os.Getppid() {
		return nil
	}
	all := slices.Clone(pids)
	for {
		parent, name, err := look(all[len(all)-1])
		if err != nil || !slices.Contains(shells[:], name) {
			return all
		}
		all = append(all, parent)
	}
}

// whole reports whether none of a has ended, as far as the system tells.
func (a ancestors) whole() bool {
	for i, pid := range a {
		parent := os.Getppid()
		if i > 0 {
			var err error
			if parent, _, err = look(a[i-1]); err != nil {
				return true
			}
		}
		if parent != pid {
			return false
		}
	}
	return true
}
