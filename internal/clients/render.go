package clients

import (
	"fmt"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// placeholder stands for the value of a variable where a client cannot refer
// to one: YOUR_OPENAI_API_KEY.
func placeholder(variable string) string { return "YOUR_" + variable }

// process is the entry of most clients.
type process struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout int64             `json:"timeout,omitempty"`
}

// process is s with the key given as value says.
func (s Server) process(value func(variable string) string) process {
	line := s.command()
	return process{Command: line[0], Args: line[1:], Env: s.values(value)}
}

// servers is the file of the clients that follow Claude Desktop.
func servers(p process) string {
	return document(map[string]any{"mcpServers": map[string]process{name: p}})
}

// braces and env are how clients refer to a variable.
func braces(variable string) string { return "${" + variable + "}" }
func env(variable string) string    { return "${env:" + variable + "}" }

// claudeCode: ${VAR} in .mcp.json and ~/.claude.json.
func claudeCode(s Server) string { return servers(s.process(braces)) }

// claudeDesktop expands nothing and inherits nothing that a shell has set.
func claudeDesktop(s Server) string { return servers(s.process(placeholder)) }

func cursor(s Server) string { return servers(s.process(env)) }

func windsurf(s Server) string { return servers(s.process(env)) }

// gemini: $VAR or ${VAR}; the braces end the name whatever follows.
func gemini(s Server) string { return servers(s.process(braces)) }

// vsCode asks for the key and keeps it: a file that others see has none.
func vsCode(s Server) string {
	type input struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		Description string `json:"description"`
		Password    bool   `json:"password"`
	}
	id := func(variable string) string { return strings.ReplaceAll(strings.ToLower(variable), "_", "-") }
	p := s.process(func(variable string) string { return "${input:" + id(variable) + "}" })
	p.Type = "stdio"
	var inputs []input
	for _, v := range s.secrets() {
		what := "OpenAI API key"
		if v != "OPENAI_API_KEY" {
			what = v
		}
		inputs = append(inputs, input{"promptString", id(v), what, true})
	}
	return document(struct {
		Inputs  []input            `json:"inputs"`
		Servers map[string]process `json:"servers"`
	}{
		inputs,
		map[string]process{name: p},
	})
}

// opencode takes the command as one list. This is the form of opencode 1, which
// opencode 2 reads too; its own (mcp.servers) is unknown to 1.
func opencode(s Server) string {
	type local struct {
		Type        string            `json:"type"`
		Command     []string          `json:"command"`
		Enabled     bool              `json:"enabled"`
		Environment map[string]string `json:"environment"`
	}
	return document(struct {
		Schema string           `json:"$schema"`
		MCP    map[string]local `json:"mcp"`
	}{
		"https://opencode.ai/config.json",
		map[string]local{name: {"local", s.command(), true, s.values(func(v string) string { return "{env:" + v + "}" })}},
	})
}

// zed expands nothing, but its servers inherit its environment: an entry
// without the key is one that has it by reference.
func zed(s Server) string {
	p := s.process(placeholder)
	p.Env = nil
	p.Timeout = s.callLimit() // seconds; Zed's own is 60
	return document(map[string]any{"context_servers": map[string]process{name: p}})
}

// codex starts servers with an empty environment; env_vars are the exceptions.
func codex(s Server) string {
	line := s.command()
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp_servers.%s]\n", name)
	fmt.Fprintf(&b, "command = %s\n", quote(line[0]))
	fmt.Fprintf(&b, "args = [%s]\n", quoted(line[1:]))
	fmt.Fprintf(&b, "env_vars = [%s]\n", quoted(s.secrets()))
	fmt.Fprintf(&b, "startup_timeout_sec = %d\n", startLimit/time.Second)
	fmt.Fprintf(&b, "tool_timeout_sec = %d\n", s.callLimit())
	return b.String()
}

// quoted writes the elements of a list of strings.
func quoted(list []string) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(s))
	}
	return b.String()
}

// quote writes a basic string of TOML, which is a JSON string but for DEL.
func quote(s string) string {
	return strings.ReplaceAll(encode(s, ""), "\x7f", `\u007f`)
}

// document writes v as a JSON file for people.
func document(v any) string { return encode(v, "  ") + "\n" }

func encode(v any, indent string) string {
	b, _ := unescaped.Indented(v, indent) // strings, numbers and maps of them always can be
	return string(b)
}
