package oauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The metadata is at one of two paths. Keys are on https, or on loopback if the issuer is there.
func TestDiscovery(t *testing.T) {
	paths := strings.NewReplacer("OIDC", oidc, "RFC8414", rfc8414)
	for _, row := range compare.Table(t, "discovery", 5) {
		compare.Bubble(t, row[0], func(t *testing.T) {
			w := newWeb()
			w.pages.Delete(home + oidc)
			w.pages.Store(paths.Replace(row[2]), metadata(row[1], row[3]))

			start(t, w, fmt.Sprintf(`{"Issuers":[%q]}`, row[1]))

			got := strings.ReplaceAll(strings.Join(w.fetches(), " "), home, "")
			compare.Equal(t, "fetched", got, paths.Replace(row[4]))
		})
	}
}

// The next place is asked where the first does not have the metadata, but not where it fails.
func TestElsewhere(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name   string
		Status int
		Body   string
		Want   int
	}](t, "elsewhere") {
		compare.Bubble(t, tt.Name, func(t *testing.T) {
			w := newWeb(keyP256)
			w.pages.Store(home+rfc8414, metadata(home, home+"/keys"))
			w.pages.Store(home+oidc, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.Status)
				fmt.Fprint(w, tt.Body)
			}))

			start(t, w, "{}").check(tt.Want, keyP256)
		})
	}
}

// A hostile issuer beside home changes nothing for home, and is in the log once.
func TestHostileIssuers(t *testing.T) {
	for _, row := range compare.Table(t, "hostile", 4) {
		compare.Bubble(t, row[0], func(t *testing.T) {
			page := body(row[2])
			switch row[2] {
			case "SLOW":
				page = slowly
			case "REDIRECT":
				page = http.RedirectHandler(home+"/keys", http.StatusFound).ServeHTTP
			}
			w := newWeb(keyP256)
			w.publish(other, keyP256)
			w.pages.Store(other+row[1], page)

			r := start(t, w, twoIssuers)
			wait(5*time.Second + time.Millisecond)

			compare.Contains(t, "log", r.log.String(), row[3])
			r.check(200, keyP256)
			r.check(503, keyP256, `{"iss":"`+other+`"}`)

			wait(time.Minute)
			r.warned(1)
		})
	}
}

// Each key is in a list with a good one, which is accepted in any case.
func TestDecodeKeys(t *testing.T) {
	published := func(key signingKey) string {
		return string(must(key.Public().MarshalJSON()))
	}
	bits := func(n uint) string {
		modulus := new(big.Int).SetBit(big.NewInt(1), int(n-1), 1)
		return fmt.Sprintf(`{"n":%q}`, base64.RawURLEncoding.EncodeToString(modulus.Bytes()))
	}
	for _, tt := range compare.Rows[struct {
		Changes string
		Both    bool
		Log     string
	}](t, "decode-keys") {
		compare.Bubble(t, tt.Changes, func(t *testing.T) {
			changes := tt.Changes
			var n uint
			if _, err := fmt.Sscanf(changes, "BITS %d", &n); err == nil {
				changes = bits(n)
			}
			w := newWeb()
			first := must(json.Marshal(object(published(keyRSA), changes)))
			keys := fmt.Sprintf(`{"keys":[%s,%s]}`, first, published(keyP256))
			w.pages.Store(home+"/keys", body(keys))

			r := start(t, w, "{}")
			r.check(200, keyP256)

			both := len(r.issuers[home].published.Load().keys) == 2
			compare.Equal(t, "accepted", both, tt.Both)
			compare.Contains(t, "log", r.log.String(), tt.Log)
		})
	}
}

// Requests with unknown keys cause few fetches. They do not put off the read of the metadata. Those
// that cannot wait for a read may come again: their person need not sign in.
func TestUnknownKeys(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name         string
		Requests     int
		Pause, Lasts time.Duration
		Least, Most  int // fetches
	}](t, "unknown-keys") {
		compare.Bubble(t, tt.Name, func(t *testing.T) {
			w := newWeb(keyP256)
			r := start(t, w, "{}")

			time.Sleep(MinReadInterval)
			w.fetches()

			var all sync.WaitGroup
			var again atomic.Int64
			began := time.Now()
			for range tt.Requests {
				all.Go(func() {
					_, err := r.Verify(t.Context(), keyP384.sign())
					if errors.Is(err, errReading) {
						again.Add(1)
					}

					for time.Since(began) < tt.Lasts {
						time.Sleep(tt.Pause)
						r.check(401, keyP384)
					}
				})
			}
			all.Wait()

			fetches := len(w.fetches())
			if fetches < tt.Least || fetches > tt.Most {
				t.Errorf("%d fetches, want %d to %d", fetches, tt.Least, tt.Most)
			}
			least := max(0, tt.Requests-maxWaiting*fetches)
			most := max(0, tt.Requests-maxWaiting)
			if got := int(again.Load()); got < least || got > most {
				t.Errorf("%d requests may come again, want %d to %d", got, least, most)
			}
		})
	}
}

// A new key is accepted within 6 s, also when a read goes on that has missed it.
func TestNewKey(t *testing.T) {
	for name, since := range map[string]time.Duration{ // the first read
		"just after a read": 0,
		"during a read":     10*time.Minute + time.Millisecond,
	} {
		compare.Bubble(t, name, func(t *testing.T) {
			w := newWeb(keyP256)
			r := start(t, w, "{}")

			old, _ := w.pages.Load(home + "/keys")
			slow := func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second)
				old.(http.HandlerFunc)(w, r)
			}
			w.pages.Store(home+"/keys", http.HandlerFunc(slow))
			wait(since)

			w.publish(home, keyP256, keyP384)

			began := time.Now()
			r.check(200, keyP384)
			if took := time.Since(began); took > 6*time.Second {
				t.Errorf("accepted after %s, want 6 s at most", took)
			}
		})
	}
}

// A key that changed under its id is accepted 5 s after the last read. Wrong signatures cause a
// read every 5 s.
func TestChangedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(keyRSA)
		r := start(t, w, "{}")
		w.publish(home, otherRSA)
		wait(MinReadInterval - time.Millisecond)
		r.check(401, otherRSA)
		wait(time.Millisecond)
		r.check(200, otherRSA)

		w.fetches()
		for range 60 {
			r.check(401, keyRSA)
			wait(time.Second)
		}
		if got := w.fetches(); len(got) > 12 {
			t.Errorf("fetches in a minute: %q, want at most 12", got)
		}
	})
}

// Requests with an unknown key do not delay the next read of the metadata.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(keyRSA)
		began := time.Now()
		late := time.Duration(0)
		page := metadata(home, home+"/keys")
		w.pages.Store(home+oidc, http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
			late = max(late, time.Since(began)%refreshInterval)
			page(res, req)
		}))

		r := start(t, w, "{}")
		wait(7 * time.Second) // so that a request waits when a read is due
		for time.Since(began) < 10*refreshInterval {
			r.check(401, keyP256)
			wait(time.Second)
			w.fetches()
		}
		if late > MinReadInterval {
			t.Errorf("the metadata is read %v late", late)
		}
	})
}

// A removed key is refused, and the URL of the keys changes, with the next read of the metadata.
func TestRemovedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(keyP256)
		w.publish(other, keyP384)
		r := start(t, w, "{}")

		w.pages.Store(home+oidc, metadata(home, other+"/keys"))
		w.pages.Delete(home + "/keys")

		r.check(200, keyP256)
		r.check(503, keyP384)

		wait(MinReadInterval)
		r.check(200, keyP384)
		r.check(401, keyP256)

		w.pages.Store(other+"/keys", body(`{"keys":[]}`))
		wait(refreshInterval)
		r.check(401, keyP384)
	})
}

// Until the keys were read once, tokens are refused at once. Then they are accepted also while the
// issuer is down. The log has each cause once.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb()
		w.pages.Store(home+oidc, http.HandlerFunc(slowly))
		r := start(t, w, "{}")

		began := time.Now()
		r.check(503, keyP256)
		compare.Equal(t, "time until it is refused", time.Since(began), 0)

		w.pages.Store(home+oidc, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			metadata(fmt.Sprint("https://x:", time.Now().Unix()), "")(w, r) // as an error with a port
		}))
		wait(time.Minute)
		r.warned(2)

		w.publish(home, keyP256)
		wait(time.Minute)
		r.check(200, keyP256)

		w.pages.Clear()
		r.check(503, keyP384)

		time.Sleep(11 * time.Minute)
		r.check(200, keyP256)
		r.check(503, keyP384)

		compare.Equal(t, "CheckKeysRead()", r.CheckKeysRead(), nil)
		r.warned(4) // no keys, then no metadata
	})
}

// The wait for a key ends with the request, and with the program.
func TestWaitEnds(t *testing.T) {
	for _, tt := range []struct {
		name      string
		call, run time.Duration // when the context ends
		err       error
	}{
		{"with the request", time.Second, time.Hour, errUnavailable},
		{"with Run", time.Hour, time.Second, errStopping},
	} {
		compare.Bubble(t, tt.name, func(t *testing.T) {
			w := newWeb(keyP256)
			o := valid("{}")
			o.Client.Transport = w
			r := must(New(o))

			until := func(d time.Duration) context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), d)
				t.Cleanup(cancel)
				return ctx
			}
			go r.FollowKeys(until(tt.run))
			synctest.Wait()

			began := time.Now()
			_, err := r.Verify(until(tt.call), keyP384.sign())
			compare.Equal(t, "error", err, tt.err, cmpopts.EquateErrors())
			compare.Equal(t, "time", time.Since(began), time.Second)
		})
	}
}

// An issuer does not sign for another, and its alice is another person.
func TestTwoIssuers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(keyRSA)
		w.publish(other, otherRSA)
		r := start(t, w, twoIssuers)

		const ofOther = `{"iss":"` + other + `"}`
		r.check(200, keyRSA)
		r.check(200, otherRSA, ofOther)
		r.check(401, keyRSA, ofOther)

		person, _ := r.Verify(t.Context(), otherRSA.sign(ofOther))
		compare.Equal(t, "alice of the other one", person.ID, other+" alice")
	})
}
