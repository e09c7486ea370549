package answer

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Question is what a tool call asks. Its fields with a json tag are the arguments of the tools.
// Their schemas, their checks and the flags of ask follow from the types and these tags:
//
//	json      name of the argument
//	doc       description for models
//	flag      usage of the flag, with the name of its value between single quotes
//	min, max  bounds of a number, both included; without min it is at least 0
//	format    "country" for two letters, "question" for a text that is not empty; without it a string
//	          is any short line
//	except    tools that take the argument but do not list it, separated by blanks
//
// The default of an argument is the member of Defaults with its name, if there is one.
type Question struct {
	Query          string   `json:"query" format:"question" doc:"The question, in any language. It is all that the model sees, so include the context it needs."`
	RecencyDays    *float64 `json:"recency_days" except:"answer_quick" min:"0" flag:"prefer pages of the last 'N' days" doc:"How many days back to look first: few for news, many for background."`
	MaxResults     *float64 `json:"max_results" except:"answer_quick" min:"1" max:"10" flag:"look at up to 'N' results, 1 to 10" doc:"How many search results to look at."`
	Domains        []string `json:"domains" except:"answer_quick" flag:"prefer these 'DOMAINS', such as go.dev,pkg.go.dev" doc:"Host names of preferred sources, such as example.com, without scheme, path or wildcard. An empty array means the default."`
	OnlyDomains    bool     `json:"only_domains" except:"answer_quick" flag:"search only --domains" doc:"Search no other pages than those of domains."`
	ExcludeDomains []string `json:"exclude_domains" except:"answer_quick" flag:"do not search or cite these 'DOMAINS'" doc:"Host names whose pages are neither searched nor cited."`
	Country        string   `json:"country" format:"country" flag:"search as from 'COUNTRY', such as DE" doc:"Country to search from: two letters, such as DE."`
	FollowUpTo     string   `json:"follow_up_to" format:"question" flag:"continue the earlier 'QUESTION'" doc:"Earlier question, word for word, that this one continues."`

	Style string // an argument of version 0.5 that no tool lists; only one of styles is sent
}

// Defaults are the defaults of arguments: search.defaults of the configuration.
type Defaults struct {
	RecencyDays float64  `json:"recency_days"`
	MaxResults  int      `json:"max_results"`
	Domains     []string `json:"domains"`
}

// Argument is an argument of the tools.
type Argument struct {
	Name  string
	field reflect.StructField // of Question
}

// Arguments lists the arguments in the order of the fields of Question. The first is the query,
// which may have several lines. No other argument is required.
var Arguments = func() (all []Argument) {
	for field := range reflect.TypeFor[Question]().Fields() {
		name, named := field.Tag.Lookup("json")
		if named {
			all = append(all, Argument{name, field})
		}
	}
	return all
}()

// Parse returns the question in the arguments of a call, and checks it with d (Check). The error is
// one line that names the argument, what is allowed and what was sent. Unknown arguments are
// ignored. So are null, "null" and a blank string, which models write for arguments that they leave
// out.
func Parse(args gjson.Result, d Defaults) (q Question, err error) {
	if args.Type != gjson.Null && !args.IsObject() {
		return q, call.KindArguments.Errorf("arguments must be an object, got %s", quote(args))
	}

	query := args.Get("query")
	if query.Type == gjson.Null {
		return q, call.KindArguments.Errorf("query is required")
	}
	_, err = questionText(query)
	if err != nil {
		return q, call.KindArguments.Errorf("query %v", err)
	}
	q.Query = query.Str // as it is, with blanks around it
	q.Style = args.Get("style").Str

	for _, a := range Arguments[1:] {
		v := args.Get(a.Name)
		s := strings.TrimSpace(v.String()) // "" for null
		if s == "" || s == "null" {
			continue
		}
		err = a.Set(&q, v, false)
		if err != nil {
			return Question{}, call.KindArguments.Errorf("%s %v", a.Name, err)
		}
	}
	return q, q.Check(d)
}

// Check returns why a question whose arguments are valid cannot be asked with these defaults, or
// nil.
func (q Question) Check(d Defaults) error {
	if q.OnlyDomains && len(q.Domains)+len(d.Domains) == 0 {
		return call.KindArguments.Errorf("only_domains needs domains, which has no default here")
	}
	return nil
}

// Set sets the argument of a question, or appends to it if it is a list. Models may send numbers,
// booleans and arrays as strings, and a single name without an array. A number above the maximum is
// an error on a command line (fromFlag). From a model, the number becomes the maximum, because
// earlier versions had no maximum.
func (a Argument) Set(q *Question, v gjson.Result, fromFlag bool) (err error) {
	field := reflect.ValueOf(q).Elem().FieldByIndex(a.field.Index)
	switch p := field.Addr().Interface().(type) {
	case **float64:
		*p = new(float64)
		**p, err = a.number(v, fromFlag)
	case *[]string:
		var names []string
		names, err = hostNames(v, fromFlag)
		*p = append(*p, names...)
	case *bool:
		*p, err = boolean(v)
	case *string:
		*p, err = a.inFormat(v)
	}
	return err
}

// number returns v as a number within the bounds of the argument.
func (a Argument) number(v gjson.Result, fromFlag bool) (float64, error) {
	minimum, _ := strconv.ParseFloat(a.field.Tag.Get("min"), 64) // 0 without the tag
	maximum, _ := strconv.ParseFloat(a.field.Tag.Get("max"), 64)
	maximum = cmp.Or(maximum, math.MaxFloat64)

	n, err := strconv.ParseFloat(strings.TrimSpace(v.String()), 64)
	isBelow := !(n >= minimum) // also NaN
	isAbove := n > maximum && fromFlag
	switch {
	case err != nil, isBelow, math.IsInf(n, 0):
		return 0, call.KindArguments.Errorf("must be a number of at least %v, got %s",
			minimum, quote(v))
	case isAbove:
		return 0, call.KindArguments.Errorf("must be at most %v, got %s", maximum, quote(v))
	}
	return min(n, maximum), nil
}

// hostNames returns the host names in v: an array, the text of an array, or a single name.
func hostNames(v gjson.Result, fromFlag bool) (names []string, err error) {
	example := `["example.com"]`
	if fromFlag {
		example = "example.com"
	}
	if array := jsonx.ParseString(v); array.IsArray() {
		v = array
	}

	for _, name := range v.Array() { // v itself if it is not an array
		if !text.IsHostName(name.Str) {
			return nil, call.KindArguments.Errorf(
				"must be host names with a dot, such as %s, got %s", example, quote(name))
		}
		names = append(names, name.Str)
	}
	return names, nil
}

// boolean returns v as a boolean. An empty string, which a flag may have, is false.
func boolean(v gjson.Result) (bool, error) {
	s := strings.ToLower(strings.TrimSpace(v.String()))
	if s != "true" && s != "false" && s != "" {
		return false, call.KindArguments.Errorf("must be true or false, got %s", quote(v))
	}
	return s == "true", nil
}

// countryCode matches the code of a country (ISO 3166-1 alpha-2).
var countryCode = text.LazyRegexp(`^[A-Z]{2}$`)

// inFormat returns v as a string in the format of the argument. Without a format the string is one
// short line, because a line break could end the line of hints and begin a false one.
func (a Argument) inFormat(v gjson.Result) (string, error) {
	s := strings.TrimSpace(v.Str) // "" for other types
	switch a.field.Tag.Get("format") {
	case "question":
		return questionText(v)
	case "country":
		code := strings.ToUpper(s)
		if !countryCode().MatchString(code) {
			return "", call.KindArguments.Errorf("must be two letters, such as DE, got %s", quote(v))
		}
		return code, nil
	}
	if s == "" || s != text.ShortLine(s) {
		return "", call.KindArguments.Errorf("must be one line of at most 100 characters, got %s",
			quote(v))
	}
	return s, nil
}

// questionText returns the text of a question, which may have several lines, without blanks at its
// ends.
func questionText(v gjson.Result) (string, error) {
	s := strings.TrimSpace(v.Str) // "" for other types
	switch {
	case v.Type != gjson.String:
		return "", call.KindArguments.Errorf("must be a string, got %s", quote(v))
	case s == "":
		return "", call.KindArguments.Errorf("must not be empty")
	}
	return s, nil
}

// quote returns the start of a JSON value, in one line, for an error.
func quote(v gjson.Result) string {
	return text.ShortLine(v.Raw)
}

// ListedBy reports whether a tool lists the argument. A tool also takes arguments that it does not
// list.
func (a Argument) ListedBy(tool string) bool {
	return !slices.Contains(strings.Fields(a.field.Tag.Get("except")), tool)
}

// Type returns the JSON type of the argument. The elements of an array are strings.
func (a Argument) Type() string {
	return map[reflect.Kind]string{
		reflect.Pointer: "number",
		reflect.Slice:   "array",
		reflect.Bool:    "boolean",
		reflect.String:  "string",
	}[a.field.Type.Kind()]
}

// Schema returns the JSON schema of the argument, for models. It has only the keywords below,
// because some clients refuse others.
func (a Argument) Schema(d Defaults) (schema []byte) {
	set := func(keyword, value string) {
		if value != "" {
			schema, _ = sjson.SetRawBytes(schema, keyword, []byte(value)) // the paths are valid
		}
	}

	set("type", strconv.Quote(a.Type()))
	if a.Type() == "array" {
		set("items", `{"type":"string"}`)
	}
	set("description", strconv.Quote(a.field.Tag.Get("doc")))
	set("minimum", a.field.Tag.Get("min"))
	set("maximum", a.field.Tag.Get("max"))
	defaults, _ := jsonx.Marshal(d) // numbers of the configuration are finite
	set("default", gjson.GetBytes(defaults, a.Name).Raw)
	return schema
}

// Flag returns the name and the usage of the flag of ask, with the name of its value in backquotes.
func (a Argument) Flag() (name, usage string) {
	name = strings.ReplaceAll(a.Name, "_", "-")
	return name, strings.ReplaceAll(a.field.Tag.Get("flag"), "'", "`")
}
