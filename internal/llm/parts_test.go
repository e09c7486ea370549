package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the parts of a value are, encoding/json says.
func FuzzParts(f *testing.F) {
	for _, s := range []string{
		`{}`, ` [ ] `, `null`, `"[1]"`, `12`, ``, `{"a":1,"b":[{"c":"}"},2],"a":{"d":null}}`,
		`[1, -2.5e3 ,true,"a\"b","\\",{"x":"\\\""},[[]],""]`, "{\r\n\t\"k\" : \"v\" , \"\\u006b2\":\"\\ud83d\\ude00\"}",
		"{\"\xff\":\"\xff\"}", `{"a":{"b":{"c":[{"d":"e"}]}}}`, `[`, `{"a`, `{"a":`, `]`, `["\`, `{"a" "b"}`, `[1 2]`, `{,}`,
		`01`, `-`, `1.`, `.5`, `+1`, `1E`, `tru`, `"\u12"`, `"\x"`, "\"\x01\"", "\xff", `[1,]`, "\ufeff{}", "[]\x00", `{1:2}`,
		strings.Repeat("[", deepest) + strings.Repeat("]", deepest), strings.Repeat("[", deepest+1) + strings.Repeat("]", deepest+1),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var o map[string]json.RawMessage
		var list []json.RawMessage
		gotO, gotList := objectOf(data), listOf(data) // must end, whatever data is
		if got, want := valid(data), json.Valid(data); got != want {
			t.Fatalf("valid(%q) = %v, want %v", data, got, want)
		}
		if !json.Valid(data) {
			return
		}
		_ = json.Unmarshal(data, &o)
		_ = json.Unmarshal(data, &list)
		var got map[string]json.RawMessage
		if gotO != nil {
			got = map[string]json.RawMessage{}
		}
		for _, f := range gotO {
			got[string(f.name)] = gotO.get(string(f.name))
		}
		if diff := cmp.Diff(o, got); diff != "" {
			t.Errorf("objectOf(%q) (-encoding/json +got):\n%s", data, diff)
		}
		if diff := cmp.Diff(list, gotList); diff != "" {
			t.Errorf("listOf(%q) (-encoding/json +got):\n%s", data, diff)
		}
		var want string
		_ = json.Unmarshal(data, &want)
		if got, _ := stringOf(trimmed(data)); got != want {
			t.Errorf("stringOf(%q) = %q, want %q", data, got, want)
		}
	})
}

// trimmed is a value without the space around it, as a part is.
func trimmed(data []byte) json.RawMessage {
	var raw json.RawMessage
	_ = json.Unmarshal(data, &raw)
	return raw
}
