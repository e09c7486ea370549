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

// Parts of an entry, as templates.
const (
	env   = `, "env": $VALUES` // the usual one that passes variables on
	shell = `, "env": $SETS`   // of a client that inherits the key
)

// input is a secret that VS Code asks for.
const input = `{"description": %[1]q, "id": %[1]q, "password": true, "type": "promptString"}`

// Snippet is a whole configuration file that has s as its only server.
func (c Client) Snippet(s Server) string {
	if c.Content == "" {
		return c.entry(s)
	}

	var b bytes.Buffer
	_ = json.Indent(&b, []byte(c.fill(c.Content, s)), "", "  ") // the templates are valid JSON
	return b.String() + "\n"
}

// entry is the entry of s: JSON, or the whole file.
func (c Client) entry(s Server) string {
	return c.fill("$ENTRY", s)
}

// named is an entry with its name and its inputs in one JSON object, as VS Code takes it.
func (c Client) named(s Server) string {
	entry := strings.TrimPrefix(c.entry(s), "{")
	return unspecial.Replace(c.fill(`{"name": "$NAME", "inputs": $INPUTS, `, s) + entry)
}

// Notes are what a user has to know about the snippet. Each is a line.
func (c Client) Notes(s Server) (lines []string) {
	for _, n := range c.Hints {
		if s.has(n.When) {
			lines = append(lines, c.fill(n.Text, s))
		}
	}
	return lines
}

// fill replaces the words of a template. An entry and two of its parts are templates, too.
func (c Client) fill(template string, s Server) string {
	template = text.Expand(template, map[string]string{
		"ENTRY": s.choose(c.Local, c.Remote),
	})
	template = text.Expand(template, map[string]string{
		"ENV":   c.env(s),
		"SHELL": s.when("sets", shell),

		"REQUIRED": s.when("download", "\nrequired = true"),
		"AUTH":     s.when("token", c.Auth),
	})
	return text.Expand(template, c.values(s))
}

// env is the part of Local that passes variables on, a template: those of the key, and those with
// values where the part has these, too.
func (c Client) env(s Server) string {
	part := cmp.Or(c.Env, env)
	if s.has("sets") && strings.Contains(part, "$VALUES") {
		return part
	}
	return s.when("key", part)
}

// sets are the variables with values in an entry.
func (c Client) sets(s Server) map[string]string {
	all := map[string]string{}
	maps.Copy(all, c.Sets)
	maps.Copy(all, s.Sets)
	return all
}

// values are what the other words stand for.
func (c Client) values(s Server) map[string]string {
	line := s.command(c)
	secrets := s.secrets()
	sets := c.sets(s)
	references := maps.Clone(sets)
	var lines []string // of TOML
	for _, v := range slices.Sorted(maps.Keys(sets)) {
		lines = append(lines, "env."+v+" = "+encode(sets[v]))
	}
	var inputs []string // which VS Code asks for
	for _, v := range secrets {
		references[v] = c.refer(v)
		inputs = append(inputs, fmt.Sprintf(input, v))
	}

	return map[string]string{
		"$":            "$", // $$
		"PROGRAM":      encode(line[0]),
		"ARGUMENTS":    encode(line[1:]),
		"COMMAND":      encode(line),
		"VALUES":       encode(references),
		"INPUTS":       "[" + strings.Join(inputs, ", ") + "]",
		"NAMES":        encode(secrets),
		"NAME":         name,
		"URL":          encode(s.URL),
		"ADDRESS":      s.URL,
		"SETS":         encode(sets),
		"LINES":        strings.Join(lines, "\n"),
		"PACKAGE":      pinned,
		"IMAGE":        image,
		"TOKEN":        c.refer(tokenEnv),
		"CLIENT":       c.Name,
		"VARS":         strings.Join(secrets, ", "),
		"MILLISECONDS": fmt.Sprint(s.callLimit() * 1000),
		"SECONDS":      fmt.Sprint(s.callLimit()),
	}
}

// choose returns local when the client starts the server, and remote otherwise.
func (s Server) choose(local, remote string) string {
	if s.Via == ViaHTTP {
		return remote
	}
	return local
}

// when returns a part of a template if a condition holds, and else nothing.
func (s Server) when(condition, part string) string {
	if s.has(condition) {
		return part
	}
	return ""
}

// refer is how the client's file refers to a variable.
func (c Client) refer(v string) string {
	return strings.Replace(c.Reference, "%s", v, 1)
}

// unspecial writes what is special for the Command Prompt as escapes of JSON. It cannot be quoted:
// the Command Prompt ends quotes at each quote of the JSON.
var unspecial = strings.NewReplacer(
	"&", `\u0026`, "|", `\u007c`, "^", `\u005e`, "%", `\u0025`, "<", `\u003c`, ">", `\u003e`)

// Command is the client's own command that adds the server, quoted for the shell of s.OS (on
// Windows, the Command Prompt), or "" when there is none. omits is what its entry lacks, or "".
func (c Client) Command(s Server) (command, omits string) {
	line := s.command(c)
	var passed []string
	for _, v := range s.secrets() {
		passed = append(passed, "--env", v+"="+c.refer(v))
	}
	var header, bearer, shell []string
	for _, v := range slices.Sorted(maps.Keys(s.Sets)) {
		shell = append(shell, "--env", v+"="+s.Sets[v])
	}
	passed = append(passed, shell...)
	if s.sendsToken() {
		header = []string{"--header", "Authorization: Bearer " + c.refer(tokenEnv)}
		bearer = []string{"--bearer-token-env-var", tokenEnv}
	}
	values := map[string][]string{
		"$NAME":      {name},
		"$PROGRAM":   line[:1],
		"$ARGUMENTS": line[1:],
		"$ENV":       passed,
		"$SHELL":     shell,
		"$URL":       {s.URL},
		"$HEADER":    header,
		"$BEARER":    bearer,
		"$JSON":      {c.named(s)},
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
	omits = s.when("stdio", c.Omits)
	takes := c.Add == "" || strings.Contains(c.Add, "$ENV") || strings.Contains(c.Add, "$JSON")
	if s.has("sets") && omits == "" && !takes {
		omits = "variables"
	}
	return strings.Join(quoted, " "), omits
}

// Link is a URL that adds the server when it is opened, or "".
func (c Client) Link(s Server) string {
	entry := base64.StdEncoding.EncodeToString([]byte(c.entry(s)))
	return text.Expand(c.Install, map[string]string{
		"NAME":   name,
		"BASE64": escape(entry),
		"JSON":   escape(c.named(s)),
	})
}

// escape quotes s for the query of a URL, as encodeURIComponent of JavaScript does.
func escape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

// backslashes matches those that count as such for programs of Windows: others are ordinary.
var backslashes = text.Regexp(`(\\*)"`)

// ShellWord quotes a word of a command line where that is needed.
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

// encode returns v as JSON.
func encode(v any) string {
	b, _ := jsonx.Marshal(v) // the values here cannot fail
	return string(b)
}
