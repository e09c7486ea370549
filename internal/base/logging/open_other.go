//go:build !windows

package logging

import "syscall"

// inPlace are flags for a path that has just been checked: it may have become a link or a pipe.
const inPlace = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
