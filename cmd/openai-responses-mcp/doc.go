// Openai-responses-mcp gives MCP clients web-searched, cited answers from the OpenAI Responses API.
//
//	npx openai-responses-mcp --stdio
//
// # The way of a question
//
// A question passes these packages, and the answer comes back the same way. The comment of each
// package lists its files.
//
//	internal/command/cli     parses the command line, loads the configuration with internal/base/config, makes
//	                 a service of it with internal/service, and puts a transport in front of it:
//	                 serveFlags.serve and app.serveStdio say what a process is made of
//	internal/mcp/stdio   splits stdin into messages for the MCP SDK and writes its responses;
//	                 internal/team/httpd does this for serve --http, and asks who sent a request
//	internal/mcp/server  answers calls of the tools (call.Tools), reports progress, returns errors;
//	                 internal/mcp/tasks has the calls that outlive their request
//	internal/question/answer  checks the arguments, makes a request from the question and an answer with
//	                 citations from the response; internal/question/policy has the instructions to the model
//	internal/openai/llm     sends the request through openai-go, retries, and turns the stream into
//	                 events; internal/share/pacer says when a request may go out
//
// internal/base/call has the words that they share. All get the call as one argument, a call.Call: who
// makes it, who watches it, and what it took. server.newCall makes it from a request, and the
// commands ask and doctor make their own.
//
// # Where it is decided
//
//	how a message is framed                stdio    Reader.Read, conn.writeLocked
//	whether a cancelled call is silent     stdio    conn.cancel, conn.Write
//	what happens at the end of stdin       stdio    conn.scan, conn.done
//	where a token is checked               httpd    Access.authenticate, Tokens.Authenticate
//	which access tokens are accepted       oauth    Resource.Verify
//	which messages reach the SDK           rpc      Methods.Read
//	which requests get 429                 people   Registry.Take
//	which calls a quota refuses            budget   Budget.Take
//	what a call gives back at its end      budget   Budget.Settle
//	which tools and arguments are listed   server   tools, schema
//	which arguments are valid              answer   Parse, Argument.Set
//	why a call waits for other calls       people   Registry.Run
//	whether a failure is a result          server   Server.failure
//	which calls are tasks                  server   Server.canBeTask
//	which calls outlive their request      server   Detach
//	when a call goes on without it         server   Server.detachHere, Server.detachAtAPI
//	who may see a task                     tasks    Tasks.Find
//	what an error says and advises         advice   Advisor.Advise
//	which sources become citations         answer   reading.sources
//	which citations the limit keeps        cite     Document.choose
//	which date a citation has              cite     Document.Citations, Document.date, dateInPath
//	whether a list of sources is appended  answer   Answerer.compose
//	whether a list ends the text           cite     Document.readList
//	whether another attempt follows, when  llm      exchange.decide, retryable
//	why a call waits for the rate limit    pacer    Ticket.Wait, Ticket.Refused
//	which parameter is dropped after a 400 llm      body.refused
//	what ends a stream of the API          llm      accumulator.read, accumulator.handleEvent
//	how a broken connection is resumed     llm      exchange.follow
//	which value of a setting wins          config   Load
//	where NO_COLOR is read                 cli      app.screen
//	                                       service  New
//	what NO_COLOR changes in an answer     terminal New, Screen.write
//	what NO_COLOR changes in the log       logging  Options.hasColors
//	what is removed from logs and errors   redact   Redactor
//
// # The other packages
//
// The commands doctor and setup use internal/command/doctor and internal/command/clients, and ask shows its answer
// with internal/command/terminal. internal/team/oauth checks the tokens of people who sign in, and internal/question/cite
// knows pages, dates and lists of sources. internal/share/people has what each person takes of the server,
// internal/share/budget their quotas. internal/mcp/advice says what to do about an error. internal/command/smoke is the
// session of smoke.
// internal/openai/fakeapi is the API of --offline and, with the scripts of test/apitest, of the tests.
// internal/base/text truncates and sanitizes text, internal/base/logging writes the log,
// internal/base/redact keeps secrets out of it, internal/base/jsonx encodes JSON without HTML escapes, and
// internal/base/version holds the version.
package main
