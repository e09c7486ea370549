package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

var (
	headerName    = text.LazyRegexp("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110 §5.6.2
	headerLiteral = text.LazyRegexp(`^([^\x00-\x1f\x7f$]|\$[^{\x00-\x1f\x7f])+$`)

	// headerReference matches the value of a header that refers to a variable. Its submatches are
	// the scheme, such as "Bearer ", and the name of the variable.
	headerReference = text.LazyRegexp(`^([A-Za-z-]{1,16} )?\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

	// credentialHeader matches names of headers with a credential. It does not match
	// x-portkey-provider, where key is only a part of a word.
	credentialHeader = text.LazyRegexp(`(?i)^cookie$|` +
		`(^|[^a-z0-9])(auth|authorization|token|secret|key|apikey|password)($|[^a-z0-9])`)

	// apiKeyForm matches a key: it has no white space and only ASCII characters.
	apiKeyForm = text.LazyRegexp(`^[!-~]+$`)

	// serverLine matches a value of API.Server.
	serverLine = text.LazyRegexp(`^https?://[^\s/]+$`)

	// userInfo matches a URL with a user, from the scheme to the last @. Its submatch is the
	// password or, without one, the user. The URL may lack a scheme, and need not be valid.
	userInfo = text.LazyRegexp(`(?s)^(?:[^/]*://)?(?:[^:]*:)?(.+?):?@[^@]*$`)

	// secretParameter matches names of query parameters.
	secretParameter = text.LazyRegexp(`(?i)^sig(nature)?$|token|secret|key|password`)
)

// minHeaderSecret is the length, in bytes, from which any value of a header that comes from a
// variable is taken for a secret. A shorter value may be an ordinary word, such as the name of a
// provider.
const minHeaderSecret = 8

// setVariableHint ends a warning about a variable without a value.
const setVariableHint = "; set it where the client starts the server"

// MaxAPIKey is the length of the longest API key, in bytes, that fits into the header of a request:
// servers read lines of 8 KiB. An access token of Entra ID has some thousand bytes.
const MaxAPIKey = 8000

// checkHeaders returns what is wrong with openai.headers, a line for each header. A header with an
// empty value is valid, and is not sent.
func checkHeaders(headers map[string]string) (problems []string) {
	const reference = " is not ${NAME} or Bearer ${NAME}" +
		" (the variable holds the secret, this file does not)"
	seen := map[string]string{} // names by the form in which they are sent
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		sent := http.CanonicalHeaderKey(name)
		previous := seen[sent]
		seen[sent] = name
		isLiteral := !credentialHeader().MatchString(name) && headerLiteral().MatchString(value)
		isReference := headerReference().MatchString(value)

		switch {
		case !headerName().MatchString(name):
			problems = append(problems, redact.Redacted+" is not the name of a header")
		case value == "": // not sent
			seen[sent] = previous
		case sent == "Host":
			problems = append(problems, name+" is that of openai.base_url and cannot be set")
		case previous != "":
			problems = append(problems, name+" and "+previous+" are the same header")
		case !isLiteral && !isReference:
			problems = append(problems, "the value of "+name+reference)
		}
	}
	return problems
}

// resolveSecrets looks up the API key and the variables of openai.headers, and collects the
// secrets.
func (l *loader) resolveSecrets() {
	l.resolveKey()
	l.Secrets = append(l.Secrets, l.APIKey)

	variables := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.OpenAI.Headers)) {
		value := l.OpenAI.Headers[name]
		m := headerReference().FindStringSubmatch(value)
		if m != nil {
			variables[m[2]] = true
			value = l.resolveHeader(name, m[1], m[2])
		}
		if value != "" {
			l.SentHeaders[name] = value
		}
	}
	l.HasCredential = l.APIKey != "" || l.environ[l.CredentialVariable] != "" && l.APIKeyErr == nil
	delete(variables, strings.TrimSuffix(l.CredentialVariable, "_FILE"))
	l.OtherHeaderVariables = slices.Sorted(maps.Keys(variables))
	l.origins["openai.api_key_set"] = cmp.Or(l.APIKeyFile, l.CredentialVariable)
	l.warnExposed()
	l.warnUnsent()

	l.Secrets = append(l.Secrets, urlSecrets(l.OpenAI.BaseURL)...)
	for _, proxy := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		if text.IsUnreplaced(l.environ[proxy]) {
			l.useVariable(proxy) // warns; package httpclient does not use it, either
		}
		l.Secrets = append(l.Secrets, urlSecrets(l.environ[proxy])...)
	}
}

// resolveKey looks up the API key: in its variable, in the file that a variable names, or in the
// file that login writes. A file without a key is no problem of the configuration (APIKeyErr): the
// server starts, and reads the file again.
func (l *loader) resolveKey() {
	l.CredentialVariable = l.OpenAI.APIKeyEnv
	if len(l.DefaultFiles) > 0 {
		l.StoredKeyFile = l.DefaultKeyFile()
	}

	value, path, err := LookUpSecret(l.useVariable, l.CredentialVariable)
	l.APIKey = value
	switch {
	case err != nil:
		l.report(err.Error())
	case path != "":
		l.CredentialVariable += "_FILE"
		l.APIKeyFile = l.ExpandHome(path)
	case value == "":
		l.APIKeyFile = l.StoredKeyFile
	}
	if l.APIKeyFile != "" {
		l.APIKey, l.APIKeyServer, l.APIKeyErr = l.readKey(l.APIKeyFile)
	}

	u, err := url.Parse(l.OpenAI.BaseURL)
	isRemote := err == nil && !text.IsLoopback(u.Hostname()) &&
		l.origins[baseURL] == l.byKey[baseURL].variable
	if l.UsesStoredKeyFile() && l.APIKey != "" && l.APIKeyServer == "" {
		if isRemote {
			l.warn(l.origins[baseURL], baseURL, "the key that login has stored goes to this server")
		}
		l.warn("the key in " + l.APIKeyFile + " names no server that it is for: log in again")
	}
	stored, _ := l.ReadKey(l.StoredKeyFile) // empty after an error: no warning
	l.StoredKeyUnused = stored != "" && stored != l.APIKey
	if l.StoredKeyUnused {
		l.warn(l.CredentialVariable,
			"it hides the key that login has stored; unset it to use that one")
	}
}

// LookUpSecret looks up a secret. It returns the value of the variable NAME, or the path that the
// variable NAME_FILE contains. It is an error if both are set.
func LookUpSecret(lookup func(string) string, variable string) (value, path string, err error) {
	value = lookup(variable)
	path = lookup(variable + "_FILE")
	if value != "" && path != "" {
		err = fmt.Errorf("%s and %[1]s_FILE are both set: use one of them", variable)
	}
	return value, path, err
}

// warnExposed warns if other users can read the stored key. On Windows it does not: files have no
// modes there.
func (l *loader) warnExposed() {
	info, err := os.Stat(l.APIKeyFile)
	exposed := err == nil && info.Mode().IsRegular() && info.Mode()&0o044 != 0
	if exposed && l.UsesStoredKeyFile() && runtime.GOOS != "windows" {
		l.warn("other users can read the key: run chmod 600 " + l.APIKeyFile)
	}
}

// warnUnsent warns of parts of the base URL that no request has: a user and password beside a
// header Authorization, which net/http prefers, and parameters that package url cannot parse.
func (l *loader) warnUnsent() {
	u, err := url.Parse(l.OpenAI.BaseURL)
	if err != nil { // already reported
		return
	}
	header := http.Header{}
	for name, value := range l.SentHeaders {
		header.Set(name, value)
	}
	sendsKey := l.APIKey != "" && header.Get("api-key") == ""
	if u.User != nil && (sendsKey || header.Get("Authorization") != "") {
		l.warn(l.origins[baseURL], baseURL, "its user and password are not sent; "+
			"send them with openai.headers: { Authorization: 'Basic ${NAME}' }")
	}
	_, err = url.ParseQuery(u.RawQuery)
	if err != nil {
		l.warn(l.origins[baseURL], baseURL, "a parameter of its query is not sent: "+
			"it has a semicolon, or a % without two hexadecimal digits")
	}
}

// DefaultKeyFile returns the path that login writes, also if a header replaces the key. It needs a
// home directory.
func (c *Config) DefaultKeyFile() string {
	return filepath.Join(filepath.Dir(c.DefaultFiles[0]), c.OpenAI.APIKeyEnv)
}

// UsesStoredKeyFile reports whether APIKeyFile is the file that login writes, which may not exist
// yet.
func (c *Config) UsesStoredKeyFile() bool {
	return c.APIKeyFile != "" && c.APIKeyFile == c.StoredKeyFile
}

// ReadKey returns the API key in a file, without white space and byte order mark around it. It
// returns no key and no error if login has not written its file (StoredKeyFile), and an error if
// the key is for another server than openai.base_url.
func (c *Config) ReadKey(path string) (string, error) {
	key, _, err := c.readKey(path)
	return key, err
}

// readKey is ReadKey, and also returns the server that the key is for: login writes it into the
// second line. It is "" if the file has no such line.
func (c *Config) readKey(path string) (key, server string, err error) {
	data, err := ReadFile(path)
	if path == c.StoredKeyFile && IsMissing(err) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("reading the key: %w", err)
	}

	key = strings.Trim(data, "\ufeff \t\r\n")
	first, second, _ := strings.Cut(key, "\n")
	if serverLine().MatchString(second) {
		key = strings.TrimSpace(first)
		server = second
	}
	if len(key) > MaxAPIKey || !apiKeyForm().MatchString(key) {
		return "", "", fmt.Errorf("reading the key: %s is empty or has more than a key in it", path)
	}

	wanted := c.OpenAI.Server()
	if server != "" && server != wanted {
		return "", server, fmt.Errorf("the key in %s is for %s and is not sent to %s", path, server, wanted)
	}
	return key, server, nil
}

// Server returns the part of base_url that a stored key is for: the scheme, the host, and the port
// unless it is the default of the scheme.
func (a API) Server() string {
	u, err := url.Parse(a.BaseURL)
	if err != nil {
		return ""
	}
	scheme := strings.ToLower(u.Scheme)
	host := strings.ToLower(u.Host)
	standard := map[string]string{"http": ":80", "https": ":443"}
	return scheme + "://" + strings.TrimSuffix(host, standard[scheme])
}

// readHeader reads the value of a header from a file. A value without a scheme may have blanks; any other
// has the form of a key, with its server if login has written the file.
func (l *loader) readHeader(path, scheme string) (string, error) {
	value, err := ReadFile(path)
	value = strings.Trim(value, "\ufeff \t\r\n")
	switch {
	case err != nil:
		return "", err
	case value == "":
		return "", fmt.Errorf("%s is empty", path)
	case scheme != "" || strings.Contains(value, "\n") || len(value) > MaxAPIKey:
		return l.ReadKey(path)
	}
	return value, nil
}

// resolveHeader returns the value of a header that refers to a variable, or "" if neither the
// variable nor its file is set. A header that replaces the API key does so even without a value,
// but not in place of another one that has a value.
func (l *loader) resolveHeader(name, scheme, variable string) string {
	value, path, err := LookUpSecret(l.useVariable, variable)
	if path != "" && err == nil {
		variable += "_FILE"
		value, err = l.readHeader(l.ExpandHome(path), scheme)
	}
	isUnsafe := func(r rune) bool { return r != '\t' && unicode.IsControl(r) }
	if err == nil && strings.ContainsFunc(value, isUnsafe) {
		err = errors.New("the value of " + name + " has a line break or another control character")
	}
	if err != nil {
		l.report(variable, err.Error())
	}

	hasOther := slices.ContainsFunc(slices.Collect(maps.Keys(l.SentHeaders)), replacesKey)
	if replacesKey(name) && (value != "" || !hasOther) {
		l.CredentialVariable = variable
		l.APIKeyFile = ""
		l.StoredKeyFile = ""
		l.APIKeyErr = nil
		l.APIKey = ""
	}

	isSecret := scheme != "" || credentialHeader().MatchString(name)
	if isSecret || len(value) >= minHeaderSecret {
		l.Secrets = append(l.Secrets, value)
	}
	if value != "" {
		return scheme + value
	}
	if err == nil && headerName().MatchString(name) {
		const key = "openai.headers"
		l.warn(l.origins[key], key, variable+" is not set: "+name+" is not sent"+setVariableHint)
	}
	return ""
}

// replacesKey reports whether a header replaces the API key.
func replacesKey(header string) bool {
	return strings.EqualFold(header, "authorization") || strings.EqualFold(header, "api-key")
}

// urlSecrets returns the password of a URL, or the user if there is no password, and the values of
// query parameters whose names mean a secret. It also finds them in a URL that cannot be parsed:
// errors of package net/http repeat such a URL.
func urlSecrets(raw string) (list []string) {
	m := userInfo().FindStringSubmatch(raw)
	if m != nil {
		decoded, _ := url.PathUnescape(m[1])
		list = append(list, m[1], decoded)
	}

	_, query, _ := strings.Cut(raw, "?")
	members, _ := url.ParseQuery(query)
	for name, values := range members {
		if secretParameter().MatchString(name) {
			list = append(list, values...)
		}
	}
	return list
}
