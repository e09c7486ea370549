package main_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/uchimanajet7/openai-responses-mcp/internal/policy"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

var update = flag.Bool("update", false, "write what scripts compare with `cmp` into them")

// TestScript runs testdata/script. Besides testscript's own commands and the
// program itself (`exec openai-responses-mcp`) there are
//
//	api STEP...           starts an API with these steps (fakeapi.ParseStep),
//	                      the one behind the word always for all requests that
//	                      follow, and points the environment at it
//	requests N            the API has seen N requests
//	request N             prints the body of request N, POLICY in the place of
//	                      the built-in instructions
//	[!] mcp FILE [ARG...] runs the program with --stdio and ARGs, and has the
//	                      conversation of FILE with it; stdout is then what
//	                      came, a message a line; ! wants an exit code over 0
//	code N [ARG...]       runs the program with ARGs and an empty stdin, and
//	                      wants exit code N
//	steady                replaces in stdout and stderr of the last command
//	                      what changes from run to run
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup:              scriptSetup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"api":      scriptAPI,
			"requests": scriptRequests,
			"request":  scriptRequest,
			"mcp":      scriptMCP,
			"code":     scriptCode,
			"steady":   scriptSteady,
		},
	})
}

// scriptState is what the commands of a script share.
type scriptState struct{ api *api }

type scriptKey struct{}

func scriptSetup(e *testscript.Env) error {
	e.Values[scriptKey{}] = &scriptState{}
	home := filepath.Join(e.WorkDir, "home")
	e.Vars = append(e.Vars, environment(home, "OPENAI_BASE_URL="+nowhere)...)
	e.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+e.Getenv("PATH"))
	e.Setenv("KEY", key)
	e.Setenv("VERSION", version.Version)
	return os.MkdirAll(home, 0o700)
}

func stateOf(ts *testscript.TestScript) *scriptState {
	return ts.Value(scriptKey{}).(*scriptState)
}

func scriptAPI(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! api")
	}
	a, stop, err := openAPI(args...)
	ts.Check(err)
	ts.Defer(stop)
	stateOf(ts).api = a
	ts.Setenv("OPENAI_BASE_URL", a.url)
	ts.Setenv("OPENAI_API_KEY", key)
}

// recorded returns the requests that the API of the script has seen.
func recorded(ts *testscript.TestScript) (bodies [][]byte) {
	a := stateOf(ts).api
	if a == nil {
		ts.Fatalf("there is no API: `api` comes first")
	}
	for _, r := range a.Requests() {
		bodies = append(bodies, r.Body)
	}
	return bodies
}

// number reads the one argument of a command.
func number(ts *testscript.TestScript, neg bool, args []string) (n int) {
	if neg || len(args) != 1 {
		ts.Fatalf("want one number and no !")
	}
	if _, err := fmt.Sscan(args[0], &n); err != nil {
		ts.Fatalf("%q is no number", args[0])
	}
	return n
}

func scriptRequests(ts *testscript.TestScript, neg bool, args []string) {
	want := number(ts, neg, args)
	if got := len(recorded(ts)); got != want {
		ts.Fatalf("the API has seen %d requests, want %d", got, want)
	}
}

func scriptRequest(ts *testscript.TestScript, neg bool, args []string) {
	n, bodies := number(ts, neg, args), recorded(ts)
	if n < 1 || n > len(bodies) {
		ts.Fatalf("the API has seen %d requests", len(bodies))
	}
	var body map[string]any
	ts.Check(json.Unmarshal(bodies[n-1], &body))
	builtin, _ := policy.Load("builtin", "", "", nil)
	if text, _ := body["instructions"].(string); strings.Contains(text, builtin) {
		body["instructions"] = strings.Replace(text, builtin, "POLICY", 1)
	}
	e := json.NewEncoder(ts.Stdout())
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	ts.Check(e.Encode(body))
}

func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	var want int
	if neg || len(args) < 1 {
		ts.Fatalf("usage: code N [ARG...]")
	}
	if _, err := fmt.Sscan(args[0], &want); err != nil {
		ts.Fatalf("%q is no number", args[0])
	}
	err := ts.Exec(binary, args[1:]...)
	got, exit := 0, (*exec.ExitError)(nil)
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func scriptSteady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: steady")
	}
	out, err := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	work := ts.Getenv("WORK")
	fmt.Fprint(ts.Stdout(), steady(out, work))
	fmt.Fprint(ts.Stderr(), steady(err, work))
}
