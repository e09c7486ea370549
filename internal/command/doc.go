// Package command is what people type: cli has the commands, doctor and smoke the checks of two of
// them, clients the configuration of MCP clients for setup, terminal what ask and doctor show.
//
// It may import all other wings, and only cmd imports it. Begin with cli/cli.go; serve.go and
// stdio.go beside it say what a process is made of.
package command
