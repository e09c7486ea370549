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

// What encoding/json finds too deep, valid does; neither runs out of stack.
func TestValidDepth(t *testing.T) {
	for _, depth := range []int{deepest, deepest + 1, 1 << 20} {
		data := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		if got, want := valid(data), json.Valid(data); got != want || got != (depth == deepest) {
			t.Errorf("valid of %d arrays in each other is %v, of encoding/json %v", depth, got, want)
		}
	}
}

// A part that grows does not run into the one behind it, and an object that gets
// a field leaves the one that it came from as it was.
func TestPartsApart(t *testing.T) {
	data := json.RawMessage(`{"a":1,"b":2,"c":[3,4]}`)
	o := objectOf(data)
	_ = append(o.get("a"), "xyz"...)
	_ = append(o.list("c")[0], "xyz"...)
	one, two := o.with("d", json.RawMessage("5")), o.with("d", json.RawMessage("6"))
	if got := string(one.get("d")) + string(two.get("d")) + string(o.get("b")) + string(o.get("d")); got != "562" {
		t.Errorf("d, d, b and no d are %s, want 562", got)
	}
	if want := `{"a":1,"b":2,"c":[3,4]}`; string(data) != want {
		t.Errorf("the object is %s now, was %s", data, want)
	}
}
