package clients

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
)

// entry is a server in the JSON file of a client. No client has all members.
type entry struct {
	Type        string            `json:"type,omitempty"`
	Command     any               `json:"command,omitempty"` // a string; opencode: the whole command line
	Args        []string          `json:"args,omitempty"`
	URL         string            `json:"url,omitempty"`
	ServerURL   string            `json:"serverUrl,omitempty"` // Windsurf
	Headers     map[string]string `json:"headers,omitempty"`
	Enabled     bool              `json:"enabled,omitempty"` // opencode
	Env         map[string]string `json:"env,omitempty"`
	Tools       []string          `json:"tools,omitempty"`       // Copilot CLI
	Environment map[string]string `json:"environment,omitempty"` // opencode
	Timeout     int64             `json:"timeout,omitempty"`     // Zed; seconds
}

// Snippet is a whole configuration file that has s as its only server.
func (c Client) Snippet(s Server) string {
	if c.section == "" {
		return codexSnippet(s)
	}
	file := map[string]any{c.section: map[string]entry{name: c.entry(s)}}
	if c.asks {
		file["inputs"] = inputs(s)
	}
	return encode(file, "  ") + "\n"
}

func (c Client) entry(s Server) entry {
	e := entry{Type: s.choose(c.local, c.http)}
	if s.Via == ViaHTTP {
		e.URL, e.Headers = s.URL, map[string]string{"Authorization": "Bearer " + c.refer(tokenEnv)}
	} else {
		line := s.command()
		e.Command, e.Args, e.Env = line[0], line[1:], map[string]string{}
		for _, v := range s.secrets() {
			e.Env[v] = c.refer(v)
		}
	}
	if c.adjust != nil {
		c.adjust(&e, s)
	}
	return e
}

// refer is how the client's file refers to a variable.
func (c Client) refer(variable string) string {
	return strings.Replace(c.reference, "NAME", variable, 1)
}

// inputs are the values that VS Code asks for.
func inputs(s Server) (list []map[string]any) {
	for _, v := range s.secrets() {
		list = append(list, map[string]any{"type": "promptString", "id": v, "description": v, "password": true})
	}
	return list
}

// codexSnippet is the TOML table of Codex. Its strings are those of JSON.
func codexSnippet(s Server) string {
	list := func(words []string) string { return strings.ReplaceAll(encode(words, ""), `","`, `", "`) }
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp_servers.%s]\n", name)
	if s.Via == ViaHTTP {
		fmt.Fprintf(&b, "url = %s\nbearer_token_env_var = %q\n", encode(s.URL, ""), tokenEnv)
	} else {
		line := s.command()
		fmt.Fprintf(&b, "command = %s\nargs = %s\nenv_vars = %s\nstartup_timeout_sec = 60\n", encode(line[0], ""), list(line[1:]), list(s.secrets()))
	}
	fmt.Fprintf(&b, "tool_timeout_sec = %d\n", s.callLimit())
	return b.String()
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
func (c Client) words(s Server) (words []string) {
	line := s.command()
	values := map[string][]string{
		"URL":           {s.URL},
		"AUTHORIZATION": {"Authorization: Bearer " + c.refer(tokenEnv)},
		"PROGRAM":       line[:1],
		"ARGUMENTS":     line[1:],
		"JSON":          {c.named(s)},
	}
	for _, v := range s.secrets() {
		values["ENV"] = append(values["ENV"], "--env", v+"="+c.refer(v))
	}
	for w := range strings.FieldsSeq(s.choose(c.add, c.addHTTP)) {
		if value, ok := values[w]; ok {
			words = append(words, value...)
		} else {
			words = append(words, w)
		}
	}
	return words
}

// named is an entry with its name in one JSON object, as VS Code takes it.
func (c Client) named(s Server) string {
	return encode(struct {
		Name string `json:"name"`
		entry
		Inputs []map[string]any `json:"inputs"`
	}{name, c.entry(s), inputs(s)}, "")
}

// Link is a URL that adds the server when it is opened, or "".
func (c Client) Link(s Server) string {
	escape := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	config := base64.StdEncoding.EncodeToString([]byte(encode(c.entry(s), "")))
	return strings.NewReplacer("ENTRY", escape(config), "JSON", escape(c.named(s))).Replace(c.link)
}

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

// Notes are what a user has to know about the snippet: where the secret comes
// from, time limits, what else to do. Each is a line.
func (c Client) Notes(s Server) (notes []string) {
	r := strings.NewReplacer("$CLIENT", c.Name, "$VARS", strings.Join(s.secrets(), ", "), "$LIMIT_MS", fmt.Sprint(s.callLimit()*1000))
	for _, n := range c.notes {
		if !strings.HasPrefix(n, s.choose("http: ", "stdio: ")) {
			notes = append(notes, r.Replace(strings.TrimPrefix(n, s.choose("stdio: ", "http: "))))
		}
	}
	return notes
}

func encode(v any, indent string) string {
	b, _ := jsonx.MarshalIndent(v, indent) // the values here cannot fail
	return string(b)
}
