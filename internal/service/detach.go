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

const noSealingKey = "tasks do not outlive the process, and over HTTP calls are no tasks: set " +
	"MCP_TASK_SECRETS, because there is no API key of at least 24 characters"

// CompleteDetachOptions returns which calls go on without their requests; server.DetachOptions has
// a table. The caller has set OverHTTP and EOF of o, and CompleteDetachOptions sets the other
// fields, and wantsSealingKey. The error is about MCP_TASK_SECRETS.
func (s *Service) CompleteDetachOptions(
	o server.DetachOptions,
) (_ server.DetachOptions, warning string, err error) {
	secrets, err := s.TaskSecrets()
	if err != nil {
		return o, "", err
	}
	sealingSecrets := func() []string { return secrets }
	if len(secrets) == 0 {
		sealingSecrets = s.keys.sealingKeys
	}

	settings := s.Config.Server
	detachAfter := time.Duration(settings.AnswerWithinMS) * time.Millisecond
	inBackground := func(t call.Tool) bool { return s.Profiles[t.Name].Background }
	pollable := func(t call.Tool) bool { return t.Pollable && inBackground(t) }
	tasksAtAPI := settings.Tasks && slices.ContainsFunc(call.Tools, pollable)
	wantsAPI := tasksAtAPI || detachAfter > 0
	keyMayCome := s.effective.APIKeyFile != "" && s.effective.APIKey == "" // it is read again, and may then seal ids

	switch {
	case !slices.ContainsFunc(call.Tools, inBackground): // no call runs in the background
		if o.OverHTTP && detachAfter > 0 {
			warning = "answer_within_ms has no effect over HTTP: no profile sets background"
		}
	case len(sealingSecrets()) > 0 || keyMayCome:
		// Also if wantsAPI is false: clients may have ids of a server with other settings.
		o.BackgroundAPI = s.backgroundAPI(sealingSecrets)
		s.wantsSealingKey = wantsAPI && len(sealingSecrets()) == 0
	case wantsAPI:
		warning = noSealingKey
	}

	// These are the rows of the table of server.DetachOptions: stdio with and without an API, and
	// HTTP with an API. HTTP without an API detaches no call.
	switch {
	case !o.OverHTTP:
		o.OffersTasks = settings.Tasks
		o.DetachAfter = detachAfter
	case o.BackgroundAPI != nil:
		o.OffersTasks = tasksAtAPI
		o.DetachAfter = detachAfter
	}
	return o, warning, nil
}

// backgroundAPI returns the API that runs responses for tasks. secrets returns the secrets that
// seal their ids.
func (s *Service) backgroundAPI(secrets func() []string) *tasks.BackgroundAPI {
	// keepTime is how long after the time limit a task relies on the API to have the answer.
	keepTime := 8 * time.Minute // the API keeps it for about ten minutes
	if s.Config.Responses.Store {
		keepTime = time.Hour // the API keeps it for a month
	}
	return &tasks.BackgroundAPI{
		Fetch:    s.Answerer.Fetch,
		Cancel:   s.APIClient.Cancel,
		Secrets:  secrets,
		BaseURL:  s.effective.OpenAI.BaseURL,
		KeepTime: keepTime,
	}
}

// keyring holds the current API key, and the keys that seal the ids of tasks if MCP_TASK_SECRETS is
// not set: the latest key that is long enough and, after a change of the file, the one before it.
type keyring struct {
	current atomic.Pointer[string]
	sealing atomic.Pointer[[]string] // none is shorter than minSealingKey
}

func newKeyring(key string) *keyring {
	k := &keyring{}
	k.sealing.Store(&[]string{})
	k.setCurrent(key)
	return k
}

// setCurrent makes a key the current key.
func (k *keyring) setCurrent(key string) {
	key = strings.TrimSpace(key)
	k.current.Store(&key)
	old := k.sealingKeys()
	isLatest := len(old) > 0 && old[0] == key // the file was broken, and has the same key again
	if len(key) < minSealingKey || isLatest {
		return
	}
	keys := append([]string{key}, old[:min(1, len(old))]...)
	k.sealing.Store(&keys)
}

// sealingKeys returns the keys that seal ids, the latest key first. There are none before the first
// key that is long enough.
func (k *keyring) sealingKeys() []string {
	return *k.sealing.Load()
}

// TaskSecrets returns the secrets in MCP_TASK_SECRETS or its file. The redactor learns them.
func (s *Service) TaskSecrets() ([]string, error) {
	const variable = "MCP_TASK_SECRETS"
	list, path, err := s.ReadSecret(variable)
	if err != nil {
		return nil, err
	}

	secrets := text.SplitList(list)
	s.Redactor.Add(secrets...)
	for i, secret := range secrets {
		// An API key that has sealed ids so far may stay among the secrets.
		least := minTaskSecret
		if i > 0 || secret == s.Config.APIKey {
			least = minSealingKey
		}
		if len(secret) < least {
			return nil, fmt.Errorf("secret %d of %s has fewer than %d characters (commas or blanks "+
				"separate them)", i+1, cmp.Or(path, variable), least)
		}
	}
	if len(secrets) == 0 && path != "" {
		return nil, fmt.Errorf("%s has no secrets", path)
	}
	return secrets, nil
}
