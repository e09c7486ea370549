package repo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// Where it cannot work, .ci/run says so at once.
func TestRunElsewhere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no bash")
	}
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, "uname"), []byte("#!/bin/sh\necho Darwin arm64\n"), 0o755)
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command("bash", root+"/.ci/run")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()

	compare.Equal(t, "error", fmt.Sprint(err), "exit status 1")
	const want = root + "/.ci/run needs Linux on amd64; go test ./... runs everywhere\n"
	compare.Equal(t, "output", string(out), want)
}

// A release has the tools with which .ci/release tries it.
func TestReleaseTools(t *testing.T) {
	for _, name := range []string{"GORELEASER", "SYFT", "REGISTRY"} {
		version := find(`(?m)^`+name+`=(v\S+) # as in release.yml$`, read(t, ".ci/release"))
		compare.Equal(t, "versions of "+name, len(version), 1)
		compare.Contains(t, "release.yml", read(t, ".github/workflows/release.yml"), version[0])
	}
}

// The servers of compose.yaml trust the address of its proxy.
func TestTrustedProxy(t *testing.T) {
	text := read(t, "config/compose.yaml")
	addresses := find(`(?m)^  caddy:\n(?:   .*\n)*?    networks: { default: { ipv4_address: (\S+)`, text)
	compare.Equal(t, "addresses of caddy", len(addresses), 1)
	compare.Equal(t, "--trusted-proxy", find(`(?m)^    - --trusted-proxy=(\S+)`, text), addresses)
}

// The account of the store has the rights that a page names, also after a restart.
func TestStoreAccount(t *testing.T) {
	cli := ""
	for _, name := range []string{"valkey-cli", "redis-cli"} {
		if path, err := exec.LookPath(name); err == nil {
			cli = path
		}
	}
	if cli == "" {
		t.Skip("needs redis-cli or valkey-cli")
	}
	users := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(users, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := redistest.New(t, "aclfile", users)

	lines := regexp.MustCompile(`(?m)^valkey-cli (.* ACL .*)$`).
		FindAllStringSubmatch(read(t, "docs/reference/limits.md"), -1)
	compare.Equal(t, "lines", len(lines), 2)
	for _, line := range lines {
		script := `"$CLI" ` + strings.Replace(line[1], "valkey.example.com:6379", s.Address, 1)
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(os.Environ(), "CLI="+cli)
		out, err := cmd.CombinedOutput()
		compare.Equal(t, line[1], fmt.Sprint(string(out), err), "OK\n<nil>")
	}

	s.Kill()
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	c, err := redis.Dial("tcp", s.Address, redis.DialUsername("mcp"), redis.DialPassword("PASSWORD"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	set := "return redis.call('set', KEYS[1], 'x')"
	_, err = c.Do("EVAL", set, 1, "{openai-responses-mcp}:a")
	compare.Equal(t, "error", err, nil)
	_, err = c.Do("EVAL", set, 1, "other")
	compare.Contains(t, "error of another key", fmt.Sprint(err), "NOPERM")
	_, err = c.Do("KEYS", "*")
	compare.Contains(t, "error of another command", fmt.Sprint(err), "NOPERM")
}
