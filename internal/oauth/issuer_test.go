package oauth

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	home   = "https://id.example.com"
	public = "https://mcp.example.com/mcp"
)

// signingKey is a private key as an issuer has it.
type signingKey struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

var (
	keyRSA   = signingKey{"rsa", jose.RS256, newRSA(2048)}
	otherRSA = signingKey{"rsa", jose.RS256, newRSA(2048)}
	smallRSA = signingKey{"small", jose.RS256, newRSA(1024)}
	keyP256  = signingKey{"p256", jose.ES256, newECDSA(elliptic.P256())}
	keyP384  = signingKey{"p384", jose.ES384, newECDSA(elliptic.P384())}
	keyP521  = signingKey{"p521", jose.ES512, newECDSA(elliptic.P521())}
	keyEd    = signingKey{"ed", jose.EdDSA, newEd25519()}
)

func newRSA(bits int) crypto.Signer {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return key
}

func newECDSA(curve elliptic.Curve) crypto.Signer {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func newEd25519() crypto.Signer {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

// named returns the key under another id.
func (k signingKey) named(id string) signingKey {
	k.id = id
	return k
}

// using returns the key for another algorithm.
func (k signingKey) using(algorithm jose.SignatureAlgorithm) signingKey {
	k.algorithm = algorithm
	return k
}

// jwk returns the public key as the issuer publishes it, with changed members.
func (k signingKey) jwk(changes ...values) values {
	data, err := jose.JSONWebKey{Key: k.private.Public(), KeyID: k.id}.MarshalJSON()
	if err != nil {
		panic(err)
	}

	members := values{}
	if err := json.Unmarshal(data, &members); err != nil {
		panic(err)
	}
	return members.with(changes...)
}

// sign returns a token.
func (k signingKey) sign(t *testing.T, header, claims values) string {
	t.Helper()
	options := &jose.SignerOptions{}
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	if k.id != "" {
		options.WithHeader("kid", k.id)
	}

	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.algorithm, Key: k.private}, options)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims.at(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// values are the members of a JSON object.
type values map[string]any

// with returns the values with changes. nil removes one.
func (v values) with(changes ...values) values {
	changed := maps.Clone(v)
	for _, change := range changes {
		maps.Copy(changed, change)
	}
	maps.DeleteFunc(changed, func(_ string, value any) bool { return value == nil })
	return changed
}

// at returns the values with times in place of durations from now.
func (v values) at(now time.Time) values {
	absolute := maps.Clone(v)
	for name, value := range v {
		if d, ok := value.(time.Duration); ok {
			absolute[name] = now.Add(d).Unix()
		}
	}
	return absolute
}

// claimsOf returns the claims of a valid token.
func claimsOf(issuer string) values {
	return values{
		"iss": issuer,
		"sub": "alice",
		"aud": public,
		"exp": time.Hour,
	}
}

// provider is an authorization server on the network of a test.
type provider struct {
	url string

	mu       sync.Mutex
	metadata http.HandlerFunc // nil: as it should be
	keys     http.HandlerFunc
	down     bool
	fetched  []string // paths
}

func newProvider(u string, keys ...values) *provider {
	return &provider{url: u, keys: document(values{"keys": keys})}
}

// document serves JSON.
func document(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
}

func (p *provider) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// publish replaces the keys.
func (p *provider) publish(keys ...values) {
	all := append([]values{}, keys...) // a list, even an empty one
	p.change(func() { p.keys = document(values{"keys": all}) })
}

// fetches returns the paths that were fetched since the last call.
func (p *provider) fetches() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	paths := p.fetched
	p.fetched = nil
	return paths
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.fetched = append(p.fetched, r.URL.Path)
	metadata, keys, down := p.metadata, p.keys, p.down
	p.mu.Unlock()

	switch {
	case down:
		http.Error(w, "down", http.StatusBadGateway)
	case r.URL.Path == "/keys":
		keys(w, r)
	case metadata != nil:
		metadata(w, r)
	default:
		document(values{"issuer": p.url, "jwks_uri": home + "/keys"})(w, r)
	}
}

// listener accepts the connections that are sent to it.
type listener chan net.Conn

func (l listener) Close() error   { close(l); return nil }
func (l listener) Addr() net.Addr { return &net.TCPAddr{} }

func (l listener) Accept() (net.Conn, error) {
	conn, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// network returns a client that reaches the handlers by their hosts, in the bubble of the test and
// without TLS.
func network(t *testing.T, hosts map[string]http.Handler) *http.Client {
	listeners := map[string]listener{}
	for host, handler := range hosts {
		ln := make(listener)
		srv := &http.Server{Handler: handler}
		go srv.Serve(ln)
		t.Cleanup(func() { srv.Close() })
		listeners[host] = ln
	}

	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		ln, ok := listeners[host]
		if err != nil || !ok {
			return nil, errors.New("no such host")
		}
		here, there := net.Pipe()
		ln <- there
		return here, nil
	}
	transport := &http.Transport{DialContext: dial, DialTLSContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// logBuffer is a log.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start runs a resource whose issuers are those of the options, by default only home. It returns
// when the first read has ended.
func start(t *testing.T, o Options, hosts map[string]http.Handler) (*Resource, *logBuffer) {
	t.Helper()
	log := &logBuffer{}
	if o.Issuers == nil {
		o.Issuers = []string{home}
	}
	o.PublicURL = public
	if o.UserClaim == "" {
		o.UserClaim = "sub"
	}
	o.Client = network(t, hosts)
	o.Log = slog.New(slog.NewTextHandler(log, nil))

	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})

	synctest.Wait()
	return r, log
}

// status returns the HTTP status of an error of Verify, 200 for nil.
func status(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return http.StatusOK
	}
	refused, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error %v, want an *Error", err)
	}
	return refused.Status
}
