package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MaxFile is how many bytes of a file are read: far more than anybody writes by
// hand, and a bound on what the path of a log or a device can cost.
const MaxFile = 1 << 20

// ReadFile reads at most MaxFile bytes and one more, which says "too long". Its
// errors are those of opening and reading, and name the path.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, err)
	}
	return data, nil
}

// candidates returns the paths to try, the first that exists is read
// (spec §5.2). The separators are those of the system the paths are for, which
// is not always the one that runs the tests.
func (l *loader) candidates() []string {
	const name = "openai-responses-mcp"
	if l.in.Flags.Config != "" {
		return []string{l.in.Flags.Config}
	}
	sep := "/"
	var list []string
	if l.in.GOOS == "windows" {
		sep = `\`
		if dir := l.vars["APPDATA"]; dir != "" {
			list = append(list, strings.Join([]string{strings.TrimRight(dir, `\/`), name, "config.yaml"}, sep))
		}
	}
	if l.in.Home != "" {
		list = append(list, strings.Join([]string{strings.TrimRight(l.in.Home, `/`+sep), ".config", name, "config.yaml"}, sep))
	}
	return list
}

// expand replaces a leading ~ by the home folder. Clients start the server
// without a shell that would have done it.
func (l *loader) expand(path string) string {
	if l.in.Home == "" || !strings.HasPrefix(path, "~") {
		return path
	}
	switch {
	case path == "~":
		return l.in.Home
	case path[1] == '/', path[1] == '\\' && l.in.GOOS == "windows":
		return filepath.Join(l.in.Home, path[2:])
	}
	return path // ~user is somebody else's
}

// besides returns a path of the file as seen from the file's folder.
func (l *loader) besides(path string) string {
	path = l.expand(path)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(l.expand(l.c.file)), path)
}
