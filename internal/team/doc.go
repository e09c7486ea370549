// Package team has the HTTP server for a team:
//
//	httpd  the listener, access, limits and metrics of serve --http
//	oauth  checks the access tokens of an identity provider
//
// It may import mcp, openai and the layers below these, but not service. Begin with
// instance.handler in httpd/httpd.go, which has the steps of a request. instance.withResponse comes
// before these steps.
package team
