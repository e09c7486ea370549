package cli

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

const (
	minTaskSecret = 32 // characters
	minSealingKey = 24 // those of an API key in its place; the warning says so
)

// outlive lets tasks outlive the process, where the configuration runs answer_detailed in the
// background and there is a secret for their ids.
func (a *app) outlive(d *deps) error {
	secrets, err := a.taskSecrets()
	if err != nil {
		return usageError("separate secrets by commas or blanks", "%v", err)
	}

	inBackground := d.profiles["answer_detailed"].Background
	if !inBackground || !d.config.Server.Tasks {
		return nil
	}
	list := func() []string { return secrets }
	key := strings.TrimSpace(d.api.APIKey)
	switch {
	case len(secrets) > 0:
	case len(key) >= minSealingKey:
		list = d.sealWithKey(key)
	default:
		a.warn("tasks do not outlive the process, and over HTTP calls are no tasks: set " +
			"MCP_TASK_SECRETS, because there is no API key of at least 24 characters")
		return nil
	}

	// How long the API has an answer after the time limit, as far as a task relies on it.
	keep := 8 * time.Minute // of about ten
	if d.config.Responses.Store {
		keep = time.Hour // of a month
	}
	d.server.Background = &server.Background{
		Start:   d.answerer.Start,
		Fetch:   d.answerer.Fetch,
		Cancel:  d.answerer.CancelResponse,
		Secrets: list,
		BaseURL: d.api.BaseURL,
		Keep:    keep,
	}
	return nil
}

// sealWithKey returns the secrets where the API key is one: after a change of its file also the
// previous key.
func (d *deps) sealWithKey(key string) func() []string {
	keys := &atomic.Pointer[[]string]{}
	keys.Store(&[]string{key})

	if d.keyFile != nil {
		accept := d.keyFile.accept
		d.keyFile.accept = func(data []byte) error {
			next := strings.TrimSpace(string(data))
			current := (*keys.Load())[0]
			if len(next) >= minSealingKey && next != current { // the same one after a broken file
				keys.Store(&[]string{next, current})
			}
			return accept(data)
		}
	}
	return func() []string { return *keys.Load() }
}

// taskSecrets returns the secrets of the environment. The redactor knows all of them.
func (a *app) taskSecrets() ([]string, error) {
	const variable = "MCP_TASK_SECRETS"
	source, list, err := a.secretList(variable)
	if err != nil {
		return nil, err
	}

	separates := func(r rune) bool { return r == ',' || r <= ' ' }
	secrets := strings.FieldsFunc(string(list), separates)
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
