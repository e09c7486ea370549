// Package command has the commands:
//
//	cli       the commands with their flags and exit codes
//	doctor    the checks of doctor
//	smoke     the session of smoke
//	clients   the configuration of MCP clients, for setup
//	terminal  what ask and doctor show in a terminal
//
// It may import all other layers, and only cmd imports it. Begin with cli/cli.go. serve.go and
// stdio.go beside it build the two kinds of server.
package command
