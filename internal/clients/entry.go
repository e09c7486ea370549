package clients

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
)

// Snippet is a whole configuration file that has s as its only server.
func (c Client) Snippet(s Server) string {
	entry := c.entry(s)
	if c.whole {
		return entry
	}

	values := strings.NewReplacer("$ENTRY", entry, "$INPUTS", inputs(s))
	file := values.Replace(cmp.Or(c.content, mcpServers))
	var b bytes.Buffer
	_ = json.Indent(&b, []byte(file), "", "  ") // the templates are valid JSON
	return b.String() + "\n"
}

// entry is the entry of s: JSON, or the whole file.
func (c Client) entry(s Server) string {
	line := s.command()
	env := map[string]string{}
	for _, v := range s.secrets() {
		env[v] = c.refer(v)
	}

	values := strings.NewReplacer(
		"$PROGRAM", encode(line[0]),
		"$ARGUMENTS", list(line[1:]),
		"$COMMAND", list(line),
		"$ENV", encode(env),
		"$NAMES", list(s.secrets()),
		"$URL", encode(s.URL),
		"$ADDRESS", s.URL,
		"$TOKEN", c.refer(tokenEnv),
		"$SECONDS", fmt.Sprint(s.callLimit()),
	)

	auth := ""
	if s.sendsToken() {
		auth = cmp.Or(c.auth, headers)
	}
	template := strings.Replace(s.choose(c.local, c.remote), "$AUTH", auth, 1)
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
	return strings.Replace(cmp.Or(c.reference, "YOUR_%s"), "%s", v, 1)
}

// inputs are the values that VS Code asks for, the secrets, as a JSON array.
func inputs(s Server) string {
	all := []map[string]any{}
	for _, v := range s.secrets() {
		all = append(all, map[string]any{
			"description": v,
			"id":          v,
			"password":    true,
			"type":        "promptString",
		})
	}
	return encode(all)
}

// Command is the client's own command that adds the server, quoted for the shell of s.OS (on
// Windows, the Command Prompt), or "" when there is none. omits is what its entry lacks, or "".
func (c Client) Command(s Server) (command, omits string) {
	words := c.words(s)
	for i, w := range words {
		words[i] = shellWord(w, s.OS)
	}
	return strings.Join(words, " "), s.choose(c.omits, "")
}

// words are the words of Command before they are quoted.
func (c Client) words(s Server) []string {
	line := s.command()
	var env []string
	for _, v := range s.secrets() {
		env = append(env, "--env", v+"="+c.refer(v))
	}
	values := map[string][]string{
		"$PROGRAM":   line[:1],
		"$ARGUMENTS": line[1:],
		"$ENV":       env,
		"$URL":       {s.URL},
		"$HEADER":    nil,
		"$BEARER":    nil,
	}
	if s.sendsToken() {
		values["$HEADER"] = []string{"--header", "Authorization: Bearer " + c.refer(tokenEnv)}
		values["$BEARER"] = []string{"--bearer-token-env-var", tokenEnv}
	}

	var words []string
	for w := range strings.FieldsSeq(s.choose(c.add, c.addRemote)) {
		value, ok := values[w]
		switch {
		case w == "$JSON":
			words = append(words, c.named(s))
		case ok:
			words = append(words, value...)
		default:
			words = append(words, w)
		}
	}
	return words
}

// named is an entry with its name and its inputs in one JSON object, as VS Code takes it.
func (c Client) named(s Server) string {
	entry := c.entry(s)
	members := entry[1 : len(entry)-1]
	return compact(`{"name": "` + name + `", ` + members + `, "inputs": ` + inputs(s) + `}`)
}

// Link is a URL that adds the server when it is opened, or "".
func (c Client) Link(s Server) string {
	if c.link == "" {
		return ""
	}
	entry := base64.StdEncoding.EncodeToString([]byte(compact(c.entry(s))))
	values := strings.NewReplacer("$BASE64", escape(entry), "$JSON", escape(c.named(s)))
	return values.Replace(c.link)
}

// escape quotes text for the query of a URL, as encodeURIComponent of JavaScript does.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// shellWord quotes a word of a command line where that is needed.
func shellWord(w, goos string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	switch {
	case w != "" && strings.Trim(w, plain) == "":
		return w
	case goos == "windows":
		return `"` + strings.ReplaceAll(w, `"`, `\"`) + `"`
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Notes are what a user has to know about the snippet. Each is a line.
func (c Client) Notes(s Server) []string {
	values := strings.NewReplacer(
		"$CLIENT", c.Name,
		"$VARS", strings.Join(s.secrets(), ", "),
		"$MILLISECONDS", fmt.Sprint(s.callLimit()*1000),
		"$SECONDS", fmt.Sprint(s.callLimit()),
	)

	notes := s.pick(c.notes)
	for i, note := range notes {
		notes[i] = values.Replace(note)
	}
	return notes
}

// encode returns v as JSON.
func encode(v any) string {
	b, _ := jsonx.Marshal(v) // the values here cannot fail
	return string(b)
}

// list returns words as an array of JSON, or of TOML, with a blank after each comma.
func list(words []string) string { return strings.ReplaceAll(encode(words), `","`, `", "`) }

// compact returns JSON without blanks between values, or "" if it is not JSON.
func compact(text string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return ""
	}
	return b.String()
}
