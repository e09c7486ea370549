package llm

import (
	"regexp"
	"strings"
)

// Capability says which optional parameters a model takes (spec §5.6).
type Capability struct {
	Verbosity bool // text.verbosity
	Reasoning bool // reasoning.effort, reasoning.summary, encrypted reasoning
}

// families is the capability table: the first row that fits decides, and a model
// that fits none takes neither. Azure writes gpt-3.5 as gpt-35.
var families = []struct {
	id  *regexp.Regexp
	can Capability
}{
	{regexp.MustCompile(`^gpt-([5-9]|[12][0-9])([^0-9]|$)`), Capability{Verbosity: true, Reasoning: true}},
	{regexp.MustCompile(`^o[1-9]`), Capability{Reasoning: true}},
}

// CapabilityOf looks up a model id. Snapshot dates and variants (-mini,
// -2026-01-31), a vendor prefix (openai/gpt-5.2), a routing suffix (:online)
// and the frame of a fine-tuned id (ft:gpt-5-mini:org::id) change nothing.
func CapabilityOf(model string) Capability {
	id := strings.ToLower(strings.TrimSpace(model))
	id = strings.TrimPrefix(id[strings.LastIndex(id, "/")+1:], "ft:")
	for _, f := range families {
		if f.id.MatchString(id) {
			return f.can
		}
	}
	return Capability{}
}
