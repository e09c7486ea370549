package llm

import (
	"encoding/json"
	"testing"
)

// What is not set is not sent, but a stream is asked for. The scripts of the binary have the other
// bodies.
func TestEmptyRequest(t *testing.T) {
	c, api := newClient(0, answer(200, finished))
	_, err := c.Create(t.Context(), &Call{}, Request{Profile: Profile{Model: "gpt-4.1"}})

	wantSuccess(t, err)
	wantEqual(t, "body", api.bodies[0], object(t, `{"model": "gpt-4.1", "input": null,
		"tool_choice": "auto", "store": false, "parallel_tool_calls": true, "stream": true}`))
}

func object(t *testing.T, text string) (members map[string]any) {
	t.Helper()
	err := json.Unmarshal([]byte(text), &members)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}

	return members
}
