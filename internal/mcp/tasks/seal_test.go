package tasks

import (
	"reflect"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

const (
	oldSecret = "an old secret of 32 characters.."
	newSecret = "a secret of at least 32 characters"
	baseURL   = "https://api.example/v1"
)

var (
	began = time.Date(2026, 11, 22, 1, 2, 3, 4e6, time.UTC)
	task  = answer.ResponseRef{
		CallBegan:   began,
		Tool:        "answer_detailed",
		ResponseID:  "resp_1",
		Excluded:    "a.example b.example",
		Reservation: 0xfedc,
		GivenOut:    true,
	}
	alice = ownerOf("token:alice", baseURL)
	both  = []string{oldSecret, newSecret}
)

// An id has all of its task, and another one each time.
func TestOpen(t *testing.T) {
	for field, value := range reflect.ValueOf(task).Fields() {
		if value.IsZero() {
			t.Errorf("the task of this test has no %s", field.Name)
		}
	}
	id := seal(task, newSecret, alice)
	if id == seal(task, newSecret, alice) {
		t.Errorf("id %q is not random", id)
	}

	got, ok := unseal(id, both, alice)
	if got != task || !ok {
		t.Errorf("opened %t, %+v, want %+v", ok, got, task)
	}

	// Later versions open an id of this one, here without excluded domains.
	const old = "fYyEps3uuDzq100R-8zaejE6ANTfAb4LNGtH0S_PMGt6yea1R1XidCHA45gsx4w4C7W5_WC1" +
		"BGLsdg"
	want := task
	want.Excluded = ""
	got, ok = unseal(old, both, alice)
	if got != want || !ok {
		t.Errorf("opened %t, %+v, want %+v", ok, got, want)
	}
}

// Other ids cannot be opened, and none by others.
func TestRefused(t *testing.T) {
	id := seal(task, newSecret, alice)

	for _, tt := range []struct {
		name  string
		id    string
		owner []byte
	}{
		{"anonymous", id, ownerOf("", baseURL)},
		{"another API", id, ownerOf("token:alice", "")},
		{"NUL in the person", id, ownerOf(string(alice), "")},
		{"longer", id + "AAAA", alice},
		{"shorter", id[4:], alice},
		{"empty", "", alice},
		{"line break", id + "\n", alice},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := unseal(tt.id, both, tt.owner)
			if ok {
				t.Errorf("opened %+v", got)
			}
		})
	}
}
