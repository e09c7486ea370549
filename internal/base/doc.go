// Package base has the words and tools of all: call has the words, config the settings, logging and
// redact the log without its secrets; text, jsonx, expire and version are small tools.
//
// It may import no other wing. Begin with call.Call in call/call.go, the argument that all packages
// get, and with the settings in config/config.go.
package base
