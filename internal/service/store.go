package service

import (
	"cmp"
	"log/slog"
	"net/url"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// newStore returns a store without a URL.
func (s *Service) newStore(log *slog.Logger) *budget.Store {
	store := budget.NewStore(llm.Roots, log)
	if s.dial != nil {
		store.Dial = s.dial
	}
	return store
}

// setURL sets the URL of a store. The redactor learns its password.
func (s *Service) setURL(store *budget.Store, raw []byte) (*url.URL, error) {
	u, err := store.SetURL(strings.TrimSpace(string(raw)))
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	s.Redactor.Add(password)
	return u, nil
}

// openStore returns the store that the environment names, or nil if it names none. If the URL is in
// a file, files follows its changes. The error is about the URL.
func (s *Service) openStore(files *Files) (*budget.Store, error) {
	raw, path, err := s.Secret("MCP_STORE_URL")
	if err != nil || path+string(raw) == "" {
		return nil, err
	}

	store := s.newStore(s.Log)
	accept := func(raw []byte) error {
		u, err := s.setURL(store, raw)
		if err != nil {
			return err
		}
		s.Log.Info("the limits of people are in a store", "host", u.Host)
		return nil
	}
	if path != "" {
		files.Add("URL of the store", path, raw, accept)
	}
	return store, accept(raw)
}

// NamedStore is the store that the environment names. Its fields tell where it is, without secrets.
type NamedStore struct {
	Host     string `json:"host"` // with its port, if the URL has one
	Database string `json:"database"`
	Prefix   string `json:"prefix,omitempty"`

	*budget.Store `json:"-"`
}

// FindStore returns the store that the environment names, or nil if it names none. The store does
// not log. The error is about its URL.
func (s *Service) FindStore() (*NamedStore, error) {
	raw, path, err := s.Secret("MCP_STORE_URL")
	if err != nil || path+string(raw) == "" {
		return nil, err
	}
	store := s.newStore(slog.New(slog.DiscardHandler))
	u, err := s.setURL(store, raw)
	if err != nil {
		return nil, err
	}
	return &NamedStore{
		Host:     u.Host,
		Database: cmp.Or(strings.Trim(u.Path, "/"), "0"),
		Prefix:   budget.Prefix(u),
		Store:    store,
	}, nil
}

// ConfigJSON returns the output of --show-config.
func (s *Service) ConfigJSON() []byte {
	store, _ := s.FindStore() // serve and doctor report an error of the URL
	if store == nil {
		return s.Config.Show(version.String(), nil, s.Warnings...)
	}
	return s.Config.Show(version.String(), store, s.Warnings...)
}
