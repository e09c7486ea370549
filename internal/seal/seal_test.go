package seal

import (
	"strings"
	"testing"
	"time"
)

const (
	old = "an old secret of 32 characters.."
	now = "a secret of at least 32 characters"
)

var (
	created = time.Date(2026, 11, 22, 1, 2, 3, 4e6, time.UTC)
	task    = Task{created, "answer_detailed", "resp_1"}
	alice   = Owner{"token:alice", "https://api.example/v1"}
	both    = []string{old, now}
)

// An id can be opened with each of the secrets, and does not show its task.
func TestOpen(t *testing.T) {
	for _, secret := range both {
		t.Run(secret, func(t *testing.T) {
			id := Seal(task, secret, alice)
			if strings.Contains(id, "resp") || id == Seal(task, secret, alice) {
				t.Errorf("id %q is readable, or not random", id)
			}

			got, ok := Open(id, both, alice)
			if got != task || !ok {
				t.Errorf("opened %t, %+v, want %+v", ok, got, task)
			}
		})
	}
}

// Other ids cannot be opened, and none by others.
func TestRefused(t *testing.T) {
	id := Seal(task, now, alice)

	for _, tt := range []struct {
		name  string
		id    string
		owner Owner
	}{
		{"another secret", Seal(task, "another", alice), alice},
		{"another person", id, Owner{"token:bob", alice.BaseURL}},
		{"anonymous", id, Owner{"", alice.BaseURL}},
		{"another API", id, Owner{alice.Person, ""}},
		{"NUL in the person", id, Owner{string(alice.data()), ""}},
		{"changed", strings.ToUpper(id), alice},
		{"longer", id + "AAAA", alice},
		{"empty", "", alice},
		{"line break", id + "\n", alice},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Open(tt.id, both, tt.owner)
			if ok {
				t.Errorf("opened %+v", got)
			}
		})
	}
}
