package budget

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// storeURL matches the URLs of stores. A user needs a password: a user alone could be a misplaced
// password. A prefix begins with a letter, and so differs from the version 3 (Store.fullKey).
var storeURL = text.LazyRegexp(`^(redis|valkey)s?://([^/?#@]*:[^/?#@]*@)?` +
	`(\[.+\]|[^/?#@:,]+)(:\d{1,5})?(/\d{0,4})?(\?prefix=[A-Za-z][\w-]{0,63})?$`)

// SetURL sets the URL for the uses from now on, and returns it. The error does not quote it.
func (s *Store) SetURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	port := 0
	if err == nil {
		port, _ = strconv.Atoi(u.Port())
	}
	if err != nil || port > 65535 || !storeURL().MatchString(raw) {
		return nil, errors.New("MCP_STORE_URL is not valkey://USER:PASSWORD@HOST:PORT/DATABASE" +
			"?prefix=NAME, where the scheme may also be redis, or for TLS valkeys or rediss; " +
			"a password has %2F for /, and so on; " +
			"a prefix is a letter and up to 63 letters, digits, - or _")
	}
	s.url.Store(u)
	old := s.pool.Load()
	s.renewPool(old)
	s.forgetLogged()
	_ = old.Close()
	s.needsProbe.Store(true)
	return u, nil
}

// Address is where a store is, without secrets.
type Address struct {
	Host     string `json:"host"` // with its port, if the URL has one
	Database string `json:"database"`
	Prefix   string `json:"prefix,omitempty"` // keeps the keys of deployments apart
}

// Address returns where the store is.
func (s *Store) Address() Address {
	u := s.url.Load()
	return Address{
		Host:     u.Host,
		Database: cmp.Or(strings.Trim(u.Path, "/"), "0"),
		Prefix:   strings.TrimPrefix(u.RawQuery, "prefix="),
	}
}

// renewPool replaces a pool by a new one, and reports whether it was the current pool. The caller
// closes the old pool. A connection ends after MaxConnLifetime, because the host of the URL may get
// a new address. A connection that was idle for a second is tried first: the store may have
// restarted.
func (s *Store) renewPool(pool *redis.Pool) bool {
	return s.pool.CompareAndSwap(pool, &redis.Pool{
		DialContext: s.connectForScripts,
		TestOnBorrowContext: func(ctx context.Context, c redis.Conn, lastUsed time.Time) error {
			if time.Since(lastUsed) < time.Second {
				return nil
			}
			_, err := redis.DoContext(c, ctx, "SELECT", s.Address().Database)
			return err
		},
		MaxIdle:         maxScripts,
		IdleTimeout:     10 * time.Second, // a proxy in between may close them after 30 s
		MaxConnLifetime: 5 * time.Minute,
	})
}

// connectForScripts connects to the store until ctx ends. Replies have a deadline of the
// connection, not of a context: a reply in time counts, however late a busy process reads it.
func (s *Store) connectForScripts(ctx context.Context) (redis.Conn, error) {
	return s.connect(ctx, s.url.Load(), scriptReplies,
		redis.DialReadTimeout(s.options.Timeout), redis.DialWriteTimeout(s.options.Timeout))
}

// connect connects to a URL, with replies of a form. It does TLS itself, because redigo would do
// TLS on top of the replyConn. The replyConn has to see plain replies.
func (s *Store) connect(
	ctx context.Context, to *url.URL, form replyForm, options ...redis.DialOption,
) (redis.Conn, error) {
	u := *to
	overTLS := u.Scheme == "rediss" || u.Scheme == "valkeys"
	u.Scheme = "redis"
	u.RawQuery = ""
	open := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := s.options.Dial(ctx, network, address)
		if err == nil && overTLS {
			conn, err = s.handshake(ctx, conn, u.Hostname())
		}
		if form == scriptReplies {
			conn = &replyConn{Conn: conn}
		}
		return conn, err
	}
	options = append(options, redis.DialContextFunc(open))
	conn, err := redis.DialURLContext(ctx, u.String(), options...)
	return conn, withoutArguments(err)
}

// withoutArguments cuts the arguments of a command off an error of the store. A server that does
// not know AUTH repeats its arguments, up to 128 bytes. The redactor would not find half a
// password: it knows only the whole password.
func withoutArguments(err error) error {
	e, ok := errors.AsType[redis.Error](err)
	if !ok {
		return err
	}
	words, _, _ := strings.Cut(string(e), ", with args beginning with")
	return redis.Error(words)
}

// handshake does the TLS handshake on a connection. After an error the connection is closed.
func (s *Store) handshake(ctx context.Context, plain net.Conn, host string) (net.Conn, error) {
	roots, err := s.options.Roots(ctx)
	if err != nil {
		_ = plain.Close()
		return nil, err
	}
	conn := tls.Client(plain, &tls.Config{
		RootCAs:    roots,
		ServerName: host,

		ClientSessionCache: s.sessions,
	})
	err = conn.HandshakeContext(ctx)
	if err != nil {
		_ = plain.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return conn, nil
}
