package seal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	old = "an old secret of 32 characters.."
	now = "a secret of at least 32 characters"
)

var (
	task = Task{
		Created:  time.Date(2026, 11, 22, 1, 2, 3, 4e6, time.UTC),
		Tool:     "answer_detailed",
		Response: "resp_1",
	}
	alice = Owner{Person: "token:alice", BaseURL: "https://api.example/v1"}
)

// Which ids can be opened, and by whom.
func TestOpen(t *testing.T) {
	id := Seal(task, now, alice)
	if strings.Contains(id, "resp") || id == Seal(task, now, alice) {
		t.Errorf("id %q is readable, or not random", id)
	}

	other := byte('A')
	if id[len(id)/2] == other {
		other = 'B'
	}
	changed := id[:len(id)/2] + string(other) + id[len(id)/2+1:]

	for _, tt := range []struct {
		name    string
		id      string
		secrets []string
		owner   Owner
		want    bool
	}{
		{"first secret", id, []string{now, old}, alice, true},
		{"previous secret", id, []string{old, now}, alice, true},
		{"secret not listed", id, []string{old}, alice, false},
		{"no secret", id, nil, alice, false},
		{"another person", id, []string{now}, Owner{"token:bob", alice.BaseURL}, false},
		{"anonymous", id, []string{now}, Owner{"", alice.BaseURL}, false},
		{"another API", id, []string{now}, Owner{alice.Person, "https://b.example/v1"}, false},
		{"NUL in the person", id, []string{now}, Owner{Person: string(alice.data())}, false},
		{"changed", changed, []string{now}, alice, false},
		{"longer", id + "AAAA", []string{now}, alice, false},
		{"cut off", id[:len(id)-4], []string{now}, alice, false},
		{"short", "AAAA", []string{now}, alice, false},
		{"empty", "", []string{now}, alice, false},
		{"line break", id + "\n", []string{now}, alice, false},
		{"not base64", "resp_1!", []string{now}, alice, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Open(tt.id, tt.secrets, tt.owner)
			if ok != tt.want {
				t.Fatalf("opened: %t, want %t", ok, tt.want)
			}

			var want Task
			if tt.want {
				want = task
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("task (-want +got):\n%s", diff)
			}
		})
	}
}
