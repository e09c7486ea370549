package repo_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/command/cli"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// served returns the log of a server that refuses a request.
func served(t *testing.T, format string, header http.Header) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	stderr, w := io.Pipe()
	go func() {
		args := strings.Fields("serve --http 127.0.0.1:0 --notice 0s --trusted-proxy 127.0.0.1")
		environ := []string{"OPENAI_API_KEY=sk-runbook", "MCP_HTTP_TOKENS=alice:0123456789abcdef"}
		cli.Run(ctx, append(args, "--log-format", format), environ, nil, io.Discard, w)
		w.Close()
	}()

	lines := bufio.NewScanner(stderr)
	log := ""
	for lines.Scan() {
		log += lines.Text() + "\n"
		at := regexp.MustCompile(`serving MCP on (http://[^"\s]+)`).FindStringSubmatch(lines.Text())
		if at == nil {
			continue
		}

		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, at[1], nil)
		r.Header = header
		r.Host = header.Get("Host")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		stop()
	}
	return log
}

// The runbook of guessed tokens names the address of the client and none that the client writes.
func TestGuessing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is for a POSIX shell")
	}
	page := read(t, "docs/reference/runbooks.md")
	command := find("(?s)MCPGuessing\n.*?```text\n\\| (.*?)\n```", page)

	for _, row := range compare.Table(t, "guessing", 4) {
		for _, format := range []string{"text", "json"} {
			t.Run(row[0]+"/"+format, func(t *testing.T) {
				header := http.Header{"Host": {row[1]}}
				header.Set("Origin", row[2])
				header.Set("X-Forwarded-For", row[3])
				log := served(t, format, header)

				_, client, _ := strings.Cut(row[3], ", ")
				sh := exec.Command("sh", "-c", strings.Join(command, ""))
				sh.Stdin = strings.NewReader("openai-responses-mcp-1  | " + log)
				out, err := sh.CombinedOutput()
				if err != nil {
					t.Fatal(err)
				}
				got := strings.Join(strings.Fields(string(out)), " ")
				compare.Equal(t, "addresses in "+log, got, "1 "+client)
			})
		}
	}
}

// The comment above the alert of an outage says which kinds of errors are of the key, and which are no
// outage. -update writes these lists into the alerts.
func TestKindsInAlerts(t *testing.T) {
	const file = "config/prometheus/rules.yaml"
	rules := read(t, file)
	_, comment, _ := strings.Cut(rules, "# An outage")
	comment, _, _ = strings.Cut(comment, "- alert: ")
	ofKey, _, hasKey := strings.Cut(comment, ")")
	_, noOutage, hasOthers := strings.Cut(comment, "Those of questions")
	compare.Equal(t, "the comment has both", hasKey && hasOthers, true)

	list := regexp.MustCompile(`(kind[=!]~["'])[^"']*`)
	alerts := strings.Split(rules, "- alert: ")
	for i, alert := range alerts {
		name, _, _ := strings.Cut(alert, "\n")
		kinds := map[string]string{
			"OpenAIResponsesMCPKeyRefused": ofKey,
			"OpenAIResponsesMCPOutage":     noOutage,
		}[name]
		if kinds != "" {
			all := strings.Join(find("`(\\w+)`", kinds), "|")
			alerts[i] = list.ReplaceAllString(alert, "${1}"+all)
		}
	}

	want := strings.Join(alerts, "- alert: ")
	if *update {
		write(t, file, want)
		return
	}
	compare.Equal(t, file+" (-update rewrites it)", rules, want)
}
