package config

import (
	"fmt"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// What 2,000 tokens of input, 1,000 of them cached and 400 written to the cache, 1,000 of output
// and 3 searches cost. The price is that of the longest beginning of the model's id.
func TestPrices(t *testing.T) {
	c := mustLoad(t, write(t, `prices:
  gpt-5: {input: 1, output: 10}
  gpt-5.2: {input: 2, cached_input: 0.2, cache_write: 2.5, output: 14, search: 10}
  o3: {input: 0, output: 0}
  o4: {input: 1, cached_input: null, output: 10, search: null}
`))
	usage := call.Usage{Input: 2000, Cached: 1000, CacheWrite: 400, Output: 1000}
	for model, want := range map[string]string{
		"gpt-5.2":            "0.0464", // 0.0012 + 0.0002 + 0.001 + 0.014 + 0.03
		"gpt-5.2-2026-01-31": "0.0464",
		"gpt-5-mini":         "0.0120",
		"o3":                 "0.0000",
		"o4":                 "0.0120",
		"gpt-4.1":            "no price",
		"openai/gpt-5.2":     "no price",
	} {
		t.Run(model, func(t *testing.T) {
			got := "no price"
			price := c.PriceOf(model)
			if price != nil {
				got = fmt.Sprintf("%.4f", price.Cost(usage, 3))
			}
			compare.Equal(t, "cost", got, want)
		})
	}
}
