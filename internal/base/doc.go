// Package base has types and helpers for all packages:
//
//	call        the types that packages share: tools, calls, people, requests, responses, events
//	config      the settings
//	logging     the handlers of the log
//	redact      removes secrets from all output
//	httpclient  the HTTP clients, and the root certificates
//	text        helpers for texts, templates and host names
//	jsonx       helpers for JSON
//	expire      a map whose entries end
//	version     the version
//
// It may import no other layer. Begin with call.Call in call/call.go, the argument that all
// packages get, and with the settings in config/config.go.
package base
