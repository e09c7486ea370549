// Package clients lists the MCP clients that setup prints a configuration for: the file each one
// reads, the form of an entry, how it passes a secret on without writing it down, and its own
// command or link that adds a server.
//
//	clients.go  a client, and how it is found
//	table.go    the clients, a row each
//	server.go   how a server is started or reached
//	entry.go    a client and a server as a file, a command, a link and notes
package clients

import (
	"cmp"
	"slices"
	"strings"
)

// Client is an MCP client. Its templates contain words such as $PROGRAM, which stand for values of
// a Server.
type Client struct {
	ID     string // the argument of setup, such as claude-code
	Name   string // such as Claude Code
	NoHTTP string // why the client has no entry for a server over HTTP, or ""

	alias       string // another name that users type, or ""
	path        string // path of the file, with slashes; File replaces ~ and DATA
	windowsPath string // path on Windows if it is another one, or ""
	place       string // where a user enters the snippet if the client has no file, or ""
	reference   string // how an entry refers to a variable; %s stands for its name; "": YOUR_%s

	whole   bool   // the entry is the whole file, which is not JSON
	content string // template of a JSON file, with $ENTRY in it; "": mcpServers
	local   string // template of an entry that starts a program; "": the client starts none
	env     string // template of the part of local that passes variables on; "": env
	remote  string // template of an entry for a server over HTTP
	auth    string // template of the part of remote that sends a token; "": headers

	add       string // template of the client's own command for local, or ""
	addRemote string // template of the client's own command for remote, or ""
	omits     string // what add leaves out of the entry, or ""
	link      string // template of a URL that adds the server when it is opened, or ""
	signIn    string // how a user signs in to a server with OAuth; "": as SignIn says
	notes     []note // what a user has to know; templates
}

// All returns the clients in the order of the documentation.
func All() []Client { return slices.Clone(table) }

// Web reports whether the client is a website. It starts no program, and connects to servers from
// the internet.
func (c Client) Web() bool { return c.local == "" }

// Find looks a client up by id, name or alias. Case makes no difference.
func Find(s string) (Client, bool) {
	isName := func(name string) bool { return s != "" && strings.EqualFold(s, name) }
	for _, c := range table {
		if isName(c.ID) || isName(c.Name) || isName(c.alias) {
			return c, true
		}
	}
	return Client{}, false
}

// Where says where the snippet belongs on a GOOS.
func (c Client) Where(goos string) string {
	if c.place != "" {
		return "Enter this in " + c.place + "."
	}
	const merge = "; if the file has other entries, merge this one into it."
	return c.Name + " reads " + c.File(goos) + merge
}

// SignIn says how a user signs in to a server with OAuth.
func (c Client) SignIn() string {
	const usual = "the client opens the page when it connects; if not, look for a button in its " +
		"list of MCP servers"
	return strings.Replace(cmp.Or(c.signIn, usual), "$NAME", name, 1)
}

// File returns the path of the client's file on a GOOS, or the place of the snippet. ~ stands for the
// home directory and DATA for the directory in which Electron applications keep their settings.
func (c Client) File(goos string) string {
	if c.place != "" {
		return c.place
	}
	switch goos {
	case "windows":
		folders := strings.NewReplacer("~", "%USERPROFILE%", "DATA", "%APPDATA%", "/", `\`)
		return folders.Replace(cmp.Or(c.windowsPath, c.path))
	case "darwin":
		return strings.Replace(c.path, "DATA", "~/Library/Application Support", 1)
	}
	return strings.Replace(c.path, "DATA", "~/.config", 1)
}
