// Package mcp has the MCP protocol and its calls:
//
//	stdio   the stdio transport
//	rpc     the check of messages, for both transports
//	server  the tools, their calls and errors
//	tasks   runs calls, and keeps those that outlive their requests
//	advice  an error as a problem and a hint
//
// It may import question, share and base, but not openai. Begin with Server.callTool in
// server/call.go, which each call of a tool passes.
package mcp
