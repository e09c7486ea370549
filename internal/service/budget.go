package service

import (
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

	o.Store = s.newStore(s.Log)
	accept := func(raw []byte) error {
		u, err := s.setURL(o.Store, raw)
		if err != nil {
			return err
		}
		s.Log.Info("the limits of people are in a store", "host", u.Host)
		return nil
	}
	if path != "" {
		files.Add("URL of the store", path, raw, accept)
	}
	return budget.New(o), accept(raw)
}
