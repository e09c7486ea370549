package call

import (
	"reflect"
	"slices"
	"testing"
)

// Each tool has all of its words. Only the first has no flag. They are in the order of tools/list.
func TestTools(t *testing.T) {
	if !slices.IsSorted(MapTools(func(t Tool) string { return t.Name })) {
		t.Error("the tools are not sorted by name")
	}
	for i, tool := range Tools {
		for field, value := range reflect.ValueOf(tool).Fields() {
			empty := i == 0 && field.Name == "Flag"
			words := value.Kind() == reflect.String
			if words && value.IsZero() != empty {
				t.Errorf("%s of %s is %q", field.Name, tool.Name, value)
			}
		}
	}
}
