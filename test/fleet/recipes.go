//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// recipe matches a block of shell lines of the page.
var recipe = regexp.MustCompile("(?s)\n```sh\n(.*?)\n```")

// recipes runs the lines of the page for the store as they are written, with each client that is
// installed: they make the account, with which the replicas work, and give a person a full bucket.
func (f *fleet) recipes() error {
	page, err := os.ReadFile("docs/reference/limits.md")
	if err != nil {
		return err
	}
	file, err := f.file("users.acl", "")
	if err != nil {
		return err
	}

	ran := 0
	for _, client := range []string{"redis-cli", "valkey-cli"} {
		_, missing := exec.LookPath(client)
		if missing != nil {
			continue
		}
		for _, query := range []string{"", "?prefix=team-a"} {
			err = f.run(func(server *redistest.Server) error {
				return f.recipesOf(server, string(page), client, query)
			}, "aclfile", file)
			if err != nil {
				return fmt.Errorf("%s: %w", client, err)
			}
			ran++
		}
	}
	if ran == 0 {
		return errors.New("neither redis-cli nor valkey-cli is installed")
	}
	return nil
}

// recipesOf runs the lines with a client, and a store with a query in its URL.
func (f *fleet) recipesOf(server *redistest.Server, page, client, query string) error {
	const password = "secret-of-the-store"
	url := "MCP_STORE_URL=valkey://mcp:" + password + "@" + server.Address + "/1" + query
	words := strings.NewReplacer("valkey.example.com:6379", server.Address, "PASSWORD", password,
		"valkey-cli", client)
	run := func(part string) error {
		for _, block := range recipe.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(block[1], part) {
				continue
			}
			command := exec.Command("sh", "-c", words.Replace(block[1]))
			command.Env = append(os.Environ(), url, "PATH="+f.dir+":"+os.Getenv("PATH"))
			output, err := command.CombinedOutput()
			fmt.Printf("%s: %s: %s\n", client, part, strings.Join(strings.Fields(string(output)), " "))
			if strings.Contains(string(output), "ERR") {
				return errors.New(string(output))
			}
			return err
		}
		return fmt.Errorf("the page has no lines with %s", part)
	}

	err := run("ACL SETUSER")
	if err != nil {
		return err
	}
	err = f.start(2, "--calls-per-hour 4 --tokens-per-day 1000000", url)
	if err != nil {
		return err
	}
	return errors.Join(
		f.check("12 calls", "alice", 12, one, 4),
		run("quota reset"),
		f.check("12 calls afterwards", "alice", 12, one, 4),
	)
}
