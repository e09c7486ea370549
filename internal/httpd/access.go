package httpd

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// Access says which requests the server accepts.
type Access struct {
	Loopback bool    // the server listens on a loopback address, where no token is needed
	Tokens   *Tokens // if not nil, every request for MCP or metrics needs one of them
	// Hosts are the accepted Host headers, in the form of HostName. Empty: loopback names on a loopback
	// address; otherwise all when there are tokens, and IP addresses and names without a dot when
	// there are none.
	Hosts []string
}

// requireHost guards against DNS rebinding: a web page can make a browser send
// requests here only under a name of its own.
func (a Access) requireHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.acceptsHost(r.Host) {
			http.Error(w, "the Host header is not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a Access) acceptsHost(host string) bool {
	host = HostName(host)
	ip := net.ParseIP(host)
	switch {
	case len(a.Hosts) > 0:
		return slices.Contains(a.Hosts, host)
	case a.Loopback:
		return host == "localhost" || ip.IsLoopback()
	case a.Tokens != nil:
		return true
	}
	// A name without a dot belongs to the local network, such as that of Compose.
	return ip != nil || !strings.Contains(host, ".")
}

// requireToken checks the bearer token, if any is needed. The name of its holder
// reaches the tools as the user id of the SDK's token info.
func (a Access) requireToken(next http.Handler) http.Handler {
	if a.Tokens == nil {
		return next
	}
	verify := func(_ context.Context, secret string, _ *http.Request) (*auth.TokenInfo, error) {
		name, ok := a.Tokens.holder(secret)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: name}, nil
	}
	return auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

// HostName returns the name or address in a Host header: without port and brackets, in lower case.
func HostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// IsLoopback reports whether ln listens on a loopback address only.
func IsLoopback(ln net.Listener) bool {
	tcp, ok := ln.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
