package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A short value is a secret only where it is a key.
func TestHeaders(t *testing.T) {
	flags := write(t, `openai:
  headers:
    api-key: ${AZURE_KEY}
    X-Team: "${TEAM}"
    X-Missing: ${NOT_THERE}
    X-None: null
    X-Title: My reports
    X-Count: 5
    X-Forward: "Bearer ${SHORT_1}"
    x-portkey-api-key: ${SHORT_2}
    x-portkey-provider: ${SHORT_3}
  base_url: https://me:pw@h.example/v1 # sent: there is no header Authorization
`)
	environ := []string{
		"AZURE_KEY=azure-secret",
		"TEAM= team-secret ",
		"SHORT_1=one",
		"SHORT_2_FILE=c/short",
		"SHORT_3=three",
		"OPENAI_API_KEY=other-secret",
	}

	if err := os.WriteFile("c/short", []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	want := []string{
		"map[X-Count:5 X-Forward:Bearer one X-Team:team-secret X-Title:My reports" +
			" api-key:azure-secret x-portkey-api-key:two x-portkey-provider:three]",
		"[NOT_THERE SHORT_1 SHORT_2 SHORT_3 TEAM]",
		"[other-secret one team-secret azure-secret two pw pw]",
		"[c/config.yaml:2: openai.headers: NOT_THERE is not set: X-Missing is not sent;" +
			" set it where the client starts the server]",
	}

	c, warnings, err := Load(flags, environ)
	if err != nil {
		t.Fatal(err)
	}

	got := []string{
		fmt.Sprint(c.SentHeaders),
		fmt.Sprint(c.OtherHeaderVariables),
		fmt.Sprint(c.Secrets),
		fmt.Sprint(warnings),
	}

	compare.Equal(t, "headers, variables, secrets and warnings", got, want)
}

// Of a header whose variable names a file that cannot be read, the error alone tells.
func TestUnreadableHeader(t *testing.T) {
	flags := write(t, "openai: { headers: { Authorization: 'Bearer ${HDR}' } }\n")
	_, warnings, err := Load(flags, []string{"HDR_FILE=nope"})
	compare.Contains(t, "error", fmt.Sprint(err), "HDR_FILE: open ")
	compare.Equal(t, "warnings", fmt.Sprint(warnings), "[]")

	_, _, err = Load(flags, []string{"HDR=a\nb"})
	compare.Contains(t, "error", fmt.Sprint(err),
		"HDR: the value of Authorization has a line break or another control character")
}

// The file of a header may have a value with blanks.
func TestHeaderFile(t *testing.T) {
	flags := write(t, "openai: { headers: { X-Title: '${TITLE}' } }\n")
	file := filepath.Join(t.TempDir(), "title")
	if err := os.WriteFile(file, []byte("My team\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, flags, "TITLE_FILE="+file)
	compare.Equal(t, "headers", c.SentHeaders, map[string]string{"X-Title": "My team"})
}

// Whole words of a name tell that a header has a credential, which cannot be literal.
func TestLiteralHeaders(t *testing.T) {
	for name, allowed := range map[string]bool{
		"x-portkey-provider": true,
		"x-portkey-api-key":  false,
		"X-Auth-Token":       false,
		"X-ApiKey":           false,
		"client_secret":      false,
		"Key":                false,
		"Cookie":             false,

		"cf-aig-authorization": false, // Cloudflare AI Gateway
		"Helicone-Auth":        false,
		"x-author":             true,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(write(t, "openai: {headers: {"+name+": openai}}"), nil)

			if got := err == nil; got != allowed {
				t.Errorf("a literal value is allowed: %t (%v), want %t", got, err, allowed)
			}
		})
	}
}

// The key is in a variable or in a file. A header with a credential replaces it, even if its
// variable is not set. A file without a key is no error of the configuration.
func TestKey(t *testing.T) {
	folder := "c/.config"
	if runtime.GOOS == "windows" {
		folder = "c/data"
	}
	long := strings.NewReplacer("LONG", strings.Repeat("k", 8000), "FOLDER", folder)
	compare.Each(t, "key", 5, func(t *testing.T, row []string) {
		flags := write(t, "openai: "+row[1])

		err := os.WriteFile("c/key", []byte(long.Replace(row[3])), 0o600)
		if err != nil {
			t.Fatal(err)
		}

		c, _, err := Load(flags, strings.Fields("HOME=c "+row[2]))
		if err != nil {
			t.Fatal(err)
		}

		got := fmt.Sprintf("%s %s %s %t %v",
			c.CredentialVariable, c.APIKey, c.APIKeyFile, c.HasCredential, c.APIKeyErr)
		compare.Equal(t, "key", filepath.ToSlash(got), long.Replace(row[4]))
	})
}

// The passwords in the URLs that the program uses are secrets, even if net/http cannot parse one.
func TestPasswords(t *testing.T) {
	compare.Each(t, "passwords", 2, func(t *testing.T, row []string) {
		variable, want := row[0], row[1]
		c, _, err := Load(Flags{}, []string{variable})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%q", c.Secrets)
		compare.Equal(t, "Secrets", got, want)
	})
}
