package main_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The canaries: everything secret that the program is given. They are made by
// chance from one character to the next, so eight of them are a piece of one.
const (
	canaryKey   = "sk-Zq7XbT0wPl94mKfR8uHsV2dY6gNc3J"
	canaryTeam  = "0f3c9a77b1de42aa8c55e0d4" // of a header, by its variable
	canaryQuery = "Q8w2Xr5Tn1Bz7Lk4"         // in the query of the base URL
	canaryUser  = "u5Gm9Pd3Wj6Yx0Fh"         // a password in the base URL
	canaryProxy = "Hn4/Vs8Ec2Ra7Ou1"         // the proxy's password, which a URL has to escape
	canaryFile  = "model_profiles: {answer: {model: gpt-5.2}}\nopenai: {headers: {X-Team: '${TEAM_TOKEN}'}}\n"
	canaryBase  = "http://me:" + canaryUser + "@api.invalid/v1?api-key=" + canaryQuery
	proxyUser   = "http://me:Hn4%2FVs8Ec2Ra7Ou1@"
	hostileText = "no key is in here"
)

func canaries() []string {
	return []string{canaryKey, canaryTeam, canaryQuery, canaryUser, canaryProxy}
}

// commandLines are those of the programs that run in a folder, where the system
// tells.
func commandLines(folder string) string {
	var all []byte
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if at, err := os.Readlink(filepath.Join(filepath.Dir(f), "cwd")); err == nil && at == folder {
			b, _ := os.ReadFile(f) // it may have ended
			all = append(all, b...)
		}
	}
	return string(all)
}

// escapes are one character as JSON, Go or a URL may write it.
var escapes = regexp.MustCompile(`\\+u00[0-9a-fA-F]{2}|\\+x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}`)

// leaked returns what a text gives away of a canary: eight characters of it or
// more, plain or encoded, or its end behind a mask.
func leaked(text string) string {
	decoded := escapes.ReplaceAllStringFunc(text, func(s string) string {
		n, _ := strconv.ParseUint(s[len(s)-2:], 16, 8)
		return string(rune(n))
	})
	for _, c := range canaries() {
		const piece = 8
		secret := strings.TrimPrefix(c, "sk-")
		for i := range len(secret) - piece + 1 {
			if part := secret[i : i+piece]; strings.Contains(text, part) || strings.Contains(decoded, part) {
				return part
			}
		}
		for skip := range 3 {
			enc := base64.StdEncoding.EncodeToString([]byte("::"[:skip] + c))
			if part := enc[4:16]; strings.Contains(text, part) {
				return part + ", which is base64"
			}
		}
		for _, part := range []string{hex.EncodeToString([]byte(c)), "*" + c[len(c)-4:], secret[:5] + "*"} {
			if strings.Contains(text, part) {
				return part
			}
		}
	}
	return ""
}

// hasNone fails when a text has a part of a canary.
func hasNone(t *testing.T, name, text string) {
	t.Helper()
	if part := leaked(text); part != "" {
		t.Errorf("%s gives away %q:\n%s", name, part, text)
	}
	if at := broken.FindStringIndex(text); at != nil {
		t.Errorf("%s holds a stack trace:\n%s", name, text[at[0]:])
	}
}

// ran is what is left of a program that has ended.
func ran(t *testing.T, env []string, home, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = home, env, strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	hasNone(t, strings.Join(args, " ")+": stdout", out.String())
	hasNone(t, strings.Join(args, " ")+": stderr", errs.String())
	return out.String(), errs.String()
}

// files looks through everything below a folder.
func files(t *testing.T, home string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		hasNone(t, path, path+string(b))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Whatever a server repeats of the secrets, none is on stdout, on stderr, in a
// file, or on a command line: with every command, and with debug off and on.
func TestSecrets(t *testing.T) {
	t.Parallel()
	session := strings.Join([]string{
		initialize, initialized,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer","arguments":{"query":"x"},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"answer_quick","arguments":{"query":"x"}}}`,
	}, "\n") + "\n"
	runs := [][]string{
		{"--stdio"}, {"--stdio", "--debug"}, {"--stdio", "--show-config", "--debug", "debug.log"},
		{"ask", "x"}, {"ask", "--usage", "--debug", "x"}, {"ask", "--json", "--debug=debug.log", "x"}, {"ask", "--events", "x"},
		{"doctor", "--live"}, {"doctor", "--json", "--live", "--debug"},
		{"smoke", "--debug", "x"}, {"smoke", "--ldjson", "x"},
	}
	for name, answer := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEcho(t, answer)
			c := &client{t: t, home: e.home}
			c.write(".config/openai-responses-mcp/config.yaml", canaryFile)
			for _, args := range runs {
				stdin := ""
				if args[0] == "--stdio" {
					stdin = session
				}
				ran(t, e.env(), e.home, stdin, args...)
			}
			files(t, e.home)
			e.check(t)
		})
	}
}
