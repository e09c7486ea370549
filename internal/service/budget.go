package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// NewBudget returns a Budget that bounds the calls, tokens and money of people, with the store that
// the environment names. The caller sets DefaultID and RefuseWithoutStore of o; NewBudget sets the
// other options. The error is that of CheckLimits, or is about the URL of the store.
func (s *Service) NewBudget(o budget.Options, files *Files) (*budget.Budget, error) {
	o.Limits = budget.Limits(s.Config.Server.Limits)
	o.Prices = map[string]*call.Price{}
	o.Timeout = s.Config.Timeout()
	o.Location = s.Config.Location
	o.Log = s.Log
	for tool, profile := range s.Profiles {
		o.Prices[tool] = profile.Price
	}
	err := s.CheckLimits()
	if err != nil {
		return nil, err
	}
	o.NoNames = s.Getenv(storeNamesVariable) == "0"
	o.Store, err = s.openStore(budget.StoreOptions{
		Log:            s.Log,
		RefusesWithout: o.RefuseWithoutStore,
	}, files)
	return budget.New(o), err
}

const storeNamesVariable = "MCP_STORE_NAMES"

// CheckLimits returns why the program cannot start with the limits of the configuration, or nil:
// MCP_STORE_NAMES is invalid, or a limit in USD needs the prices of models that have none.
func (s *Service) CheckLimits() error {
	if !slices.Contains([]string{"", "0", "1"}, s.Getenv(storeNamesVariable)) {
		return errors.New(storeNamesVariable + " is not 0 or 1")
	}
	limits := budget.Limits(s.Config.Server.Limits)
	return s.checkPrices(limits.HaveUSD())
}

// FollowPersonLimits reads the limits of single people from a file, and gives them to b, now and
// whenever files finds that the file has changed. A limit for an ID that is not known, such as that
// of another issuer, gets a warning in the log.
func (s *Service) FollowPersonLimits(
	path string, b *budget.Budget, isKnown func(id string) bool, files *Files,
) error {
	data, err := config.ReadFile(path)
	if err != nil {
		return err
	}

	accept := func(data string) error {
		people, err := budget.ParsePersonLimits(data)
		if err == nil {
			err = s.checkPrices(people.HaveUSD())
		}
		if err != nil {
			return err
		}

		b.SetPersonLimits(people)
		s.Log.Info("read the limits of single people", "people", len(people))
		unknown := people.Unknown(isKnown)
		if len(unknown) > 0 {
			s.Log.Warn("limits of people who are not known", "names", unknown,
				"hint", "name a token, or an issuer as in --oauth-issuer and a subject")
		}
		return nil
	}

	files.Add("limits of single people", path, data, accept)
	return accept(data)
}

// checkPrices returns an error that names the models without a price, if a limit in USD needs
// prices. With --offline it checks the models of the configuration, too, although the answers of
// the fake API cost nothing: --offline is for trying a configuration.
func (s *Service) checkPrices(needed bool) error {
	if !needed {
		return nil
	}
	var models []string
	for _, tool := range call.Tools {
		model := s.Config.ModelProfiles[tool.Name].Model
		if s.Config.PriceOf(model) == nil && !slices.Contains(models, model) {
			models = append(models, model)
		}
	}
	if len(models) == 0 {
		return nil
	}
	return fmt.Errorf("a limit in USD needs prices in the configuration: add one for %s",
		strings.Join(models, ", "))
}
