package call

import "math"

// Price is what a model costs, in USD.
type Price struct {
	Input      float64 // per million tokens
	Cached     float64 // per million tokens of the input that were read from the cache
	CacheWrite float64 // per million tokens of the input that were written to the cache
	Output     float64 // per million tokens
	Search     float64 // per 1,000 searches
}

// RoundUSD rounds an amount in USD to a millionth.
func RoundUSD(usd float64) float64 { return math.Round(usd*1e6) / 1e6 }

// Cost returns what tokens and searches cost, in USD. A service tier and a long input may have
// other prices at the API.
func (p Price) Cost(u Usage, searches int) float64 {
	cached := min(u.Cached, u.Input) // some servers do not count cached tokens as input
	written := min(u.CacheWrite, u.Input-cached)
	tokens := float64(u.Input-cached-written)*p.Input +
		float64(cached)*p.Cached +
		float64(written)*p.CacheWrite +
		float64(u.Output)*p.Output

	return tokens/1e6 + float64(searches)*p.Search/1e3
}
