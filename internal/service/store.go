package service

import (
	"log/slog"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// ConfiguredStore returns the store that the environment names, or nil if it names none. The store
// does not log. The error is about its URL.
func (s *Service) ConfiguredStore() (*budget.Store, error) {
	silent := budget.StoreOptions{Log: slog.New(slog.DiscardHandler)}
	return s.openStore(silent, &Files{}) // not followed
}

// openStore returns the store that the environment names, or nil if it names none. It sets Roots
// and Dial of o. If the URL is in a file, files follows its changes. The redactor learns the
// password. The error is about the URL.
func (s *Service) openStore(o budget.StoreOptions, files *Files) (*budget.Store, error) {
	raw, path, err := s.ReadSecret("MCP_STORE_URL")
	if err != nil || path+raw == "" {
		return nil, err
	}

	o.Roots = httpclient.Roots
	o.Dial = s.Dial
	store := budget.NewStore(o)
	passwords := s.Redactor.NewSource()
	accept := func(raw string) error {
		u, err := store.SetURL(strings.Trim(raw, "\ufeff \t\r\n"))
		if err != nil {
			return err
		}
		password, _ := u.User.Password()
		passwords.Set(password)
		o.Log.Info("the limits of people are in a store", "host", u.Host)
		return nil
	}
	if path != "" {
		files.Add("URL of the store", path, raw, accept)
	}
	return store, accept(raw)
}

// ConfigJSON returns the output of --show-config.
func (s *Service) ConfigJSON() []byte {
	store, err := s.ConfiguredStore() // serve and doctor report an error of the URL
	var shown any
	if err == nil && store != nil {
		shown = store.Address()
	}
	return s.Config.Show(version.String(), shown, s.Warnings...)
}
