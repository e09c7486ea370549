// Openai-responses-mcp gives MCP clients web-searched, cited answers from the
// OpenAI Responses API.
//
//	npx openai-responses-mcp --stdio
//
// # A tour, in the order in which a question travels
//
// internal/cli reads the command line, lets internal/config put defaults, YAML
// file, environment and flags together, and wires everything that follows. It
// is the only package that knows all the others.
//
// internal/stdio cuts standard input into messages, framed by Content-Length or
// one a line, and gives them to the MCP SDK as its transport. It answers
// garbage, keeps ids as they came, drops the answers of cancelled calls, and
// holds the end of the input back until what was asked is answered.
//
// internal/server is what the SDK serves: the tools answer, answer_detailed and
// answer_quick. It checks arguments and turns failures into JSON-RPC errors.
//
// internal/answer turns the question into a request (profile, hints, the web
// search tool, the instructions of internal/policy) and the response into an
// answer with citations and a closing list of sources.
//
// internal/llm sends the request, retries what is worth retrying, drops parameters
// that a model refuses, and says exactly what went wrong.
//
// The answer goes back the same way. Beside that way stand internal/logging
// (stderr and a debug file, never a secret), internal/fakeapi (the API behind
// --offline and the tests) and internal/version; behind the commands doctor and
// setup stand internal/doctor and internal/clients.
package main
