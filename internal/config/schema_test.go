package config

import (
	"encoding/json"
	"reflect"
	"strings"
)

// schemaID is where editors find the schema.
const schemaID = "https://raw.githubusercontent.com/uchimanajet7/openai-responses-mcp/main/config/config.schema.json"

// schema returns the JSON Schema (draft 2020-12) of the file, made from the
// structs. config/config.schema.json is a copy of it, for editors.
func schema() []byte {
	root := sectionSchema(reflect.ValueOf(defaults()).Elem(), "")
	return append(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", schemaID},
		{"title", "openai-responses-mcp configuration"},
		{"description", "config.yaml of openai-responses-mcp. Every key is optional, and null stands for its default."},
	}, root...).indented()
}

// sectionSchema describes a struct. A section may be null as a whole.
func sectionSchema(section reflect.Value, path string) object {
	properties := object{}
	for name, f := range members(section.Type()) {
		v, key := section.FieldByIndex(f.Index), join(path, name)
		switch {
		case isIgnored(f):
			properties = append(properties, member{name, object{
				{"description", "Ignored. " + f.Tag.Get("doc")},
				{"deprecated", true},
			}})
		case f.Type.Kind() == reflect.Struct:
			o := object{{"description", f.Tag.Get("doc")}}
			properties = append(properties, member{name, append(o, sectionSchema(v, key)...)})
		default:
			properties = append(properties, member{name, keySchema(f, v, key)})
		}
	}
	kind := any([]string{"object", "null"})
	if path == "" {
		kind = "object"
	}
	return object{{"type", kind}, {"properties", properties}, {"additionalProperties", false}}
}

// keySchema describes a key that is no section.
func keySchema(f reflect.StructField, v reflect.Value, path string) object {
	doc := f.Tag.Get("doc")
	if name := variable(path); name != "" {
		doc += " Environment: " + name + "."
	}
	o := object{{"description", doc}}
	if words := f.Tag.Get("enum"); words != "" {
		o = append(o, member{"enum", enumSchema(words)})
	} else {
		o = append(o, member{"type", []string{jsonType(f.Type), "null"}})
	}
	switch f.Tag.Get("format") {
	case "url":
		o = append(o, member{"pattern", "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]"})
	case "variable":
		o = append(o, member{"pattern", "^[A-Za-z_][A-Za-z0-9_]*$"})
	case "model":
		o = append(o, member{"pattern", `^[^\s]+$`})
	case "id":
		o = append(o, member{"pattern", `^[^\s]*$`})
	case "country":
		o = append(o, member{"pattern", "^([A-Za-z]{2})?$"})
	}
	if f.Tag.Get("format") == "headers" {
		o = append(o, member{"propertyNames", object{{"pattern", headerName}}},
			member{"additionalProperties", object{{"type", []string{"string", "null"}}, {"pattern", headerValue}}})
	}
	for _, bound := range [][2]string{{"min", "minimum"}, {"max", "maximum"}} {
		if limit := f.Tag.Get(bound[0]); limit != "" {
			o = append(o, member{bound[1], json.Number(limit)})
		}
	}
	if f.Type.Kind() == reflect.Slice {
		o = append(o, member{"items", object{{"type", "string"}, {"minLength", 1}}})
	}
	return append(o, member{"default", defaultSchema(v)})
}

// enumSchema lists the words; YAML reads true and false as booleans.
func enumSchema(words string) []any {
	var list []any
	for word := range strings.SplitSeq(words, "|") {
		switch word {
		case "true", "false":
			list = append(list, word == "true")
		default:
			list = append(list, word)
		}
	}
	return append(list, nil)
}

func defaultSchema(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Slice:
		return []string{}
	case reflect.Map:
		return object{}
	case reflect.String:
		if v.String() == "" {
			return nil
		}
	}
	return v.Interface()
}
