package clients

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
)

// env is the usual part of an entry that passes variables on, as a template.
const env = `, "env": $VALUES`

// Snippet is a whole configuration file that has s as its only server.
func (c Client) Snippet(s Server) string {
	entry := c.entry(s)
	if c.Content == "" {
		return entry
	}

	values := strings.NewReplacer("$NAME", name, "$ENTRY", entry, "$INPUTS", inputs(s))
	file := values.Replace(c.Content)
	var b bytes.Buffer
	_ = json.Indent(&b, []byte(file), "", "  ") // the templates are valid JSON
	return b.String() + "\n"
}

// entry is the entry of s: JSON, or the whole file.
func (c Client) entry(s Server) string {
	auth := ""
	if s.sendsToken() {
		auth = c.Auth
	}
	passed := ""
	if s.has("key") {
		passed = cmp.Or(c.Env, env)
	}
	parts := strings.NewReplacer("$AUTH", auth, "$ENV", passed)
	return c.fill(parts.Replace(s.choose(c.Local, c.Remote)), s)
}

// Notes are what a user has to know about the snippet. Each is a line.
func (c Client) Notes(s Server) (lines []string) {
	for _, n := range c.Hints {
		if s.has(n.When) {
			words := strings.Fields(c.fill(n.Text, s))
			lines = append(lines, strings.Join(words, " "))
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
	for _, v := range secrets {
		references[v] = c.refer(v)
	}

	values := strings.NewReplacer(
		"$PROGRAM", encode(line[0]),
		"$ARGUMENTS", encode(line[1:]),
		"$COMMAND", encode(line),
		"$VALUES", encode(references),
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

// refer is how the client's file refers to a variable.
func (c Client) refer(v string) string {
	return strings.Replace(c.Reference, "%s", v, 1)
}

// inputs are the values that VS Code asks for, the secrets, as a JSON array.
func inputs(s Server) string {
	const form = `{"description": %[1]q, "id": %[1]q, "password": true, "type": "promptString"}`
	var all []string
	for _, v := range s.secrets() {
		all = append(all, fmt.Sprintf(form, v))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// unspecial writes what is special for the Command Prompt in other words of JSON. It cannot be quoted:
// the Command Prompt ends quotes at each quote of the JSON.
var unspecial = strings.NewReplacer(
	"&", `\u0026`, "|", `\u007c`, "^", `\u005e`, "%", `\u0025`, "<", `\u003c`, ">", `\u003e`)

// Command is the client's own command that adds the server, quoted for the shell of s.OS (on
// Windows, the Command Prompt), or "" when there is none. omits is what its entry lacks, or "".
func (c Client) Command(s Server) (command, omits string) {
	quote := func(words ...string) (quoted string) {
		for _, word := range words {
			quoted += " " + shellWord(word, s.OS)
		}
		return quoted
	}
	line := s.command(c)
	object := c.named(s)
	if s.OS == "windows" {
		object = unspecial.Replace(object)
	}
	var passed []string
	for _, v := range s.secrets() {
		passed = append(passed, "--env", v+"="+c.refer(v))
	}
	var header, bearer string
	if s.sendsToken() {
		header = quote("--header", "Authorization: Bearer "+c.refer(tokenEnv))
		bearer = quote("--bearer-token-env-var", tokenEnv)
	}

	values := strings.NewReplacer(
		"$NAME", name,
		" $PROGRAM", quote(line[0]),
		" $ARGUMENTS", quote(line[1:]...),
		" $ENV", quote(passed...),
		" $URL", quote(s.URL),
		" $HEADER", header,
		" $BEARER", bearer,
		" $JSON", quote(object),
	)
	return values.Replace(s.choose(c.Add, c.AddRemote)), s.choose(c.Omits, "")
}

// named is an entry with its name and its inputs in one JSON object, as VS Code takes it.
func (c Client) named(s Server) string {
	more := `{"name": "` + name + `", "inputs": ` + inputs(s) + `, `
	return strings.Replace(c.entry(s), "{", more, 1)
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

// shellWord quotes a word of a command line where that is needed.
func shellWord(w, goos string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	switch {
	case strings.Trim(w, safe) == "":
		return w
	case goos == "windows":
		return `"` + strings.ReplaceAll(w, `"`, `\"`) + `"`
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// encode returns v as JSON.
func encode(v any) string {
	b, _ := jsonx.Marshal(v) // the values here cannot fail
	return string(b)
}
