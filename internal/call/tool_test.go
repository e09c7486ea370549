package call

import (
	"reflect"
	"testing"
)

// Each tool has all of its words. Only the first has no flag.
func TestTools(t *testing.T) {
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
