// Package clients describes the MCP clients for which setup prints a configuration: the file that
// each client reads, the form of its entry for a server, how it passes a secret on without storing
// it, and its own command or link that adds a server.
//
//	clients.yaml  the table of the clients
//	clients.go    Client, and how a client is found
//	server.go     Server: how a client starts or reaches the server
//	entry.go      the file, command, link and notes for a client and a server
package clients

import (
	"bytes"
	"cmp"
	_ "embed"
	"maps"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// Client is a row of clients.yaml, an MCP client. Its templates contain words such as $PROGRAM,
// which Client.fill replaces by values of a Server; $$ is a dollar sign.
type Client struct {
	ID        string // argument of setup, such as claude-code
	Name      string // such as Claude Code
	WhyNoHTTP string `yaml:"no_http"` // why the client has no entry for a server over HTTP, or ""

	Alias     string            // another name that users type, or ""
	Path      string            // path of the client's file
	Paths     map[string]string // paths of the file on systems (GOOS) where it is not Path
	Place     string            // where a user enters the snippet if the client has no file, or ""
	Reference string            // how an entry refers to a variable; %s stands for its name

	Content string // template of a JSON file that contains $ENTRY; "": the entry is the whole file
	Local   string // template of an entry that starts a program; "": the client starts none
	Env     string // template of the part of Local that passes variables on; "": envPart
	Remote  string // template of an entry for a server over HTTP
	Auth    string // template of the part of Remote that sends a token

	// FixedVariables are variables of the server with fixed values, such as ANSWER_WITHIN_MS.
	FixedVariables map[string]string `yaml:"sets"`

	// ClientInfoName is the name that the client sends in clientInfo. A server on stdio then
	// applies FixedVariables even if its entry does not set these variables. It is "" if the name
	// is not known or not needed.
	ClientInfoName string `yaml:"info"`

	Add         string // template of the client's own command for Local, or ""
	AddRemote   string `yaml:"add_remote"` // template of the client's own command for Remote, or ""
	Omits       string // what Add leaves out of the entry, or ""
	OmitsRemote string `yaml:"omits_remote"` // what AddRemote leaves out of the entry, or ""
	Install     string // template of a URL that adds the server when it is opened, or ""
	SignInSteps string `yaml:"sign_in"` // how a user signs in with OAuth; "": see SignInText
	Check       string // how a user sees that the client has the tools; "": in its list of servers
	Hints       []note // what a user has to know; templates
}

//go:embed clients.yaml
var table []byte

// All returns the clients in the order of the documentation.
func All() []Client { return load().Clients }

// load returns what is in clients.yaml. It takes milliseconds, once.
var load = sync.OnceValue(func() (file struct {
	Clients []Client
	Server  []note // hints about the ways to the server (Server.Via)
}) {
	_ = yaml.Unmarshal(table, &file)
	return file
})

// FixedVariablesOf returns a copy of the FixedVariables of the client with this name in clientInfo,
// or nil. It loads the table, which would delay the start of the server, only if the table contains
// the name.
func FixedVariablesOf(name string) map[string]string {
	if !bytes.Contains(table, []byte("\n  info: "+name+"\n")) {
		return nil
	}
	for _, c := range All() {
		if c.ClientInfoName == name {
			return maps.Clone(c.FixedVariables)
		}
	}
	return nil
}

// IsWebsite reports whether the client is a website: it starts no program, and connects to servers
// from the internet.
func (c Client) IsWebsite() bool { return c.Local == "" }

// Find looks up a client by id, name or alias, ignoring case.
func Find(s string) (Client, bool) {
	matches := func(name string) bool {
		return s != "" && strings.EqualFold(s, name)
	}
	for _, c := range All() {
		if matches(c.ID) || matches(c.Name) || matches(c.Alias) {
			return c, true
		}
	}
	return Client{}, false
}

// Where returns a sentence about where the snippet belongs on a system (GOOS).
func (c Client) Where(goos string) string {
	if c.Place != "" {
		return "Enter this in " + c.Place + "."
	}
	return "Add this to " + c.File(goos) + ", beside any entries that are there."
}

// SignInText returns how a user signs in to a server with OAuth.
func (c Client) SignInText() string {
	const usual = "the client opens the page when it connects; if not, look for a button in its " +
		"list of MCP servers"
	return c.fill(cmp.Or(c.SignInSteps, usual), Server{})
}

// FirstQuestion makes the agent of any client use the server.
const FirstQuestion = "Use " + entryName + ": what changed in the latest release of Go?"

// CheckText returns how a user sees that the client has the tools.
func (c Client) CheckText() string {
	return c.fill(cmp.Or(c.Check, "$NAME is in the list of MCP servers of $CLIENT"), Server{})
}

// File returns the path of the client's file on a system (GOOS), or Place for a client without one.
func (c Client) File(goos string) string {
	return cmp.Or(c.Place, c.Paths[goos], c.Path)
}
