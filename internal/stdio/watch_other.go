//go:build !unix && !windows

package stdio

import (
	"context"
	"io"
)

// watch does nothing here: the first answer that cannot be written ends the
// session.
func (c *conn) watch([]int) {}

// WaitGone cannot tell: it returns false.
func WaitGone(context.Context, io.Writer) bool { return false }
