package compare

import (
	"fmt"
	"os"
	"reflect"
	"strings"
)

func Dump(name string, vs ...any) {
	var words []string
	var add func(v reflect.Value)
	add = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				add(v.Field(i))
			}
			return
		case reflect.Func:
			words = append(words, "FUNC")
			return
		}
		s := fmt.Sprint(v)
		if v.Type().String() == "[]string" {
			s = fmt.Sprintf("%q", v)
		}
		s = strings.NewReplacer("\r", `\r`, "\n", `\n`, "\ufeff", "BOM").Replace(s)
		if s == "" {
			s = "EMPTY"
		}
		words = append(words, s)
	}
	for _, v := range vs {
		add(reflect.ValueOf(v))
	}
	f, _ := os.OpenFile("/tmp/dump/"+name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	fmt.Fprintln(f, strings.Join(words, " | "))
	f.Close()
}
