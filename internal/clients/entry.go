package clients

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
)

// env is the usual part of an entry that passes variables on, as a template.
const env = `, "env": $VALUES`

// input is a secret that VS Code asks for.
const input = `{"description": %[1]q, "id": %[1]q, "password": true, "type": "promptString"}`

// Snippet is a whole configuration file that has s as its only server.
func (c Client) Snippet(s Server) string {
	if c.Content == "" {
		return c.entry(s)
	}

	file := c.fill(strings.Replace(c.Content, "$ENTRY", c.template(s), 1), s)
	var b bytes.Buffer
	_ = json.Indent(&b, []byte(file), "", "  ") // the templates are valid JSON
	return b.String() + "\n"
}

// entry is the entry of s: JSON, or the whole file.
func (c Client) entry(s Server) string {
	return c.fill(c.template(s), s)
}

// named is an entry with its name and its inputs in one JSON object, as VS Code takes it.
func (c Client) named(s Server) string {
	const more = `{"name": "$NAME", "inputs": $INPUTS, `
	template := strings.Replace(c.template(s), "{", more, 1)
	return unspecial.Replace(c.fill(template, s))
}

// template is the template of an entry, with the parts that it has for s.
func (c Client) template(s Server) string {
	parts := strings.NewReplacer(
		"$AUTH", s.when("token", c.Auth),
		"$ENV", s.when("key", cmp.Or(c.Env, env)),
	)
	return parts.Replace(s.choose(c.Local, c.Remote))
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

// fill replaces the words of a template.
func (c Client) fill(template string, s Server) string {
	line := s.command(c)
	secrets := s.secrets()
	references := map[string]string{}
	maps.Copy(references, c.Sets)
	var inputs []string // which VS Code asks for
	for _, v := range secrets {
		references[v] = c.refer(v)
		inputs = append(inputs, fmt.Sprintf(input, v))
	}

	values := strings.NewReplacer(
		"$PROGRAM", encode(line[0]),
		"$ARGUMENTS", encode(line[1:]),
		"$COMMAND", encode(line),
		"$VALUES", encode(references),
		"$INPUTS", "["+strings.Join(inputs, ", ")+"]",
		"$NAMES", encode(secrets), // before $NAME, which it begins with
		"$NAME", name,
		"$URL", encode(s.URL),
		"$ADDRESS", s.URL,
		"$SETS", encode(c.Sets),
		"$PACKAGE", pinned,
		"$IMAGE", image,
		"$TOKEN", c.refer(tokenEnv),
		"$CLIENT", c.Name,
		"$VARS", strings.Join(secrets, ", "),
		"$MILLISECONDS", fmt.Sprint(s.callLimit()*1000),
		"$SECONDS", fmt.Sprint(s.callLimit()),
	)
	return values.Replace(template)
}

// choose returns local when the client starts the server, and remote otherwise.
func (s Server) choose(local, remote string) string {
	if s.Via == ViaHTTP {
		return remote
	}
	return local
}

// when returns a part of a template that is there on a condition, see has.
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

// unspecial writes what is special for the Command Prompt as escapes of JSON. It cannot be quoted: the
// Command Prompt ends quotes at each quote of the JSON.
var unspecial = strings.NewReplacer(
	"&", `\u0026`, "|", `\u007c`, "^", `\u005e`, "%", `\u0025`, "<", `\u003c`, ">", `\u003e`)

// Command is the client's own command that adds the server, quoted for the shell of s.OS (on
// Windows, the Command Prompt), or "" when there is none. omits is what its entry lacks, or "".
func (c Client) Command(s Server) (command, omits string) {
	quote := func(words ...string) (quoted string) {
		for _, word := range words {
			quoted += " " + ShellWord(word, s.OS)
		}
		return quoted
	}
	line := s.command(c)
	var passed []string
	for _, v := range s.secrets() {
		passed = append(passed, "--env", v+"="+c.refer(v))
	}
	header := "Authorization: Bearer " + c.refer(tokenEnv)

	values := strings.NewReplacer(
		"$NAME", name,
		" $PROGRAM", quote(line[0]),
		" $ARGUMENTS", quote(line[1:]...),
		" $ENV", quote(passed...),
		" $URL", quote(s.URL),
		" $HEADER", s.when("token", quote("--header", header)),
		" $BEARER", s.when("token", quote("--bearer-token-env-var", tokenEnv)),
		" $JSON", quote(c.named(s)),
	)
	return values.Replace(s.choose(c.Add, c.AddRemote)), s.when("stdio", c.Omits)
}

// Link is a URL that adds the server when it is opened, or "".
func (c Client) Link(s Server) string {
	entry := base64.StdEncoding.EncodeToString([]byte(c.entry(s)))
	values := strings.NewReplacer(
		"$NAME", name,
		"$BASE64", escape(entry),
		"$JSON", escape(c.named(s)),
	)
	return values.Replace(c.Install)
}

// escape quotes text for the query of a URL, as encodeURIComponent of JavaScript does.
func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// backslashes matches those that count as such for programs of Windows: others are ordinary.
var backslashes = regexp.MustCompile(`(\\*)"`)

// ShellWord quotes a word of a command line where that is needed.
func ShellWord(w, goos string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	switch {
	case w != "" && strings.Trim(w, safe) == "":
		return w
	case goos == "windows":
		quoted := backslashes.ReplaceAllString(w+`"`, `$1$1\"`)
		return `"` + strings.TrimSuffix(quoted, `\"`) + `"`
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// encode returns v as JSON.
func encode(v any) string {
	b, _ := jsonx.Marshal(v) // the values here cannot fail
	return string(b)
}
