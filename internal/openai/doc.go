// Package openai has the Responses API:
//
//	llm       sends requests, retries them and reads responses
//	apierror  reads the errors of the API and of gateways, and names their kinds
//	fakeapi   the API of --offline and, with the scripts of test/apitest, of the tests
//
// It may import question, share and base, but not mcp; only llm imports openai-go. Begin with
// Client.Create in llm/exchange.go, which makes the attempts of a request.
package openai
