// Package mcp is the protocol and its calls: stdio and rpc read messages, server answers calls,
// tasks has the calls that outlive their request, and advice puts errors into words.
//
// It may import question, share and base, but not openai. Begin with Server.call in server/call.go,
// which each call of a tool passes.
package mcp
