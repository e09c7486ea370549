package cli

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// fault is something wrong with a patient, and the check that must say so.
type fault struct {
	name    string
	prepare func(*testing.T) *patient
	want    ill
}

// ill is a check that must fail or warn, naming the fault and its cure.
type ill struct {
	check, text, cure string
	verdict           doctor.Verdict
}

func TestDoctorKey(t *testing.T) {
	examineAll(t, []fault{
		{"no key", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{Key: secret})
			p := newPatient(t, base)
			delete(p.env, "OPENAI_API_KEY")
			return p
		}, ill{"key", "OPENAI_API_KEY is not set", "set OPENAI_API_KEY", doctor.Fail}},
		{"wrong key", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{Key: "another"})
			return newPatient(t, base)
		}, ill{"key", "OPENAI_API_KEY is set, but the API refused the key (401)", "into OPENAI_API_KEY", doctor.Fail}},
		{"a key with a line break", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{})
			p := newPatient(t, base)
			p.env["OPENAI_API_KEY"] = "sk\nkey"
			return p
		}, ill{"key", "line break", "set OPENAI_API_KEY to the key alone, in one line", doctor.Fail}},
		{"unverified organization", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{}, "unverified")
			p := newPatient(t, base)
			p.args = []string{"--live"}
			return p
		}, ill{"live", "streaming is refused", "https://platform.openai.com/settings/organization/general", doctor.Warn}},
		{"quota", func(t *testing.T) *patient {
			base, api := serve(t, fakeapi.Options{})
			api.Always(must(t, "ok"))
			api.Queue(must(t, "ok"), must(t, "quota"), must(t, "ok"), must(t, "quota"))
			p := newPatient(t, base)
			p.args = []string{"--live"}
			return p
		}, ill{"live", "quota exceeded (429)", "check plan, credit and limits", doctor.Fail}},
		{"a key without the right to see models", func(t *testing.T) *patient {
			return newPatient(t, body(t, http.StatusForbidden, `{"error":{"message":"Missing scopes: api.model.read","code":"missing_scope"}}`))
		}, ill{"http", "Missing scopes: api.model.read", "--live", doctor.Warn}},
	})
}

func TestDoctorConnection(t *testing.T) {
	examineAll(t, []fault{
		{"wrong URL", func(t *testing.T) *patient { return newPatient(t, page(t)) },
			ill{"http", "(404)", "check openai.base_url (OPENAI_BASE_URL)", doctor.Fail}},
		{"URL without version", func(t *testing.T) *patient {
			return newPatient(t, body(t, http.StatusNotFound, `{"error":{"message":"Invalid URL (GET /models/gpt-5.2)","type":"invalid_request_error"}}`))
		}, ill{"http", "Invalid URL", "it ends with the version", doctor.Fail}},
		{"a server without models", func(t *testing.T) *patient { return newPatient(t, body(t, http.StatusNotFound, "{}")) },
			ill{"http", "not found (404)", "https://api.openai.com/v1, or see with --live whether it answers questions", doctor.Fail}},
		{"a server that refuses GET", func(t *testing.T) *patient { return newPatient(t, body(t, http.StatusMethodNotAllowed, "")) },
			ill{"http", "(405)", "check openai.base_url (OPENAI_BASE_URL), or see with --live whether it answers questions", doctor.Fail}},
		{"a server that has no GET", func(t *testing.T) *patient { return newPatient(t, body(t, http.StatusNotImplemented, "")) },
			ill{"http", "(501)", "check openai.base_url (OPENAI_BASE_URL), or see with --live whether it answers questions", doctor.Fail}},
		{"plain HTTP at a server with TLS", func(t *testing.T) *patient { return newPatient(t, strings.Replace(untrusted(t), "https", "http", 1)) },
			ill{"http", "(400): Bad Request: Client sent an HTTP request to an HTTPS server", "check http or https in openai.base_url (OPENAI_BASE_URL)", doctor.Fail}},
		{"refused", func(t *testing.T) *patient { return newPatient(t, "http://"+closed(t)+"/v1") },
			ill{"tcp", "connection refused by 127.0.0.1:", "check openai.base_url", doctor.Fail}},
		{"TLS, unknown CA", func(t *testing.T) *patient { return newPatient(t, untrusted(t)) },
			ill{"tls", "cannot verify the TLS certificate", "SSL_CERT_FILE", doctor.Fail}},
		{"TLS at a plain server", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{})
			return newPatient(t, strings.Replace(base, "http", "https", 1))
		}, ill{"tls", "does not speak TLS", "openai.base_url", doctor.Fail}},
	})
}

func TestDoctorModels(t *testing.T) {
	today := []fakeapi.Model{{ID: "gpt-5.2"}, {ID: "gone", ShutdownDate: "2026-01-31"}, {ID: "late", ShutdownDate: "2999-12-31"}}
	examineAll(t, []fault{
		{"unknown model", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{Models: today})
			p := newPatient(t, base)
			p.args = []string{"--model", "gpt-9"}
			return p
		}, ill{"model answer", "gpt-9: model not found (404)", "model_profiles.answer.model (--model)", doctor.Fail}},
		{"retired model", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{Models: today})
			p := newPatient(t, base)
			p.file(t, "model_profiles:\n  answer_quick:\n    model: gone\n")
			return p
		}, ill{"model answer_quick", "gone was shut down on 2026-01-31", "config.yaml:3", doctor.Fail}},
		{"a model that stays", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{Models: today})
			p := newPatient(t, base)
			p.env["MODEL_ANSWER"] = "late"
			return p
		}, ill{"model answer", "late is there until 2999-12-31; effort and verbosity are not sent", "", doctor.OK}},
	})
}

func TestDoctorFiles(t *testing.T) {
	examineAll(t, []fault{
		{"broken YAML", func(t *testing.T) *patient {
			p := newPatient(t, "http://127.0.0.1:1")
			p.file(t, "policy:\n  max_citations: 50\n")
			return p
		}, ill{"config", "config.yaml:2: policy.max_citations: 50 is not in 1..10", "correct it there", doctor.Fail}},
		{"a file that is not there", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{})
			p := newPatient(t, base)
			p.args = []string{"--config", "nowhere.yaml"}
			return p
		}, ill{"config", "nowhere.yaml does not exist", "correct it or take it out", doctor.Warn}},
		{"unreadable policy", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{})
			p := newPatient(t, base)
			p.file(t, "policy:\n  system:\n    source: file\n    path: nowhere.md\n")
			return p
		}, ill{"policy", "reading policy", "correct policy.system.path (", doctor.Fail}},
		{"read-only debug file", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{})
			p := newPatient(t, base)
			p.args = []string{"--debug=" + readOnly(t)}
			return p
		}, ill{"debug", "debug file", "correct server.debug_file (--debug): a file that can be written", doctor.Fail}},
		{"a debug file that was made read-only", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{})
			p := newPatient(t, base)
			file := filepath.Join(t.TempDir(), "debug.log")
			if err := os.WriteFile(file, nil, 0o444); err != nil {
				t.Fatal(err)
			}
			p.file(t, "server: { debug: true, debug_file: "+strconv.Quote(file)+" }\n")
			return p
		}, ill{"debug", "it is read-only", "correct server.debug_file (", doctor.Fail}},
		{"a debug file whose folder is missing", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{})
			p := newPatient(t, base)
			p.env["DEBUG"] = filepath.Join(t.TempDir(), "nowhere", "debug.log")
			return p
		}, ill{"debug", "is not there, make it first", "correct server.debug_file (DEBUG)", doctor.Fail}},
		{"no YAML", func(t *testing.T) *patient {
			p := newPatient(t, "http://127.0.0.1:1")
			p.file(t, "openai:\n  base_url: [\n")
			return p
		}, ill{"config", "config.yaml:2: not YAML", "correct it there", doctor.Fail}},
		{"a header without its variable", func(t *testing.T) *patient {
			base, _ := serve(t, fakeapi.Options{})
			p := newPatient(t, base)
			p.file(t, "openai: { headers: { X-Gateway: '${GATEWAY_TOKEN}' } }\n")
			return p
		}, ill{"config", "GATEWAY_TOKEN is not set", "set the variable where the client starts the server", doctor.Warn}},
	})
}

// examineAll has doctor find each fault, and nothing beside it.
func examineAll(t *testing.T, faults []fault) {
	t.Helper()
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			code, text, checks := tt.prepare(t).examine(t)
			var got doctor.Check
			for _, c := range checks {
				if c.Name == tt.want.check && c.Verdict == tt.want.verdict {
					got = c
				}
			}
			if got.Name == "" || !strings.Contains(got.Text, tt.want.text) || !strings.Contains(got.Cure, tt.want.cure) {
				t.Errorf("no %s of %q with %q -> %q in\n%s", tt.want.verdict, tt.want.check, tt.want.text, tt.want.cure, text)
			}
			if tt.want.verdict == doctor.Fail && code != exitFailed {
				t.Errorf("exit %d, want %d", code, exitFailed)
			}
			// One fault, one cure: what follows from it is not one more.
			cures := map[string]bool{}
			for _, c := range checks {
				if c.Verdict == doctor.Fail {
					cures[c.Cure] = true
				}
			}
			if tt.want.verdict == doctor.Fail && len(cures) != 1 {
				t.Errorf("%d cures, want 1:\n%s", len(cures), text)
			}
		})
	}
}

func must(t *testing.T, word string) fakeapi.Step {
	t.Helper()
	step, err := fakeapi.ParseStep(word)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// page is a web server that is no API.
func page(t *testing.T) string {
	return body(t, http.StatusNotFound, "<!DOCTYPE html><title>404</title>")
}

func body(t *testing.T, status int, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// untrusted is an API whose certificate nobody vouches for.
func untrusted(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(fakeapi.New(fakeapi.Options{}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// closed is an address where nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// readOnly is a file that cannot be written, by root neither: it is a folder.
func readOnly(t *testing.T) string { return t.TempDir() }
