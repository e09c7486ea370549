package cli

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const (
	minTaskSecret = 32 // characters
	minSealingKey = 24 // those of an API key in its place; the warning says so
)

// outlive sets which calls outlive their request: tasks and late answers. They outlive the process
// where the configuration runs their tool in the background and there is a secret for their ids. If
// requests are shared among processes, there are no others.
func (a *app) outlive(s *service, shared bool) error {
	secrets, err := a.taskSecrets()
	if err != nil {
		return usageError("separate secrets by commas or blanks", "%v", err)
	}

	o := &s.server
	takesTasks := s.Config.Server.Tasks
	within := time.Duration(s.Config.Server.AnswerWithinMS) * time.Millisecond
	o.Shared = shared
	if !shared {
		o.Tasks = takesTasks
		o.Within = within
	}

	isBackground := false // some tool is
	for _, p := range s.Profiles {
		isBackground = isBackground || p.Background
	}
	isTask := takesTasks && s.Profiles["answer_detailed"].Background
	if !isBackground {
		return nil
	}
	list := func() []string { return secrets }
	if len(secrets) == 0 {
		list = s.keys.list
	}
	if len(list()) == 0 {
		if isTask || within > 0 {
			a.warn("tasks do not outlive the process, and over HTTP calls are no tasks: set " +
				"MCP_TASK_SECRETS, because there is no API key of at least 24 characters")
		}
		return nil
	}

	// How long the API has an answer after the time limit, as far as a task relies on it.
	keep := 8 * time.Minute // of about ten
	if s.Config.Responses.Store {
		keep = time.Hour // of a month
	}
	o.Tasks = o.Tasks || isTask
	o.Within = within
	o.API = &tasks.API{
		Fetch:   s.answerer.Fetch,
		Cancel:  s.api.Cancel,
		Secrets: list,
		BaseURL: s.Client.BaseURL,
		Keep:    keep,
	}
	return nil
}

// keyring has the API key that seals the ids of tasks where there are no secrets for it, and after
// a change of its file the previous one, too. Keys that are too short are not in it.
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
	isSame := len(old) > 0 && old[0] == key // the same one after a broken file
	if len(key) < minSealingKey || isSame {
		return
	}
	keys := append([]string{key}, old[:min(1, len(old))]...)
	k.keys.Store(&keys)
}

func (k *keyring) list() []string {
	return *k.keys.Load()
}

// taskSecrets returns the secrets of the environment. The redactor knows all of them.
func (a *app) taskSecrets() ([]string, error) {
	const variable = "MCP_TASK_SECRETS"
	source, list, err := a.secretList(variable)
	if err != nil {
		return nil, err
	}

	secrets := text.List(string(list))
	a.redactor.Add(secrets...)
	for i, secret := range secrets {
		if len(secret) < minTaskSecret {
			return nil, fmt.Errorf("secret %d of %s has fewer than %d characters",
				i+1, source, minTaskSecret)
		}
	}
	if len(secrets) == 0 && source != variable {
		return nil, fmt.Errorf("%s has no secrets", source)
	}
	return secrets, nil
}
