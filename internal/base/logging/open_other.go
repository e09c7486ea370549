//go:build !windows

package logging

import "syscall"

// safeOpen are flags to open a path that has just been checked: meanwhile it may have become a link
// or a pipe.
const safeOpen = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
