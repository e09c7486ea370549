package tasks

import (
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const (
	oldSecret = "an old secret of 32 characters.."
	newSecret = "a secret of at least 32 characters"
	baseURL   = "https://api.example/v1"
)

var (
	began = time.Date(2026, 11, 22, 1, 2, 3, 4e6, time.UTC)
	task  = answer.Origin{
		Created:  began,
		Tool:     "answer_detailed",
		Response: "resp_1",
		Excluded: "a.example b.example",
	}
	alice = owner("token:alice", baseURL)
	both  = []string{oldSecret, newSecret}
)

// An id has all of its task, and another one each time.
func TestOpen(t *testing.T) {
	id := seal(task, newSecret, alice)
	if id == seal(task, newSecret, alice) {
		t.Errorf("id %q is not random", id)
	}

	got, ok := open(id, both, alice)
	if got != task || !ok {
		t.Errorf("opened %t, %+v, want %+v", ok, got, task)
	}
}

// Ids of the first format, without a version, stay readable.
func TestOpenFirst(t *testing.T) {
	const id = "nv5-JWgvNVt7aRD3onfuP4Mj9xJ87J08WIMrJa0J1vARDoI8yveEdtbucDBSaP0DSayIO6ZN5gDrPg"
	want := task
	want.Excluded = ""
	got, ok := open(id, both, alice)
	if got != want || !ok {
		t.Errorf("opened %t, %+v, want %+v", ok, got, want)
	}

	grown := len(seal(want, newSecret, alice)) - len(id)
	compare.Equal(t, "characters more", grown, len(version))
}

// Other ids cannot be opened, and none by others.
func TestRefused(t *testing.T) {
	id := seal(task, newSecret, alice)

	for _, tt := range []struct {
		name  string
		id    string
		owner []byte
	}{
		{"anonymous", id, owner("", baseURL)},
		{"another API", id, owner("token:alice", "")},
		{"NUL in the person", id, owner(string(alice), "")},
		{"longer", id + "AAAA", alice},
		{"without its version", strings.TrimPrefix(id, version), alice},
		{"another version", strings.Replace(id, version, "v3:", 1), alice},
		{"empty", "", alice},
		{"line break", id + "\n", alice},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := open(tt.id, both, tt.owner)
			if ok {
				t.Errorf("opened %+v", got)
			}
		})
	}
}
