package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
)

const (
	minTaskSecret = 32 // characters
	minSealingKey = 24 // characters of an API key that seals ids without MCP_TASK_SECRETS
)

// LongCalls returns which calls go on without their requests: server.LongCalls has a table. shared
// says that requests reach several processes. eof is closed when no request can follow; nil: that
// is not known. The error is about the secrets of ids.
func (s *Service) LongCalls(
	shared bool, eof <-chan struct{},
) (long server.LongCalls, warning string, err error) {
	secrets, err := s.taskSecrets()
	if err != nil {
		return long, "", err
	}
	list := func() []string { return secrets }
	if len(secrets) == 0 {
		list = s.keys.list
	}

	settings := s.Config.Server
	within := time.Duration(settings.AnswerWithinMS) * time.Millisecond
	inBackground := func(t call.Tool) bool { return s.Profiles[t.Name].Background }
	pollable := func(t call.Tool) bool { return t.Pollable && inBackground(t) }
	tasksAtAPI := settings.Tasks && slices.ContainsFunc(call.Tools, pollable)

	var api *tasks.API
	switch {
	case !slices.ContainsFunc(call.Tools, inBackground): // no API for tasks
	case len(list()) > 0:
		api = s.taskAPI(list)
	case tasksAtAPI || within > 0:
		warning = "tasks do not outlive the process, and over HTTP calls are no tasks: set " +
			"MCP_TASK_SECRETS, because there is no API key of at least 24 characters"
	}

	// The rows of the table of server.LongCalls: stdio with or without an API, and HTTP.
	polled := settings.Tasks
	if shared {
		polled = tasksAtAPI && api != nil
	}
	if shared && api == nil {
		within = 0
	}
	return server.LongCalls{
		Polled: polled,
		Within: within,
		API:    api,
		Shared: shared,
		EOF:    eof,
	}, warning, nil
}

// taskAPI is the API that runs responses for tasks, whose ids the secrets of list seal.
func (s *Service) taskAPI(list func() []string) *tasks.API {
	// How long the API has an answer after the time limit, as far as a task relies on the API.
	keep := 8 * time.Minute // of about ten
	if s.Config.Responses.Store {
		keep = time.Hour // of a month
	}
	return &tasks.API{
		Fetch:   s.Answerer.Fetch,
		Cancel:  s.API.Cancel,
		Secrets: list,
		BaseURL: s.baseURL,
		Keep:    keep,
	}
}

// keyring has the API key that seals the ids of tasks where there are no secrets for it, and
// after a change of its file the previous one, too. Keys that are too short are not in it.
type keyring struct{ keys atomic.Pointer[[]string] }

func newKeyring(key string) *keyring {
	k := &keyring{}
	k.keys.Store(&[]string{})
	k.add(key)
	return k
}

// add puts a key first.
func (k *keyring) add(key string) {
	key = strings.TrimSpace(key)
	old := k.list()
	same := len(old) > 0 && old[0] == key // the same one after a broken file
	if len(key) < minSealingKey || same {
		return
	}
	keys := append([]string{key}, old[:min(1, len(old))]...)
	k.keys.Store(&keys)
}

func (k *keyring) list() []string {
	return *k.keys.Load()
}

// taskSecrets returns the secrets of the environment. The redactor knows all of them.
func (s *Service) taskSecrets() ([]string, error) {
	const variable = "MCP_TASK_SECRETS"
	list, path, err := s.Secret(variable)
	if err != nil {
		return nil, err
	}

	secrets := text.List(string(list))
	s.Redactor.Add(secrets...)
	for i, secret := range secrets {
		if len(secret) < minTaskSecret {
			return nil, fmt.Errorf("secret %d of %s has fewer than %d characters",
				i+1, cmp.Or(path, variable), minTaskSecret)
		}
	}
	if len(secrets) == 0 && path != "" {
		return nil, fmt.Errorf("%s has no secrets", path)
	}
	return secrets, nil
}
