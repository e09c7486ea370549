package answer

import (
	"fmt"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Stage returns what an event means, in words for a status line: "thinking", "searching" and the
// query, "reading" and the URL, "retrying (2): the reason". detail is the query or the URL, or ""
// while it is unknown. stage is "" if the event changes nothing.
func Stage(ev call.Event) (stage, detail string) {
	switch e := ev.(type) {
	case call.Requesting:
		return "thinking", ""

	case call.BlockStart:
		switch e.Kind {
		case call.BlockThinking:
			return "thinking", ""
		case call.BlockSearch:
			return "searching", ""
		}

	case call.Search:
		if e.Action != "search" && e.URL != "" {
			return "reading", text.OneLine(e.URL)
		}
		return "searching", text.OneLine(e.Query)

	case call.Waiting:
		return fmt.Sprintf("waiting for the rate limit (%d ahead)", e.Ahead), ""

	case call.Reconnecting:
		return "reconnecting", ""

	case call.Retrying:
		return fmt.Sprintf("retrying (%d): %v", e.Attempt, e.Err.Kind), ""
	}
	return "", ""
}
