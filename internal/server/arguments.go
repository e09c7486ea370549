package server

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/rpc"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Question returns the question of a call or a command line, whose default domains are those of d.
// The error is one line that names the argument, what is allowed and what was sent. Unknown
// arguments are ignored. Models write null for what they leave out, and where a string is not
// wanted also "null" or a blank string. A number above the maximum is an error if exact; otherwise
// it becomes the maximum: earlier versions had none.
func Question(args gjson.Result, d answer.Defaults, exact bool) (q answer.Question, err error) {
	if args.Type != gjson.Null && !args.IsObject() {
		return q, call.KindArguments.Errorf("arguments must be an object, got %s", quote(args))
	}

	query := args.Get("query")
	switch {
	case query.Type == gjson.Null:
		return q, call.KindArguments.Errorf("query is required")
	case query.Type != gjson.String:
		return q, call.KindArguments.Errorf("query must be a string, got %s", quote(query))
	case strings.TrimSpace(query.Str) == "":
		return q, call.KindArguments.Errorf("query must not be empty")
	}

	valid := map[string]any{"style": args.Get("style").Str} // of version 0.5
	for _, a := range Table.Arguments {
		v := args.Get(a.Name)
		s := strings.TrimSpace(v.String()) // "" for null
		isNull := s == "null" && a.Type() != "string"
		if s == "" || isNull {
			continue
		}
		valid[a.Name], err = a.Value(v, exact)
		if err != nil {
			return q, call.KindArguments.Errorf("%s %v", a.Name, err)
		}
	}
	b, _ := jsonx.Marshal(valid)
	_ = json.Unmarshal(b, &q) // the arguments have the types of the fields
	if q.OnlyDomains && len(q.Domains)+len(d.Domains) == 0 {
		return q, call.KindArguments.Errorf("only_domains needs domains, which has no default here")
	}
	return q, nil
}

// Value returns a valid argument. Models send numbers, booleans and arrays as strings, too, and one
// name without an array. Only a command line is exact.
func (a Argument) Value(v gjson.Result, exact bool) (any, error) {
	switch a.Type() {
	case "number":
		n, err := strconv.ParseFloat(strings.TrimSpace(v.String()), 64)
		least := gjson.GetBytes(a.Schema, "minimum").Num
		most := cmp.Or(gjson.GetBytes(a.Schema, "maximum").Num, math.MaxFloat64)
		isLess := !(n >= least) // also NaN
		isMore := n > most && exact
		switch {
		case err != nil, isLess, math.IsInf(n, 0):
			return nil, call.KindArguments.Errorf("must be a number of at least %v, got %s",
				least, quote(v))
		case isMore:
			return nil, call.KindArguments.Errorf("must be at most %v, got %s", most, quote(v))
		}
		return min(n, most), nil

	case "array":
		example := `["example.com"]`
		if exact {
			example = "example.com"
		}
		sent := []byte(v.Str)
		array := gjson.ParseBytes(sent)
		isSmall := rpc.Elements(sent) <= rpc.MaxElements
		if array.IsArray() && isSmall && json.Valid(sent) {
			v = array
		}

		names := []string{}
		for _, name := range v.Array() { // v itself if it is not an array
			if !text.IsHostName(name.Str) {
				return nil, call.KindArguments.Errorf(
					"must be host names with a dot, such as %s, got %s", example, quote(name))
			}
			names = append(names, name.Str)
		}
		return names, nil

	case "boolean":
		s := strings.ToLower(strings.TrimSpace(v.String()))
		if s != "true" && s != "false" && s != "" {
			return nil, call.KindArguments.Errorf("must be true or false, got %s", quote(v))
		}
		return s == "true", nil
	}
	return v.Str, nil
}

// Type is the JSON type of the argument. An array has strings.
func (a Argument) Type() string {
	return gjson.GetBytes(a.Schema, "type").Str
}

// quote returns the start of a JSON value in one line.
func quote(v gjson.Result) string {
	return text.Label(v.Raw)
}
