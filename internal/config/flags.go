package config

import (
	"cmp"
	"reflect"
	"strings"
)

// fromFlags applies the command line, the strongest source (spec §5.1).
func (l *loader) fromFlags() error {
	f := l.in.Flags
	if f.ConfigSet || f.Config != "" {
		l.c.cli = append(l.c.cli, "--config") // read with the file
	}
	if f.ModelSet || f.Model != "" {
		if err := l.assign("--model", "model_profiles."+cmp.Or(f.Profile, "answer")+".model", f.Model); err != nil {
			return err
		}
		l.c.cli = append(l.c.cli, "--model")
	}
	if f.DebugSet || f.Debug || f.DebugFile != "" {
		l.c.Server.Debug = f.Debug || f.DebugFile != ""
		l.c.origin["server.debug"] = "--debug"
		if f.DebugFile != "" {
			l.c.Server.DebugFile = l.expand(f.DebugFile)
			l.c.origin["server.debug_file"] = "--debug"
		}
		l.c.cli = append(l.c.cli, "--debug")
	}
	return nil
}

// assign sets one key from the environment or the command line.
func (l *loader) assign(source, key, value string) error {
	v := reflect.ValueOf(l.c).Elem()
	var f reflect.StructField
	for name := range strings.SplitSeq(key, ".") {
		var ok bool
		if f, ok = field(v.Type(), name); !ok {
			return &Error{Source: source, Key: key, Problem: "unknown key"}
		}
		v = v.FieldByIndex(f.Index)
	}
	if problem := set(f, v, text{value: value}); problem != "" {
		return &Error{Source: source, Key: key, Problem: problem}
	}
	l.c.origin[key] = source
	return nil
}
