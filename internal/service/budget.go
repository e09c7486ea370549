package service

import (
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// BudgetOptions returns the limits of the configuration. user stands for the person without an ID.
func (s *Service) BudgetOptions(user string) budget.Options {
	return budget.Options{
		CallsPerHour: s.Config.Server.CallsPerHour,
		TokensPerDay: s.Config.Server.TokensPerDay,
		Timeout:      s.Config.Timeout(),
		Location:     s.Config.Location,
		User:         user,
	}
}

// Budget returns what bounds the calls and tokens of people, with the store that the environment
// names. The error is about its URL.
func (s *Service) Budget(o budget.Options, files *Files) (*budget.Budget, error) {
	raw, path, err := s.Secret("MCP_STORE_URL")
	if err != nil || path+string(raw) == "" {
		return budget.New(o), err
	}

	o.Store = budget.NewStore(llm.Roots, s.Log)
	if s.dial != nil {
		o.Store.Dial = s.dial
	}
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
