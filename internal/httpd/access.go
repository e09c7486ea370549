package httpd

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// Access says which requests the MCP endpoint accepts.
type Access struct {
	// Loopback: the server listens on a loopback address, where no token is
	// needed.
	Loopback bool
	// Tokens are the bearer tokens. With any, every request needs one of them.
	Tokens []Token
	// Hosts are the accepted Host headers, in the form of HostName. Empty: loopback names
	// on a loopback address; otherwise all when there are tokens, and IP
	// addresses and localhost when there are none.
	Hosts []string
}

// Token is a bearer token and the name of its holder for logs and metrics.
type Token struct{ Name, Secret string }

// ParseTokens reads MCP_HTTP_TOKENS: name:token, separated by commas or white
// space. The errors never contain a token.
func ParseTokens(s string) ([]Token, error) {
	var tokens []Token
	for i, entry := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r <= ' ' }) {
		name, secret, ok := strings.Cut(entry, ":")
		switch {
		case !ok || name == "":
			return nil, fmt.Errorf("entry %d of MCP_HTTP_TOKENS is not name:token", i+1)
		case len(secret) < 16:
			return nil, fmt.Errorf("the token of %q in MCP_HTTP_TOKENS has fewer than 16 characters", name)
		}
		tokens = append(tokens, Token{name, secret})
	}
	return tokens, nil
}

// protect lets only accepted requests through: a foreign Host or Origin gets
// 403, a missing or wrong token 401.
func (a Access) protect(next http.Handler) http.Handler {
	if len(a.Tokens) > 0 {
		next = a.requireToken(next)
	}
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.acceptsHost(r.Host) {
			http.Error(w, "the Host header is not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// requireToken checks the bearer token. The name of its holder reaches the
// tools as the user id of the SDK's token info.
func (a Access) requireToken(next http.Handler) http.Handler {
	verify := func(_ context.Context, secret string, _ *http.Request) (*auth.TokenInfo, error) {
		got := sha256.Sum256([]byte(secret)) // equal lengths, for the comparison
		var holder *auth.TokenInfo
		for _, t := range a.Tokens {
			want := sha256.Sum256([]byte(t.Secret))
			if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
				holder = &auth.TokenInfo{UserID: t.Name}
			}
		}
		if holder == nil {
			return nil, auth.ErrInvalidToken
		}
		return holder, nil
	}
	accepted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Del("WWW-Authenticate")
		next.ServeHTTP(w, r)
	})
	check := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(accepted)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer") // RFC 6750 section 3
		check.ServeHTTP(w, r)
	})
}

// acceptsHost guards against DNS rebinding: a web page can make a browser send
// requests here only under a name of its own.
func (a Access) acceptsHost(host string) bool {
	host = HostName(host)
	switch {
	case len(a.Hosts) > 0:
		return slices.Contains(a.Hosts, host)
	case a.Loopback:
		return true // the SDK checks
	case len(a.Tokens) > 0:
		return true
	}
	return host == "localhost" || net.ParseIP(host) != nil
}

// HostName returns the name or address in a Host header: without port and
// brackets, in lower case.
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
