package clients

import (
	"fmt"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
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
	Environment map[string]string `json:"environment,omitempty"` // opencode
	Timeout     int64             `json:"timeout,omitempty"`     // Zed; seconds
}

// input is a value that VS Code asks for.
type input struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	Description string `json:"description"`
	Password    bool   `json:"password"`
}

// Snippet is a whole configuration file that has s as its only server.
func (c Client) Snippet(s Server) string {
	if c.section == "" {
		return codexSnippet(s)
	}
	file := map[string]any{c.section: map[string]entry{name: c.entry(s)}}
	if c.schema != "" {
		file["$schema"] = c.schema
	}
	if c.asks {
		file["inputs"] = c.inputs(s)
	}
	return encode(file, "  ") + "\n"
}

// Command is the client's own command that adds the server, quoted for the
// shell of s.OS (on Windows, the Command Prompt), or "" when there is none.
func (c Client) Command(s Server) string {
	if c.add == nil {
		return ""
	}
	words := c.add(c, s)
	for i, w := range words {
		words[i] = shellWord(w, s.OS)
	}
	return strings.Join(words, " ")
}

func (c Client) entry(s Server) entry {
	var e entry
	if s.Via == ViaHTTP {
		e.URL, e.Headers = s.URL, map[string]string{"Authorization": "Bearer " + c.refer(tokenEnv)}
	} else {
		line := s.command()
		e.Command, e.Args, e.Env = line[0], line[1:], c.values(s.secrets())
	}
	if c.adjust != nil {
		c.adjust(&e, s)
	}
	return e
}

// refer is how the client's file refers to a variable.
func (c Client) refer(variable string) string {
	if c.asks {
		variable = inputID(variable)
	}
	return strings.Replace(c.reference, "NAME", variable, 1)
}

// values gives each variable as the client's file refers to it.
func (c Client) values(variables []string) map[string]string {
	m := map[string]string{}
	for _, v := range variables {
		m[v] = c.refer(v)
	}
	return m
}

func (c Client) inputs(s Server) []input {
	var list []input
	for _, v := range s.secrets() {
		description := v
		if v == "OPENAI_API_KEY" {
			description = "OpenAI API key"
		}
		list = append(list, input{"promptString", inputID(v), description, true})
	}
	return list
}

func inputID(variable string) string {
	return strings.ReplaceAll(strings.ToLower(variable), "_", "-")
}

// codexSnippet is the TOML table of Codex.
func codexSnippet(s Server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp_servers.%s]\n", name)
	if s.Via == ViaHTTP {
		fmt.Fprintf(&b, "url = %s\nbearer_token_env_var = %s\n", quote(s.URL), quote(tokenEnv))
	} else {
		line := s.command()
		fmt.Fprintf(&b, "command = %s\nargs = %s\nenv_vars = %s\n", quote(line[0]), quoteList(line[1:]), quoteList(s.secrets()))
		fmt.Fprintf(&b, "startup_timeout_sec = %d\n", startLimit/time.Second)
	}
	fmt.Fprintf(&b, "tool_timeout_sec = %d\n", s.callLimit())
	return b.String()
}

// claudeAdd ends the options with --, as --env takes several values.
func claudeAdd(c Client, s Server) []string {
	line := []string{"claude", "mcp", "add", "--scope", "project"}
	if s.Via == ViaHTTP {
		return append(line, "--transport", "http", name, s.URL, "--header", "Authorization: Bearer "+c.refer(tokenEnv))
	}
	line = append(line, name)
	for _, v := range s.secrets() {
		line = append(line, "-e", v+"="+c.refer(v))
	}
	return append(append(line, "--"), s.command()...)
}

func codexAdd(_ Client, s Server) []string {
	line := []string{"codex", "mcp", "add", name}
	if s.Via == ViaHTTP {
		return append(line, "--url", s.URL, "--bearer-token-env-var", tokenEnv)
	}
	return append(append(line, "--"), s.command()...)
}

// geminiAdd puts -- behind the program: Gemini CLI takes -e in its arguments
// for an option of its own, and a -- in front of the program for the program.
func geminiAdd(c Client, s Server) []string {
	line := []string{"gemini", "mcp", "add", "--scope", "user"}
	if s.Via == ViaHTTP {
		return append(line, "--transport", "http", "--header", "Authorization: Bearer "+c.refer(tokenEnv), name, s.URL)
	}
	for _, v := range s.secrets() {
		line = append(line, "-e", v+"="+c.refer(v))
	}
	command := s.command()
	return append(append(line, name, command[0], "--"), command[1:]...)
}

func codeAdd(c Client, s Server) []string {
	return []string{"code", "--add-mcp", encode(struct {
		Name string `json:"name"`
		entry
		Inputs []input `json:"inputs"`
	}{name, c.entry(s), c.inputs(s)}, "")}
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

// quoteList writes an array of strings in TOML.
func quoteList(list []string) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = quote(s)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// quote writes a basic string of TOML, which is a JSON string except for DEL.
func quote(s string) string {
	return strings.ReplaceAll(encode(s, ""), "\x7f", `\u007f`)
}

func encode(v any, indent string) string {
	b, _ := unescaped.Indented(v, indent) // the values here cannot fail
	return string(b)
}
