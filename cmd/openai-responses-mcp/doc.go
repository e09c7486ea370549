// Openai-responses-mcp gives MCP clients web-searched, cited answers from the OpenAI Responses API.
//
//	npx openai-responses-mcp --stdio
//
// # The layers
//
// The packages are in eight folders of internal, the layers. A package may import its own layer and
// those in lower lines of this list, but not the other layer of its line:
//
//	command          the commands
//	team, service    the HTTP server for a team; builds what all commands share
//	mcp, openai      the MCP protocol and its calls; the Responses API
//	question, share  requests and cited answers; limits, and the order of waiting calls
//	base             types and helpers for all packages
//
// The comment of a layer lists its packages, and says what it may import and where to begin. The
// comment of a package lists its files.
//
// # The way of a question
//
// A question passes these packages, and the answer comes back the same way.
//
//	command/cli      parses the command line, loads the configuration with base/config, makes a
//	                 service of it with package service, and puts a transport in front of it:
//	                 serveFlags.serve and app.serveStdio say what a process is made of
//	mcp/stdio        splits stdin into messages for the MCP SDK and writes its responses;
//	                 team/httpd does this for serve --http, and authenticates requests
//	mcp/server       answers calls of the tools (call.Tools), reports progress, returns errors;
//	                 mcp/tasks runs the calls, and keeps those that outlive their requests
//	question/answer  checks the arguments, makes a request from the question and an answer with
//	                 citations from the response; question/policy has the instructions to the model
//	openai/llm       sends the request through openai-go, retries, and turns the stream into
//	                 events; share/pacer says when a request may go out
//
// base/call has the types that these packages share. From mcp/server on, all of them get the call
// as one argument, a call.Call: it says who makes the call and what the call has used, and takes
// the events of the call. server.newCall makes it from a request, and the commands ask and doctor
// make their own.
//
// # Where it is decided
//
//	how a message is framed                stdio    Reader.Read, conn.writeLocked
//	whether a cancelled call is silent     stdio    conn.cancel, conn.Write
//	what happens at the end of stdin       stdio    conn.scan, conn.countDown
//	                                       tasks    Tasks.Wait
//	where a token is checked               httpd    Access.authenticate, Tokens.Authenticate
//	which access tokens are accepted       oauth    Resource.Verify
//	which messages reach the SDK           rpc      Methods.Parse
//	which requests are beyond the bounds   people   Registry.TakeRequest, Registry.TakeBytes
//	what these get                         httpd    instance.answerBeyondBounds, response.rejectUnread
//	which calls a quota refuses            budget   Budget.Take
//	what a call gives back at its end      budget   Taken.Settle
//	which process counts a call            budget   Taken.Settle, Budget.SettleResponse
//	which tools and arguments are listed   server   tools, inputSchema
//	which arguments are valid              answer   Parse, Argument.Set
//	why a call waits for other calls       people   Registry.Acquire, Registry.grantSlotsLocked
//	whether a failure is a result          server   Server.failure
//	which tasks their clients poll         server   Server.isPolled
//	which calls may outlive their request  server   DetachOptions
//	when a call leaves its request         tasks    Tasks.DetachWhenDue
//	who may see a task                     tasks    Tasks.Find
//	what an error says and advises         advice   Advisor.Advise
//	which earlier answer a question gets   answer   Answerer.earlierMessages, Answerer.remember
//	whether a list ends the text           cite     Document.readList
//	which sources become citations         answer   findings.sources
//	which citations the limit keeps        cite     Document.choose
//	which date a citation has              cite     Document.Citations, Document.datesOf, dateInPath
//	whether a list of sources is appended  answer   Answerer.compose
//	whether another attempt follows, when  llm      exchange.decideRetry, retryable
//	why a call waits for the rate limit    pacer    Ticket.Wait, Ticket.NoteRefused
//	which parameter a 400 drops            llm      params.refusedName
//	what ends a stream of the API          llm      accumulator.readStream, accumulator.handleEvent
//	how a broken connection is resumed     llm      exchange.follow
//	which value of a setting wins          config   Load
//	whether an answer has colors           cli      app.screen
//	whether the log has colors             logging  Options.hasColors
//	what is removed from logs and errors   redact   Redactor
package main
