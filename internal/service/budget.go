package service

import (
	"cmp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/budget"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// Budget returns what bounds the calls and tokens of people. A limit of o that is 0 is that of the
// configuration. Where the environment names a store, a person without an ID, as over stdio, is the
// user of the system. The error is about the URL of the store.
func (s *Service) Budget(o budget.Options, files *Files) (*budget.Budget, error) {
	o.CallsPerHour = cmp.Or(o.CallsPerHour, s.Config.Server.CallsPerHour)
	o.TokensPerDay = cmp.Or(o.TokensPerDay, s.Config.Server.TokensPerDay)
	raw, path, err := s.Secret("MCP_STORE_URL")
	if err != nil || path+string(raw) == "" {
		return budget.New(o), err
	}

	o.User = "user:" + cmp.Or(s.Getenv("USER"), s.Getenv("USERNAME"))
	o.Store = budget.NewStore(llm.Roots, s.Log)
	accept := func(raw []byte) error {
		u, err := o.Store.SetURL(strings.TrimSpace(string(raw)))
		if err != nil {
			return err
		}
		password, _ := u.User.Password()
		s.Redactor.Add(password)
		s.Log.Info("the limits of people are in a store", "host", u.Host)
		return nil
	}
	if path != "" {
		files.Add("URL of the store", path, raw, accept)
	}
	return budget.New(o), accept(raw)
}
