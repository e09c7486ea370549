package oauth

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The metadata of the issuer is at a path.
func TestDiscovery(t *testing.T) {
	for _, tt := range []struct {
		issuer, at, fetched string // paths
	}{
		{"", oidc, oidc + " /keys"},
		{"/a/b", "/a/b" + oidc, "/a/b" + oidc + " /keys"},
		{"/a/", "/a" + oidc, "/a" + oidc + " /keys"},
		{"", rfc8414, oidc + " " + rfc8414 + " /keys"},
		{"/a/b", rfc8414 + "/a/b",
			"/a/b" + oidc + " " + rfc8414 + "/a/b /keys"},
		{"", "/elsewhere", oidc + " " + rfc8414},
	} {
		inBubble(t, tt.issuer+" "+tt.at, func(t *testing.T) {
			w := newWeb(keyP256.jwk())
			w.pages.Delete(home + oidc)
			w.pages.Store(home+tt.at, metadata(home+tt.issuer, home+"/keys"))
			r := start(t, w, func(o *Options) { o.Issuers = []string{home + tt.issuer} })

			got := strings.ReplaceAll(strings.Join(w.fetches(), " "), home, "")
			if got != tt.fetched {
				t.Errorf("fetched %s, want %s", got, tt.fetched)
			}
			found := strings.HasSuffix(tt.fetched, "/keys")
			if ready := r.Ready() == nil; ready != found {
				t.Errorf("ready %t, want %t", ready, found)
			}
		})
	}
}

func TestMayHold(t *testing.T) {
	const loopback = "http://localhost:9000"
	for _, tt := range []struct {
		issuer, keys string
		want         bool
	}{
		{home, "https://keys.example.com/keys", true},
		{home, "http://id.example.com/keys", false},
		{home, "http://127.0.0.1/keys", false},
		{home, "https:///keys", false},
		{loopback, "http://127.0.0.1:9000/keys", true},
		{loopback, "https://id.example.com/keys", true},
		{loopback, "http://id.example.com/keys", false},
	} {
		t.Run(tt.issuer+" "+tt.keys, func(t *testing.T) {
			if got := mayHold(must(url.Parse(tt.issuer)), tt.keys); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// endless is a body of which no more than its first bytes may be read.
func endless(*http.Request) *http.Response {
	first := io.LimitReader(rand.Reader, 2*fetchBytes)
	rest := iotest.ErrReader(errors.New("too much is read"))
	return response(http.StatusOK, io.MultiReader(first, rest))
}

// slow is a body of a byte each second.
type slow struct{ ctx context.Context }

func (s slow) Read(b []byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(time.Second):
		b[0] = ' '
		return 1, nil
	}
}

func slowly(r *http.Request) *http.Response { return response(http.StatusOK, slow{r.Context()}) }

// A hostile issuer beside home changes nothing for home, and is in the log once.
func TestHostileIssuers(t *testing.T) {
	const (
		stranger = `it is of the issuer \"https://id.example.com\", want \"https://other.example.com/tenant\"`
		keys     = "/keys"
	)
	long := "http://" + strings.Repeat("a", 1000)
	many := document(map[string]any{"keys": make([]int, maxKeys+1)})
	huge := body(`{"keys":[]}%s`, strings.Repeat(" ", fetchBytes))

	for _, tt := range []struct {
		name, path string
		page       page
		want       string // in the log
	}{
		{"HTML", oidc, body("<html>"), "invalid character '<'"},
		{"another issuer", oidc, metadata(home, home+keys), stranger},
		{"issuer with a slash", oidc, metadata(other+"/", home+keys),
			`/tenant/\", want`},
		{"long issuer", oidc, metadata(long, home+keys), `aaa…\", want`},
		{"no https", oidc, metadata(other, "http://a.example"),
			"jwks_uri is"},
		{"long address", oidc, metadata(other, long), `aaa…\", want`},
		{"endless", keys, endless, "more than 524288 bytes"},
		{"huge", keys, huge, "more than 524288 bytes"},
		{"slow", keys, slowly, "deadline exceeded"},
		{"redirect", keys, reply(302, "{}"), "HTTP 302"},
		{"too many", keys, many,
			"there are 101, at most 100 are accepted"},
		{"none", keys, body("{}"), "the document has no list of keys"},
	} {
		inBubble(t, tt.name+" "+tt.path, func(t *testing.T) {
			w := newWeb(keyP256.jwk())
			w.publish(other, keyP256.jwk())
			w.pages.Store(other+tt.path, tt.page)
			r := start(t, w, twoIssuers)
			wait(5*time.Second + time.Millisecond)

			if got := r.log.String(); !strings.Contains(got, tt.want) {
				t.Errorf("log %s, want %s", got, tt.want)
			}
			r.check(keyP256, "", ok)
			r.check(keyP256, `{"iss":"`+other+`"}`, unavailable)

			wait(time.Minute)
			if got := strings.Count(r.log.String(), "level=WARN"); got != 1 {
				t.Errorf("%d warnings in a minute, want 1:\n%s", got, r.log)
			}
		})
	}
}

// Each key is in a list with a good one, which is accepted in any case.
func TestDecodeKeys(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	bits := func(n uint) any {
		modulus := new(big.Int).SetBit(big.NewInt(1), int(n-1), 1)
		const format = `{"kty":"RSA","kid":"key","e":"AQAB","n":%q}`
		return object(fmt.Sprintf(format, encode(modulus.Bytes())))
	}
	exponent := encode(keyRSA.private.(*rsa.PrivateKey).D.Bytes())
	const (
		malformed = "decoding key 1: it is malformed"
		left      = "the keys were read"
	)

	for _, tt := range []struct {
		name string
		key  any
		want string // in the log if it is not accepted
	}{
		{"for signatures", keyRSA.jwk(`{"use":"sig"}`), ""},
		{"with an algorithm", keyRSA.jwk(`{"alg":"RS256"}`), ""},
		{"RSA of 2048 bits", bits(2048), ""},
		{"RSA of 8192 bits", bits(8192), ""},
		{"RSA of 2047 bits", bits(2047),
			"decoding key 1: RSA of 2047 bits, want 2048 to 8192"},
		{"RSA of 8193 bits", bits(8193),
			"decoding key 1: RSA of 8193 bits, want 2048 to 8192"},
		{"for encryption", keyRSA.jwk(`{"use":"enc"}`), left},
		{"with an algorithm for encryption", keyRSA.jwk(`{"alg":"RSA-OAEP"}`),
			left},
		{"secret", object(`{"kty":"oct","k":"c2VjcmV0"}`), left},
		{"unknown type", object(`{"kty":"quantum"}`), left},
		{"private", keyRSA.jwk(`{"d":"` + exponent + `"}`),
			"decoding key 1: it is private"},
		{"point not on the curve", keyP256.jwk(`{"x":"AAAA"}`), malformed},
		{"RSA with a long exponent", keyRSA.jwk(`{"e":"AQABAQE"}`),
			malformed},
		{"RSA not in base64", keyRSA.jwk(`{"n":"*"}`), malformed},
		{"RSA exponent not in base64", keyRSA.jwk(`{"e":"*"}`), malformed},
		{"use is not text", keyRSA.jwk(`{"use":1}`), malformed},
		{"text", "key", malformed},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			r := start(t, newWeb(tt.key, keyP256.jwk()))

			r.check(keyP256, "", ok)
			accepted := len(r.issuers[home].keys) == 2
			if want := tt.want == ""; accepted != want {
				t.Errorf("accepted %t, want %t", accepted, want)
			}
			if got := r.log.String(); !strings.Contains(got, tt.want) {
				t.Errorf("log %s, want %s", got, tt.want)
			}
		})
	}
}

// Metadata and keys are read every 10 minutes, and 5 s after a failure.
func TestReadTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(keyP256.jwk())
		start(t, w)
		for _, step := range []struct {
			down  bool
			after time.Duration
			want  int // fetches
		}{
			{false, 0, 2},
			{false, 10*time.Minute - time.Millisecond, 0},
			{false, time.Millisecond, 2},
			{true, 10 * time.Minute, 1},
			{true, 5*time.Second - time.Millisecond, 0},
			{true, time.Millisecond, 1},
			{false, 5 * time.Second, 2},
			{false, 9 * time.Minute, 0},
		} {
			w.publish(home, keyP256.jwk())
			if step.down {
				w.pages.Store(home+oidc, body("down"))
			}
			time.Sleep(step.after)
			if got := w.fetches(); len(got) != step.want {
				t.Errorf("fetches %q after %s, want %d", got, step.after, step.want)
			}
		}
	})
}

// A request with an unknown key every few minutes does not put off the read of the metadata.
func TestUnknownKeysAndMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(keyP256.jwk())
		r := start(t, w)
		for range 10 {
			wait(4 * time.Minute)
			r.check(keyP256.as("unknown", jose.ES256), "", http.StatusUnauthorized)
		}

		reads := 0
		for _, u := range w.fetches() {
			if u == home+oidc {
				reads++
			}
		}
		if reads != 5 {
			t.Errorf("%d reads of the metadata in 40 minutes, want 5", reads)
		}
	})
}

// Requests with unknown keys cause few fetches, all at once and again and again for a minute.
func TestUnknownKeys(t *testing.T) {
	for _, tt := range []struct {
		name        string
		requests    int
		lasts       time.Duration
		least, most int // fetches
	}{
		{"at once", 500, 0, 1, 4},
		{"for a minute", 20, time.Minute, 10, 14},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := newWeb(keyP256.jwk())
			r := start(t, w)
			time.Sleep(time.Minute)
			w.fetches()

			var all sync.WaitGroup
			waited := make(chan bool, tt.requests)
			began := time.Now()
			for n := range tt.requests {
				key := keyP256.as(fmt.Sprint(n), jose.ES256)
				all.Go(func() {
					r.check(key, "", refused)
					if time.Now() != began {
						waited <- true
					}
					for time.Since(began) < tt.lasts {
						time.Sleep(time.Millisecond)
						r.check(key, "", refused)
					}
				})
			}
			all.Wait()

			if got := len(w.fetches()); got < tt.least || got > tt.most {
				t.Errorf("%d fetches, want %d to %d", got, tt.least, tt.most)
			}
			if got := len(waited); got > maxWaiting {
				t.Errorf("%d requests waited, want at most %d", got, maxWaiting)
			}
		})
	}
}

// A new key is accepted within 6 s, also when a read goes on that has missed it.
func TestNewKey(t *testing.T) {
	for _, tt := range []struct {
		name  string
		since time.Duration // the first read
		read  time.Duration // how long a read of the keys lasts
	}{
		{"just after a read", 0, 0},
		{"long after a read", time.Minute, 0},
		{"during a read", 10*time.Minute + time.Millisecond, time.Second},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := newWeb(keyP256.jwk())
			r := start(t, w)
			old, _ := w.pages.Load(home + "/keys")
			w.pages.Store(home+"/keys", page(func(r *http.Request) *http.Response {
				time.Sleep(tt.read)
				return old.(page)(r)
			}))
			wait(tt.since)

			w.publish(home, keyP256.jwk(), keyP384.jwk())
			began := time.Now()
			r.check(keyP384, "", ok)
			if took := time.Since(began); took > 6*time.Second {
				t.Errorf("accepted after %s, want 6 s at most", took)
			}
			r.check(keyP256, "", ok)
		})
	}
}

// A removed key is refused, and the URL of the keys changes, with the next read of the metadata.
func TestRemovedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(keyP256.jwk())
		w.publish(other, keyP384.jwk())
		r := start(t, w)
		w.pages.Store(home+oidc, metadata(home, other+"/keys"))
		w.pages.Delete(home + "/keys")

		r.check(keyP256, "", ok)
		r.check(keyP384, "", unavailable)
		wait(RetryTime)
		r.check(keyP384, "", ok)
		r.check(keyP256, "", refused)

		w.pages.Store(other+"/keys", body(`{"keys":[]}`))
		wait(refreshTime)
		r.check(keyP384, "", refused)
		if err := r.Ready(); err != nil {
			t.Errorf("Ready() = %v, want nil", err)
		}
	})
}

// Until the keys were read once, tokens are refused at once. Then they are accepted also while the
// issuer is down, which is in the log once each time.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb()
		w.pages.Store(home+oidc, page(slowly))
		r := start(t, w)
		began := time.Now()
		r.check(keyP256, "", unavailable)
		if took := time.Since(began); took > 0 {
			t.Errorf("refused after %s, want at once", took)
		}

		w.publish(home, keyP256.jwk())
		wait(time.Minute)
		r.check(keyP256, "", ok)

		w.pages.Clear()
		r.check(keyP384, "", unavailable)
		time.Sleep(11 * time.Minute)
		r.check(keyP256, "", ok)
		r.check(keyP384, "", unavailable)
		if err := r.Ready(); err != nil {
			t.Errorf("Ready() = %v, want nil", err)
		}
		if got := strings.Count(r.log.String(), "level=WARN"); got != 2 {
			t.Errorf("%d warnings, want one for each time that it was down:\n%s", got, r.log)
		}
	})
}

// The wait for a key ends with the request, and with Run.
func TestWaitEnds(t *testing.T) {
	for _, tt := range []struct {
		name      string
		call, run time.Duration // when the context ends
	}{
		{"with the request", time.Second, time.Hour},
		{"with Run", time.Hour, time.Second},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := newWeb(keyP256.jwk())
			r := must(New(valid(func(o *Options) { o.Client = &http.Client{Transport: w} })))
			until := func(d time.Duration) context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), d)
				t.Cleanup(cancel)
				return ctx
			}
			go r.Run(until(tt.run))
			synctest.Wait()

			began := time.Now()
			_, err := r.Verify(until(tt.call), keyP384.sign("", ""))
			if !errors.Is(err, errUnavailable) {
				t.Errorf("error %v, want %v", err, errUnavailable)
			}
			if took := time.Since(began); took != time.Second {
				t.Errorf("the wait lasted %s, want 1 s", took)
			}
		})
	}
}

// An issuer does not sign for another.
func TestTwoIssuers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(keyRSA.jwk())
		w.publish(other, otherRSA.jwk())
		r := start(t, w, twoIssuers)

		const ofOther = `{"iss":"` + other + `"}`
		r.check(keyRSA, "", ok)
		r.check(otherRSA, ofOther, ok)
		r.check(keyRSA, ofOther, refused)
	})
}
