package oauth

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

const otherIssuer = "https://other.example.com/tenant"

// hosts are those of the provider of home and, if there is one, of another issuer.
func hosts(idp *provider, other ...http.Handler) map[string]http.Handler {
	all := map[string]http.Handler{"id.example.com": idp}
	for _, handler := range other {
		all["other.example.com"] = handler
	}
	return all
}

// check fails unless a token has the wanted status now.
func check(t *testing.T, r *Resource, name string, key signingKey, issuer string, want int) {
	t.Helper()
	_, err := r.Verify(t.Context(), key.sign(t, nil, claimsOf(issuer)))
	if got := status(t, err); got != want {
		t.Errorf("%s: status %d (%v), want %d", name, got, err, want)
	}
}

// elapsed returns how long f takes on the clock of the bubble.
func elapsed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func TestDiscovery(t *testing.T) {
	oidc := func(path string) string { return path + "/.well-known/openid-configuration" }
	rfc8414 := func(path string) string { return "/.well-known/oauth-authorization-server" + path }

	for _, tt := range []struct {
		name   string
		issuer string
		path   string // where the metadata is
		status int    // elsewhere
		want   []string
	}{
		{
			"OpenID Connect", home, oidc(""), 404,
			[]string{oidc(""), "/keys"},
		},
		{
			"with a path", home + "/a/b", oidc("/a/b"), 404,
			[]string{oidc("/a/b"), "/keys"},
		},
		{
			"with a slash", home + "/", oidc(""), 404,
			[]string{oidc(""), "/keys"},
		},
		{
			"with a path and a slash", home + "/a/", oidc("/a"), 404,
			[]string{oidc("/a"), "/keys"},
		},
		{
			"RFC 8414", home, rfc8414(""), 404,
			[]string{oidc(""), rfc8414(""), "/keys"},
		},
		{
			"RFC 8414 with a path", home + "/a/b", rfc8414("/a/b"), 404,
			[]string{oidc("/a/b"), rfc8414("/a/b"), "/keys"},
		},
		{
			"RFC 8414 with a slash", home + "/", rfc8414(""), 404,
			[]string{oidc(""), rfc8414(""), "/keys"},
		},
		{
			"neither", home, "/elsewhere", 404,
			[]string{oidc(""), rfc8414("")},
		},
		{
			"RFC 8414 only after a 404", home, rfc8414(""), 500,
			[]string{oidc("")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider(tt.issuer, keyP256.jwk())
				metadata := document(values{"issuer": tt.issuer, "jwks_uri": home + "/keys"})
				idp.metadata = func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != tt.path {
						w.WriteHeader(tt.status)
						return
					}
					metadata(w, r)
				}
				r, _ := start(t, Options{Issuers: []string{tt.issuer}}, hosts(idp))

				if diff := cmp.Diff(tt.want, idp.fetches()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				found := slices.Contains(tt.want, "/keys")
				if got := r.Ready() == nil; got != found {
					t.Errorf("ready %t, want %t", got, found)
				}
			})
		})
	}
}

// body serves a text.
func body(format string, args ...any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, format, args...) }
}

// padding makes a document too large.
var padding = strings.Repeat(" ", fetchBytes)

func endless(w http.ResponseWriter, _ *http.Request) {
	var err error
	for err == nil {
		_, err = io.WriteString(w, padding)
	}
}

// slow serves a byte each second.
func slow(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(time.Second):
		}
	}
}

func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func redirect(to string) http.HandlerFunc {
	return http.RedirectHandler(to, http.StatusFound).ServeHTTP
}

func metadata(issuer, keys string) http.HandlerFunc {
	return document(values{"issuer": issuer, "jwks_uri": keys})
}

const (
	tooLarge = "more than 524288 bytes"
	tooSlow  = "deadline exceeded"
)

func TestHostileMetadata(t *testing.T) {
	long := "http://" + strings.Repeat("a", 1000)
	huge := body(`{"issuer":%q,"jwks_uri":%q}%s`, otherIssuer, otherIssuer+"/keys", padding)
	const (
		stranger = `it is of the issuer \"https://id.example.com\", want \"https://other.example.com/tenant\"`
		slash    = `it is of the issuer \"https://other.example.com/tenant/\", want`
		insecure = "jwks_uri is"
	)
	for _, tt := range []struct {
		name     string
		metadata http.HandlerFunc
		want     string // in the log
	}{
		{"endless", endless, tooLarge},
		{"huge", huge, tooLarge},
		{"slow", slow, tooSlow},
		{"silent", silent, tooSlow},
		{"HTML", body("<html>"), "invalid character '<'"},
		{"redirect", redirect(home + "/.well-known/openid-configuration"), "HTTP 302"},
		{"another issuer", metadata(home, home+"/keys"), stranger},
		{"issuer with a slash", metadata(otherIssuer+"/", home+"/keys"), slash},
		{"long issuer", metadata(long, home+"/keys"), `aaa…\", want`},
		{"no issuer", metadata("", home+"/keys"), `it is of the issuer \"\"`},
		{"keys over http", metadata(otherIssuer, "http://other.example.com/keys"), insecure},
		{"keys on loopback", metadata(otherIssuer, "http://127.0.0.1/keys"), insecure},
		{"keys without a host", metadata(otherIssuer, "https:///keys"), insecure},
		{"keys at a long address", metadata(otherIssuer, long), `aaa…\", want`},
		{"no keys", metadata(otherIssuer, ""), insecure},
	} {
		t.Run(tt.name, func(t *testing.T) { checkHostile(t, tt.metadata, tt.want) })
	}
}

func TestHostileKeys(t *testing.T) {
	many := make([]values, maxKeys+1)
	for n := range many {
		many[n] = keyP256.jwk()
	}

	for _, tt := range []struct {
		name string
		keys http.HandlerFunc
		want string // in the log
	}{
		{"endless", endless, tooLarge},
		{"huge", body(`{"keys":[]}%s`, padding), tooLarge},
		{"slow", slow, tooSlow},
		{"silent", silent, tooSlow},
		{"HTML", body("<html>"), "invalid character '<'"},
		{"redirect", redirect(home + "/keys"), "HTTP 302"},
		{"status", http.NotFound, "HTTP 404"},
		{"too many", document(values{"keys": many}), "there are 101, at most 100 are accepted"},
		{"none", body("{}"), "the document has no list of keys"},
		{"not a list", body(`{"keys":{}}`), "cannot unmarshal object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkHostile(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/keys" {
					tt.keys(w, r)
					return
				}
				metadata(otherIssuer, "https://other.example.com/keys")(w, r)
			}, tt.want)
		})
	}
}

// checkHostile runs a resource with two issuers, of which the second is hostile: its keys cannot be
// read, the log says so once, and those of the first are in use.
func checkHostile(t *testing.T, hostile http.HandlerFunc, want string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyP256.jwk())
		r, log := start(t, Options{Issuers: []string{home, otherIssuer}}, hosts(idp, hostile))
		time.Sleep(5*time.Second + time.Millisecond)
		synctest.Wait()

		if got := log.String(); !strings.Contains(got, want) {
			t.Errorf("log %s, want %s", got, want)
		}
		check(t, r, "token of the hostile issuer", keyP256, otherIssuer, http.StatusServiceUnavailable)
		check(t, r, "token of the other issuer", keyP256, home, http.StatusOK)
		ready := fmt.Sprint(r.Ready())
		if want := "the keys of https://other.example.com/tenant have not been read"; ready != want {
			t.Errorf("Ready() = %s, want %s", ready, want)
		}

		time.Sleep(time.Minute)
		if got := strings.Count(log.String(), "level=WARN"); got != 1 {
			t.Errorf("%d warnings in a minute, want 1:\n%s", got, log)
		}
	})
}

func TestKeysOnLoopback(t *testing.T) {
	for _, tt := range []struct {
		keys string
		want bool
	}{
		{"http://127.0.0.1:9000/keys", true},
		{"https://id.example.com/keys", true},
		{"http://id.example.com/keys", false},
	} {
		t.Run(tt.keys, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider("http://localhost:9000", keyP256.jwk())
				idp.metadata = document(values{"issuer": idp.url, "jwks_uri": tt.keys})
				r, _ := start(t, Options{Issuers: []string{idp.url}}, map[string]http.Handler{
					"localhost":      idp,
					"127.0.0.1":      idp,
					"id.example.com": idp,
				})
				if got := r.Ready() == nil; got != tt.want {
					t.Errorf("ready %t, want %t", got, tt.want)
				}
			})
		})
	}
}

// Each key stands in a list with a good one, which is accepted in any case.
func TestDecodeKeys(t *testing.T) {
	bits := func(n int) values {
		modulus := new(big.Int).Lsh(big.NewInt(1), uint(n-1))
		return values{
			"kty": "RSA",
			"kid": "key",
			"n":   base64.RawURLEncoding.EncodeToString(modulus.Add(modulus, big.NewInt(1)).Bytes()),
			"e":   "AQAB",
		}
	}
	private := keyRSA.private.(*rsa.PrivateKey)
	exponent := base64.RawURLEncoding.EncodeToString(private.D.Bytes())

	for _, tt := range []struct {
		name string
		key  any
		want string // in the log if it is not accepted
	}{
		{"for signatures", keyRSA.jwk(values{"use": "sig"}), ""},
		{"with an algorithm", keyRSA.jwk(values{"alg": "RS256"}), ""},
		{"RSA of 2048 bits", bits(2048), ""},
		{"RSA of 8192 bits", bits(8192), ""},
		{"RSA of 2047 bits", bits(2047), "decoding key 1: RSA of 2047 bits, want 2048 to 8192"},
		{"RSA of 8193 bits", bits(8193), "decoding key 1: RSA of 8193 bits, want 2048 to 8192"},
		{"for encryption", keyRSA.jwk(values{"use": "enc"}), "the keys were read"},
		{"with an algorithm for encryption", keyRSA.jwk(values{"alg": "RSA-OAEP"}), "the keys were read"},
		{"secret", values{"kty": "oct", "k": "c2VjcmV0"}, "the keys were read"},
		{"unknown type", values{"kty": "quantum"}, "the keys were read"},
		{"unknown curve", values{"kty": "OKP", "crv": "X25519", "x": "AAAA"}, "the keys were read"},
		{"private", keyRSA.jwk(values{"d": exponent}), "decoding key 1: it is private"},
		{"point not on the curve", keyP256.jwk(values{"x": "AAAA"}), "decoding key 1: it is malformed"},
		{"RSA without a modulus", values{"kty": "RSA", "e": "AQAB"}, "decoding key 1: RSA of 0 bits"},
		{"RSA with a long exponent", keyRSA.jwk(values{"e": "AQABAQE"}), "decoding key 1: it is malformed"},
		{"RSA not in base64", keyRSA.jwk(values{"n": "*"}), "decoding key 1: it is malformed"},
		{"use is not text", keyRSA.jwk(values{"use": 1}), "decoding key 1: it is malformed"},
		{"text", "key", "decoding key 1: it is malformed"},
		{"null", nil, "decoding key 1: it is malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider(home)
				idp.keys = document(values{"keys": []any{tt.key, keyP256.jwk()}})
				r, log := start(t, Options{}, hosts(idp))

				check(t, r, "good key", keyP256, home, http.StatusOK)
				want := 2
				if tt.want != "" {
					want = 1
				}
				if got := len(r.issuers[0].keys); got != want {
					t.Errorf("%d keys, want %d", got, want)
				}
				if got := log.String(); !strings.Contains(got, tt.want) {
					t.Errorf("log %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// An algorithm of a key excludes the others.
func TestAlgorithmOfKey(t *testing.T) {
	for _, tt := range []struct {
		algorithm jose.SignatureAlgorithm
		want      int
	}{
		{jose.PS256, http.StatusOK},
		{jose.RS256, http.StatusUnauthorized},
	} {
		t.Run(string(tt.algorithm), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider(home, keyRSA.jwk(values{"alg": "PS256"}))
				r, _ := start(t, Options{}, hosts(idp))
				check(t, r, "token", keyRSA.using(tt.algorithm), home, tt.want)
			})
		})
	}
}

func TestReadTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyP256.jwk())
		start(t, Options{}, hosts(idp))
		counts := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := len(idp.fetches()); got != want {
				t.Errorf("%d fetches, want %d", got, want)
			}
		}

		counts(0, 2)
		counts(10*time.Minute-time.Millisecond, 0)
		counts(time.Millisecond, 2)

		idp.change(func() { idp.down = true })
		counts(10*time.Minute, 1)
		counts(5*time.Second-time.Millisecond, 0)
		counts(time.Millisecond, 1)

		idp.change(func() { idp.down = false })
		counts(5*time.Second, 2)
		counts(9*time.Minute, 0)
	})
}

func TestUnknownKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyP256.jwk())
		r, _ := start(t, Options{}, hosts(idp))
		time.Sleep(time.Minute)
		idp.fetches()

		var wg sync.WaitGroup
		var mu sync.Mutex
		waited := 0
		for n := range 500 {
			token := keyP256.named(fmt.Sprint(n)).sign(t, nil, claimsOf(home))
			wg.Go(func() {
				began := time.Now()
				_, err := r.Verify(t.Context(), token)
				mu.Lock()
				defer mu.Unlock()
				if got := status(t, err); got != http.StatusUnauthorized {
					t.Errorf("status %d, want 401", got)
				}
				if time.Since(began) > 0 {
					waited++
				}
			})
		}
		wg.Wait()
		if got := len(idp.fetches()); got > 4 {
			t.Errorf("%d fetches, want at most 4", got)
		}
		if waited > maxWaiting {
			t.Errorf("%d requests waited, want at most %d", waited, maxWaiting)
		}
	})
}

// Twenty people try again and again for a minute.
func TestUnknownKeysOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyP256.jwk())
		r, _ := start(t, Options{}, hosts(idp))
		time.Sleep(time.Minute)
		idp.fetches()

		var wg sync.WaitGroup
		end := time.Now().Add(time.Minute)
		for n := range 20 {
			token := keyP256.named(fmt.Sprint(n)).sign(t, nil, claimsOf(home))
			wg.Go(func() {
				for time.Now().Before(end) {
					_, _ = r.Verify(t.Context(), token)
					time.Sleep(time.Millisecond)
				}
			})
		}
		wg.Wait()
		if got := len(idp.fetches()); got < 10 || got > 14 {
			t.Errorf("%d fetches in a minute, want one in 5 s", got)
		}
	})
}

func TestNewKey(t *testing.T) {
	for _, tt := range []struct {
		name  string
		since time.Duration // the last read
	}{
		{"long after a read", time.Minute},
		{"just after a read", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider(home, keyP256.jwk())
				r, _ := start(t, Options{}, hosts(idp))
				time.Sleep(tt.since)

				idp.publish(keyP256.jwk(), keyP384.jwk())
				took := elapsed(func() { check(t, r, "new key", keyP384, home, http.StatusOK) })
				if took > 6*time.Second {
					t.Errorf("accepted after %s, want 6 s at most", took)
				}
				check(t, r, "old key", keyP256, home, http.StatusOK)
			})
		})
	}
}

// A read that began before a request may have missed the new key: the request waits for the next one.
func TestNewKeyDuringRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyP256.jwk())
		r, _ := start(t, Options{}, hosts(idp))
		old := idp.keys
		idp.change(func() {
			idp.keys = func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second)
				old(w, r)
			}
		})

		time.Sleep(10*time.Minute + time.Millisecond)
		synctest.Wait()
		idp.publish(keyP256.jwk(), keyP384.jwk())
		check(t, r, "new key", keyP384, home, http.StatusOK)
	})
}

func TestRemovedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyP256.jwk())
		r, _ := start(t, Options{}, hosts(idp))
		idp.publish()
		check(t, r, "before the next read", keyP256, home, http.StatusOK)

		time.Sleep(10 * time.Minute)
		synctest.Wait()
		check(t, r, "after the next read", keyP256, home, http.StatusUnauthorized)
		if err := r.Ready(); err != nil {
			t.Errorf("Ready() = %v, want nil", err)
		}
	})
}

// The URL of the keys changes together with the keys.
func TestMovedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyP256.jwk())
		moved := newProvider(home, keyP384.jwk())
		r, _ := start(t, Options{}, hosts(idp, moved))
		idp.change(func() {
			idp.metadata = document(values{"issuer": home, "jwks_uri": "https://other.example.com/keys"})
			idp.keys = http.NotFound
		})

		check(t, r, "first try", keyP384, home, http.StatusServiceUnavailable)
		time.Sleep(RetryTime)
		synctest.Wait()
		check(t, r, "second try", keyP384, home, http.StatusOK)
	})
}

func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyP256.jwk())
		idp.down = true
		r, log := start(t, Options{}, hosts(idp))
		took := elapsed(func() {
			check(t, r, "down at the start", keyP256, home, http.StatusServiceUnavailable)
		})
		if took > 0 {
			t.Errorf("refused after %s, want at once", took)
		}
		if err := r.Ready(); err == nil || !strings.Contains(err.Error(), home) {
			t.Errorf("Ready() = %v, want an error with %s", err, home)
		}

		idp.change(func() { idp.down = false })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		check(t, r, "up", keyP256, home, http.StatusOK)
		if err := r.Ready(); err != nil {
			t.Errorf("Ready() = %v, want nil", err)
		}

		idp.change(func() { idp.down = true })
		check(t, r, "unknown key, down", keyP384, home, http.StatusServiceUnavailable)
		time.Sleep(11 * time.Minute)
		check(t, r, "known key, down for 11 minutes", keyP256, home, http.StatusOK)
		check(t, r, "unknown key, down for 11 minutes", keyP384, home, http.StatusServiceUnavailable)
		if err := r.Ready(); err != nil {
			t.Errorf("Ready() = %v, want nil", err)
		}
		if got := strings.Count(log.String(), "level=WARN"); got != 2 {
			t.Errorf("%d warnings, want one for each time that it was down:\n%s", got, log)
		}
	})
}

// Before the keys were read once, no request waits: too many that wait would be refused as unknown.
func TestFirstRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyP256.jwk())
		keys := idp.keys
		idp.keys = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			keys(w, r)
		}
		r, _ := start(t, Options{}, hosts(idp))

		took := elapsed(func() {
			check(t, r, "during the first read", keyP256, home, http.StatusServiceUnavailable)
		})
		if took > 0 {
			t.Errorf("refused after %s, want at once", took)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		check(t, r, "after it", keyP256, home, http.StatusOK)
	})
}

// The wait for a key ends with the request, and with Run.
func TestWaitEnds(t *testing.T) {
	const never = time.Hour
	for _, tt := range []struct {
		name       string
		call, stop time.Duration // when the context ends
		want       string        // error
	}{
		{"with the request", time.Second, never, "the keys of the issuer cannot be read"},
		{"with Run", never, time.Second, "the keys of the issuer cannot be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider(home, keyP256.jwk())
				r, err := New(with(func(o *Options) { o.Client = network(t, hosts(idp)) }))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), tt.stop)
				defer cancel()
				go r.Run(ctx)
				synctest.Wait()

				call, cancel := context.WithTimeout(t.Context(), tt.call)
				defer cancel()
				_, err = r.Verify(call, keyP384.sign(t, nil, claimsOf(home)))
				if err == nil || err.Error() != tt.want {
					t.Errorf("error %v, want %s", err, tt.want)
				}
			})
		})
	}
}

// One subject at two issuers is two people, and neither issuer signs for the other.
func TestTwoIssuers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home, keyRSA.jwk())
		other := newProvider("https://other.example.com", otherRSA.jwk())
		other.metadata = document(values{"issuer": other.url, "jwks_uri": other.url + "/keys"})
		r, _ := start(t, Options{Issuers: []string{home, other.url}}, hosts(idp, other))

		one, err := r.Verify(t.Context(), keyRSA.sign(t, nil, claimsOf(home)))
		if err != nil {
			t.Fatal(err)
		}
		two, err := r.Verify(t.Context(), otherRSA.sign(t, nil, claimsOf(other.url)))
		if err != nil {
			t.Fatal(err)
		}
		if one == two || one.Subject != two.Subject {
			t.Errorf("%+v and %+v, want one subject of two issuers", one, two)
		}
		check(t, r, "key of the other issuer", keyRSA, other.url, http.StatusUnauthorized)
	})
}
