package llm

import (
	"net/http"
	"testing"
)

// BenchmarkStream reads a long answer: 5,000 deltas.
func BenchmarkStream(b *testing.B) {
	payloads := []string{eventCreated, eventItem, eventPart}
	for range 5000 {
		payloads = append(payloads, `{"type":"response.output_text.delta","sequence_number":12,"output_index":0,"item_id":"msg_1","content_index":0,"delta":"word ","logprobs":[],"obfuscation":"abcdefgh"}`)
	}
	api := &scripted{steps: []step{sseStep(append(payloads, eventCompleted)...)}}
	c := New(Options{BaseURL: "http://api.test/v1", APIKey: testKey, HTTPClient: &http.Client{Transport: api}})
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range c.Stream(b.Context(), question()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
