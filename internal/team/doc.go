// Package team is one server for many people: httpd has the listener, access, limits and metrics of
// serve --http, and oauth checks the access tokens of an identity provider.
//
// It may import mcp, openai and the wings below these, but not service. Begin with instance.handler
// in httpd/httpd.go: it has the steps of a request, which Serve precedes with instance.track.
package team
