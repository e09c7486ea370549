package clients

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Templates of parts of an entry.
const (
	envPart   = `, "env": $VALUES` // the default of Client.Env
	shellPart = `, "env": $SETS`   // for a client that inherits the key: only variables with values
)

// inputFormat is the format of a secret that VS Code asks for.
const inputFormat = `{"description": %[1]q, "id": %[1]q, "password": true, "type": "promptString"}`

// Snippet returns a whole configuration file of the client with s as its only server.
func (c Client) Snippet(s Server) string {
	if c.Content == "" {
		return c.entry(s)
	}

	var b bytes.Buffer
	_ = json.Indent(&b, []byte(c.fill(c.Content, s)), "", "  ") // the templates are valid JSON
	return b.String() + "\n"
}

// entry returns the entry for s: JSON, or the whole file if Content is "".
func (c Client) entry(s Server) string {
	return c.fill("$ENTRY", s)
}

// namedEntry returns an entry with its name and its inputs in one JSON object, as VS Code takes it.
func (c Client) namedEntry(s Server) string {
	entry := strings.TrimPrefix(c.entry(s), "{")
	return escapeSpecial.Replace(c.fill(`{"name": "$NAME", "inputs": $INPUTS, `, s) + entry)
}

// Notes returns what a user has to know about the snippet, one line each.
func (c Client) Notes(s Server) (lines []string) {
	var leftOut []string
	if s.Via != ViaHTTP { // else the entry has no variables
		leftOut = c.leftOut(s)
	}
	for _, n := range c.Hints {
		isAbout := func(variable string) bool { return strings.Contains(n.Text, variable) }
		if s.has(n.When) && !slices.ContainsFunc(leftOut, isAbout) {
			lines = append(lines, c.fill(n.Text, s))
		}
	}
	for _, v := range leftOut {
		lines = append(lines, fmt.Sprintf("The configuration has a setting for %s, which counts. "+
			"What %s needs is %[1]s=%[3]s.", v, c.Name, c.FixedVariables[v]))
	}
	return lines
}

// leftOut returns the variables of the client that an entry does not set. A setting of the file wins
// over a value of the client, but not over an empty one, which is for a variable that the client
// would pass on.
func (c Client) leftOut(s Server) (variables []string) {
	for _, v := range slices.Sorted(maps.Keys(c.FixedVariables)) {
		if c.FixedVariables[v] != "" && slices.Contains(s.FileVariables, v) {
			variables = append(variables, v)
		}
	}
	return variables
}

// fill replaces the words of a template in three steps: $ENTRY becomes a template, its parts such
// as $ENV become templates, too, and all other words become values.
func (c Client) fill(template string, s Server) string {
	template = text.Expand(template, map[string]string{
		"ENTRY": s.choose(c.Local, c.Remote),
	})
	template = text.Expand(template, map[string]string{
		"ENV":   c.env(s),
		"SHELL": s.when("sets", shellPart),

		"REQUIRED": s.when("download", "\nrequired = true"),
		"AUTH":     s.when("token", c.Auth),
	})
	return text.Expand(template, c.values(s))
}

// env returns the template of the part of Local that passes on the variables of the key and, if it
// contains $VALUES, the variables of the shell. It is "" if there are no such variables.
func (c Client) env(s Server) string {
	part := cmp.Or(c.Env, envPart)
	if s.has("sets") && strings.Contains(part, "$VALUES") {
		return part
	}
	return s.when("key", part)
}

// variables returns the variables with values of an entry: those of the client without leftOut, and
// those of s.
func (c Client) variables(s Server) map[string]string {
	all := map[string]string{}
	maps.Copy(all, c.FixedVariables)
	for _, v := range c.leftOut(s) {
		delete(all, v)
	}
	maps.Copy(all, s.ShellVariables)
	return all
}

// environment returns all variables that an entry passes on: those with values, and for each secret
// how the file refers to it.
func (c Client) environment(s Server) map[string]string {
	all := c.variables(s)
	for _, v := range s.secretVariables() {
		all[v] = c.refer(v)
	}
	return all
}

// values returns the values of the words that stand for no template.
func (c Client) values(s Server) map[string]string {
	line := s.command(c)
	secretVariables := s.secretVariables()
	sets := c.variables(s)
	var lines []string // lines of TOML
	for _, v := range slices.Sorted(maps.Keys(sets)) {
		lines = append(lines, "env."+v+" = "+toJSON(sets[v]))
	}
	var inputs []string // secrets that VS Code asks for
	for _, v := range secretVariables {
		inputs = append(inputs, fmt.Sprintf(inputFormat, v))
	}

	return map[string]string{
		"$":            "$", // $$
		"PROGRAM":      toJSON(line[0]),
		"ARGUMENTS":    toJSON(line[1:]),
		"COMMAND":      toJSON(line),
		"VALUES":       toJSON(c.environment(s)),
		"INPUTS":       "[" + strings.Join(inputs, ", ") + "]",
		"NAMES":        toJSON(secretVariables),
		"NAME":         entryName,
		"URL":          toJSON(s.URL),
		"ADDRESS":      s.URL,
		"SETS":         toJSON(sets),
		"LINES":        strings.Join(lines, "\n"),
		"PACKAGE":      pinned,
		"IMAGE":        image,
		"TOKEN":        c.refer(tokenEnv),
		"CLIENT":       c.Name,
		"VARS":         strings.Join(secretVariables, ", "),
		"KEYFILE":      s.keyFileVariable(),
		"MILLISECONDS": fmt.Sprint(s.waitSeconds() * 1000),
		"SECONDS":      fmt.Sprint(s.waitSeconds()),
	}
}

// choose returns local if the client starts the server, and remote otherwise.
func (s Server) choose(local, remote string) string {
	if s.Via == ViaHTTP {
		return remote
	}
	return local
}

// when returns a part of a template if a condition holds (has), and "" otherwise.
func (s Server) when(condition, part string) string {
	if s.has(condition) {
		return part
	}
	return ""
}

// refer returns how the client's file refers to a variable.
func (c Client) refer(v string) string {
	return strings.Replace(c.Reference, "%s", v, 1)
}

// escapeSpecial replaces characters that are special in the Command Prompt of Windows by escapes of
// JSON. They cannot be quoted: each quote of the JSON would end the quoting.
var escapeSpecial = strings.NewReplacer(
	"&", `\u0026`, "|", `\u007c`, "^", `\u005e`, "%", `\u0025`, "<", `\u003c`, ">", `\u003e`)

// Command returns the client's own command that adds the server, quoted for the shell of s.OS (on
// Windows the Command Prompt), or "" if there is none. omits is what the entry that the command
// writes lacks, or "".
func (c Client) Command(s Server) (command, omits string) {
	line := s.command(c)
	var passed []string
	for _, v := range s.secretVariables() {
		passed = append(passed, "--env", v+"="+c.refer(v))
	}
	var header, bearer, sets []string
	variables := c.variables(s)
	for _, v := range slices.Sorted(maps.Keys(variables)) {
		if variables[v] != "" {
			sets = append(sets, "--env", v+"="+variables[v])
		}
	}
	passed = append(passed, sets...)
	if s.sendsToken() {
		header = []string{"--header", "Authorization: Bearer " + c.refer(tokenEnv)}
		bearer = []string{"--bearer-token-env-var", tokenEnv}
	}
	values := map[string][]string{
		"$NAME":      {entryName},
		"$PROGRAM":   line[:1],
		"$ARGUMENTS": line[1:],
		"$ENV":       passed,
		"$SETS":      sets,
		"$URL":       {s.URL},
		"$HEADER":    header,
		"$BEARER":    bearer,
		"$JSON":      {c.namedEntry(s)},
	}

	var quoted []string
	for word := range strings.FieldsSeq(s.choose(c.Add, c.AddRemote)) {
		words, found := values[word]
		if !found {
			words = []string{word}
		}
		for _, w := range words {
			quoted = append(quoted, ShellWord(w, s.OS))
		}
	}
	omits = s.choose(c.Omits, c.OmitsRemote)
	takesVariables := c.Add == "" ||
		strings.Contains(c.Add, "$ENV") || strings.Contains(c.Add, "$JSON")
	if s.has("sets") && omits == "" && !takesVariables {
		omits = "variables"
	}
	return strings.Join(quoted, " "), omits
}

// Link returns a URL that adds the server when it is opened, or "".
func (c Client) Link(s Server) string {
	entry := base64.StdEncoding.EncodeToString([]byte(c.entry(s)))
	return text.Expand(c.Install, map[string]string{
		"NAME":   entryName,
		"BASE64": escapeQuery(entry),
		"JSON":   escapeQuery(c.namedEntry(s)),
	})
}

// escapeQuery quotes s for the query of a URL, as encodeURIComponent of JavaScript does.
func escapeQuery(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

// backslashes matches the backslashes before a quote, with the quote: only there programs of
// Windows take a backslash for an escape.
var backslashes = text.LazyRegexp(`(\\*)"`)

// ShellWord returns a word of a command line, quoted if needed, for the shell of a system (GOOS).
func ShellWord(w, goos string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	switch {
	case w != "" && strings.Trim(w, safe) == "":
		return w
	case goos == "windows":
		quoted := backslashes().ReplaceAllString(w+`"`, `$1$1\"`)
		return `"` + strings.TrimSuffix(quoted, `\"`) + `"`
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// toJSON returns v as JSON.
func toJSON(v any) string {
	b, _ := jsonx.Marshal(v) // no error: v consists of strings
	return string(b)
}
