package config

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
)

// applyFile applies the file of --config or, without that flag, the first default file that exists
// (spec §5).
func (l *loader) applyFile(given *string) error {
	for _, folder := range l.defaultFolders(runtime.GOOS) {
		if folder != "" {
			path := filepath.Join(folder, version.Name, "config.yaml")
			l.DefaultFiles = append(l.DefaultFiles, path)
		}
	}

	paths := l.DefaultFiles
	if given != nil {
		paths = []string{*given}
		l.usedFlags = append(l.usedFlags, "--config")
	}
	for _, path := range paths {
		data, err := ReadFile(l.ExpandHome(path))
		switch {
		case err == nil:
			l.File = path
			l.applyYAML(data)
			return nil
		case given != nil || !IsMissing(err):
			return fmt.Errorf("reading config: %w", err)
		case isBrokenLink(path), isBrokenLink(filepath.Dir(path)):
			// With the defaults, questions could go to another server.
			return fmt.Errorf("reading config: %s is, or is in, a link whose target does not exist", path)
		}
	}
	return nil
}

// defaultFolders returns the folders in which the folder with a default file may be, on a system
// (GOOS). "" is none.
func (l *loader) defaultFolders(goos string) []string {
	inHome := ""
	if l.Home != "" {
		inHome = filepath.Join(l.Home, ".config")
	}
	if goos != "windows" { // Linux in WSL may have the variables of Windows, by WSLENV=APPDATA/up
		return []string{inHome}
	}

	// Some clients do not pass APPDATA on, such as those of
	// https://github.com/langchain-ai/openwiki/issues/598 and
	// https://github.com/modelcontextprotocol/servers/issues/52.
	appData := l.environ["APPDATA"]
	if text.IsUnreplaced(appData) {
		appData = ""
	}
	profile := l.environ["USERPROFILE"]
	if appData == "" && profile != "" {
		appData = filepath.Join(profile, "AppData", "Roaming")
	}
	return []string{appData, inHome}
}

// IsMissing reports whether err says that a file does not exist, also because a folder of its path
// is no folder, such as with HOME=/dev/null.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// isBrokenLink reports whether there is a symbolic link at path whose target is missing.
func isBrokenLink(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	_, err = os.Stat(path)
	return err != nil && IsMissing(err)
}

// ReadFile reads a file of at most 1 MiB. It does not read devices and pipes, which may have no
// end. It follows symbolic links.
func ReadFile(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would block the open
	if err != nil {
		return "", err
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	problem := ""
	switch {
	case info.IsDir():
		problem = "a directory: name a file in it"
	case !info.Mode().IsRegular():
		problem = "not a regular file"
	case info.Size() > 1<<20:
		problem = "larger than 1 MiB"
	default:
		data, err := io.ReadAll(f)
		return decodeUTF16(string(data)), err
	}
	return "", &fs.PathError{
		Op:   "read",
		Path: path,
		Err:  errors.New(problem),
	}
}

// decodeUTF16 returns data in UTF-8. Data that begins with a byte order mark of UTF-16 is in UTF-16,
// as > and Out-File of Windows PowerShell write it.
func decodeUTF16(data string) string {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case strings.HasPrefix(data, "\xfe\xff"):
		order = binary.BigEndian
	case !strings.HasPrefix(data, "\xff\xfe"):
		return data
	}

	var units []uint16
	for b := []byte(data[2:]); len(b) > 1; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return string(utf16.Decode(units))
}

// applyYAML sets the keys of the YAML file with this content.
func (l *loader) applyYAML(data string) {
	decoder := yaml.NewDecoder(strings.NewReader(data))
	var doc yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) { // an empty file
		return
	}
	if err != nil {
		line, problem := explainYAML(data, err)
		l.report(fmt.Sprintf("%s:%d", l.File, line), "not YAML", problem)
		return
	}
	var second any // nil after a closing ---
	err = decoder.Decode(&second)
	broken := err != nil && !errors.Is(err, io.EOF)
	if broken || second != nil {
		l.report(l.File, "has more than one YAML document")
	}

	root := doc.Content[0]
	switch {
	case root.Kind == yaml.MappingNode:
		l.applySection("", root)
	case root.ShortTag() != "!!null":
		l.report(l.File, "not a mapping (key: value)")
	}
	l.Policy.System.Path = l.besideFile(l.Policy.System.Path)
	l.Server.DebugFile = l.besideFile(l.Server.DebugFile)
}

// explainYAML returns the line of an error of package yaml about data, and what is wrong there. The
// package counts lines from 1 in errors of its scanner, and from 0 in those of its parser. It names
// no line in errors of its reader.
func explainYAML(data string, err error) (line int, problem string) {
	const hint = " (indent with spaces, and put paths and ${NAME} in single quotes)"
	lineAt := func(offset int) int { return 1 + strings.Count(data[:offset], "\n") }
	m := yamlError().FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(m[1])
	if parserProblem().MatchString(m[2]) {
		line++
	}

	blank := missingBlank().FindStringIndex(data)
	unreadable := strings.IndexFunc(data, isUnreadable)
	switch {
	case readerProblem().MatchString(m[2]) && unreadable >= 0:
		return lineAt(unreadable), m[2] + " (save the file as UTF-8, without control characters)"
	case blank != nil && lineAt(blank[0]) <= max(line, 1): // the likely cause of an error behind it
		return lineAt(blank[0]), missingBlankProblem + hint
	}
	return max(line, 1), m[2] + hint
}

// isUnreadable reports whether package yaml refuses a file with this character. A byte that is not
// UTF-8 counts as U+FFFD.
func isUnreadable(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\t\r\n\u0085", r)
}

// secretName matches keys by which people try to set the API key.
var secretName = text.LazyRegexp(`(?i)^((openai_)?api[_-]?)?(key|token)(_file)?$`)

// yamlError matches an error such as "yaml: line 3: found unexpected end of stream". Its submatches
// are the line, if there is one, and the message.
var yamlError = text.LazyRegexp(`(?s)^(?:yaml: )?(?:line (\d+): )?(.*)`)

// parserProblem and readerProblem match messages of the parser and of the reader of package yaml
// (parserc.go and readerc.go of gopkg.in/yaml.v3).
var (
	parserProblem = text.LazyRegexp(
		`^did not find expected (<|key|node content|'-' indicator|',' or)|` +
			`^found (undefined tag handle|incompatible|duplicate)`)
	readerProblem = text.LazyRegexp(`UTF-8|^control characters`)
)

// missingBlank matches the line of a key without a blank after its colon. Unless a mapping or a
// list follows, the line has no other key, but perhaps a comment.
var missingBlank = text.LazyRegexp(`(?m)^ *[a-z_]+:([{[].*|[^\s:/]([^:\n]|:\S)*( #.*)?)$`)

// missingBlankProblem is the problem of such a line.
const missingBlankProblem = "a blank follows the colon of a key"

// yamlMessage removes prefixes from an error of package yaml, but not the line.
var yamlMessage = strings.NewReplacer("yaml: ", "", "unmarshal errors:\n  ", "")

// besideFile returns a path that the YAML file names. A relative path is relative to the folder of
// the file.
func (l *loader) besideFile(path string) string {
	path = l.ExpandHome(path)
	// On Windows a path such as \logs\x.log is not absolute: it is on the drive of the file.
	if path != "" && os.IsPathSeparator(path[0]) && !filepath.IsAbs(path) {
		return filepath.VolumeName(l.ExpandHome(l.File)) + path
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(l.ExpandHome(l.File)), path)
}

// applySection sets the keys of a section, which is "" for the whole file.
func (l *loader) applySection(section string, mapping *yaml.Node) {
	sources := map[string]string{} // of the names that were set
	for pair := range slices.Chunk(mapping.Content, 2) {
		name := pair[0].Value
		if len(name) > maxShown {
			name = describeLong(name)
		}
		key := join(section, name)
		source := fmt.Sprintf("%s:%d", l.File, pair[0].Line)
		f, known := l.byKey[key]
		previous := sources[name]
		sources[name] = source

		switch {
		case previous != "":
			l.report(source, key, "already set in "+previous)
		case ignoredKeys[key] != "":
			l.warn(source, key, "ignored: "+ignoredKeys[key])
		case !known || strings.Contains(name, "."):
			l.report(source, key, l.unknownKey(section, name))
		default:
			l.applyValue(f, source, pair[1])
		}
	}
}

// applyValue sets a key, or the keys of a section.
func (l *loader) applyValue(f field, source string, value *yaml.Node) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if value.ShortTag() == "!!null" {
		return
	}
	if f.isSection() && value.Kind == yaml.MappingNode {
		l.origins[f.key] = source
		l.applySection(f.key, value)
		return
	}

	if problem := decode(f, value); problem != "" {
		l.report(fmt.Sprintf("%s:%d", l.File, value.Line), f.key, problem)
		return
	}
	l.accept(f.key, source)
}

// scalar returns the node of a value that is written without quotes.
func scalar(s string) *yaml.Node {
	return &yaml.Node{
		Kind:  yaml.ScalarNode,
		Value: s,
	}
}

// keepText makes the dates and the keys of a value strings, as they are written: JSON has no dates,
// and only strings as keys.
func keepText(node *yaml.Node) {
	if node.ShortTag() == "!!timestamp" {
		node.Tag = "!!str"
	}
	for i, child := range node.Content {
		isKey := node.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode
		if isKey && child.ShortTag() != "!!merge" {
			child.Tag = "!!str"
		}
		keepText(child)
	}
}

// decode sets a key to a value. It returns why the key cannot have the value, or "".
func decode(f field, value *yaml.Node) string {
	keepText(value)
	var decoded any
	err := value.Decode(&decoded)
	if err != nil { // a key that occurs twice, or an alias of itself
		return yamlMessage.Replace(err.Error())
	}

	err = value.Decode(f.value.Addr().Interface())
	number, _ := decoded.(float64)
	truncated := f.value.CanInt() && number != float64(int64(number)) // 1.5 is decoded as 1
	word, ok := decoded.(string)
	_, isBool := decoded.(bool)
	boolAsText := isBool && f.value.Kind() == reflect.String && f.Tag.Get("enum") == ""
	switch {
	case err == nil && decoded != nil && !truncated && !boolAsText:
		return ""
	case ok && value.Style != 0 && decode(f, scalar(word)) == "":
		return describeNotAllowed(f, decoded) + "; write it without quotes"
	case f.isSection() && strings.Contains(word, ":"):
		return describeNotAllowed(f, decoded) + "; " + missingBlankProblem
	}
	return describeNotAllowed(f, decoded)
}

// domainKeys are the keys for domains, by names that they have in the API, in the arguments of a
// call and in other programs. The nearest names would be those of keys with the opposite effect.
var domainKeys = map[string]string{
	"allowed_domains":  "search.defaults.domains with search.enforce_domains: true",
	"only_domains":     "search.defaults.domains with search.enforce_domains: true",
	"exclude_domains":  "search.blocked_domains",
	"excluded_domains": "search.blocked_domains",
}

// unknownKey returns the problem of a key that does not exist, with the nearest existing key, if
// there is one. Keys of the same section come first.
func (l *loader) unknownKey(section, name string) string {
	if len(l.problems) >= maxProblems { // this problem is only counted
		return ""
	}
	if secretName().MatchString(name) {
		return "unknown key: no secret is read from this file; store the API key with " +
			version.Name + " login, or set " + l.OpenAI.APIKeyEnv
	}

	var inSection, all []string
	for _, f := range l.fields {
		if f.from == "" { // suggests search.context_size, not the same key of a profile
			all = append(all, f.key)
		}
		if f.key == join(section, f.Tag.Get("yaml")) {
			inSection = append(inSection, f.key)
		}
	}

	nearest := cmp.Or(domainKeys[name], text.Nearest(name, append(inSection, all...)))
	if nearest == "" {
		return "unknown key"
	}
	return "unknown key, did you mean " + nearest + "?"
}
