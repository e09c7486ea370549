package budget

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// PersonLimits are the limits of single people, by ID and setting. They replace those that Limits
// has for each person. 0 is no limit.
type PersonLimits map[string]map[string]float64

// ParsePersonLimits reads lines such as
//
//	alice calls_per_hour=20 tokens_per_day=500000 usd_per_day=2.50
//	https://login.example.com 248289761001 usd_per_day=0
//
// A line begins with the name of a token or, for people who sign in, with issuer and subject: these
// people may change their names. The error does not quote a line, which may be a token.
func ParsePersonLimits(data string) (PersonLimits, error) {
	if !utf8.ValidString(data) || strings.Contains(data, "\x00") {
		return nil, errors.New("not UTF-8 text")
	}

	people := PersonLimits{}
	text := strings.TrimPrefix(data, "\ufeff")
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}

		id, limits, problem := parsePerson(words)
		if problem == "" && people[id] != nil {
			problem = "is about the person of a line before"
		}
		if problem != "" {
			return nil, fmt.Errorf("line %d %s", i+1, problem)
		}
		people[id] = limits
	}
	return people, nil
}

// parsePerson parses the words of a line. problem is what is wrong with the line, or "".
func parsePerson(words []string) (id string, limits map[string]float64, problem string) {
	id, settings, ok := parseID(words)
	if !ok {
		return "", nil, "does not begin with the name of a token, or with issuer and subject"
	}

	limits = map[string]float64{}
	for _, field := range settings {
		setting, value, _ := strings.Cut(field, "=")
		limit, ok := parseLimit(setting, value)
		_, twice := limits[setting]
		switch {
		case !ok:
			return "", nil, "has something else than " + strings.Join(personSettings(), ", ") +
				", each with = and a number (of at most 15 digits, or 1000000 USD), and no blank around that"
		case twice:
			return "", nil, "has a limit twice"
		}
		limits[setting] = limit
	}
	if len(limits) == 0 {
		return "", nil, "has no limit"
	}
	return id, limits, ""
}

// parseID returns the ID of a person, and the words that follow. The first words are the name of a
// token, or issuer and subject. ok is false if they are not: the name of a token has no colon, and
// none of the words is a limit.
func parseID(words []string) (id string, settings []string, ok bool) {
	isName := func(word string) bool {
		setting, value, _ := strings.Cut(word, "=")
		_, isLimit := parseLimit(setting, value)
		return !isLimit
	}
	if strings.Contains(words[0], "://") && len(words) > 1 {
		return words[0] + " " + words[1], words[2:], isName(words[1])
	}
	return call.TokenIDPrefix + words[0], words[1:], isName(words[0]) && !strings.Contains(words[0], ":")
}

// parseLimit parses the limit of a setting. ok is false if a line may not have this limit.
func parseLimit(setting, value string) (limit float64, ok bool) {
	all := personQuotas()
	i := slices.IndexFunc(all, func(q Quota) bool { return q.Setting == setting })
	digits := "0123456789"
	highest := float64(MaxLimit)
	if i >= 0 && all[i].InUSD() {
		digits += "."
		highest = MaxUSD
	}
	limit, err := strconv.ParseFloat(value, 64)
	return limit, i >= 0 && err == nil && limit <= highest && strings.Trim(value, digits) == ""
}

// personSettings returns the names of the settings that a line may have.
func personSettings() (names []string) {
	for _, q := range personQuotas() {
		names = append(names, q.Setting)
	}
	return names
}

// HaveUSD reports whether a person has a limit in USD.
func (p PersonLimits) HaveUSD() bool {
	for _, limits := range p {
		for _, q := range personQuotas() {
			if q.InUSD() && limits[q.Setting] > 0 {
				return true
			}
		}
	}
	return false
}

// Unknown returns the people in p for whose ID isKnown is false, sorted: names of tokens, or
// issuers and subjects.
func (p PersonLimits) Unknown(isKnown func(id string) bool) (unknown []string) {
	for id := range p {
		if !isKnown(id) {
			unknown = append(unknown, strings.TrimPrefix(id, call.TokenIDPrefix))
		}
	}
	slices.Sort(unknown)
	return unknown
}
