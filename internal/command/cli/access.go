package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/internal/team/httpd"
	"github.com/uchimanajet7/openai-responses-mcp/internal/team/oauth"
)

const (
	tokensVariable = "MCP_HTTP_TOKENS"    // the bearer tokens; with _FILE, the path of their file
	denyVariable   = "MCP_HTTP_DENY_FILE" // the path of the file with denied people
	seeServe       = "see " + version.Name + " serve --help"
)

// access returns which requests the server accepts. Without a way to authenticate, an address other
// than loopback needs --allow-anonymous.
func (f *serveFlags) access(
	s *service.Service, files *service.Files, loopback bool,
) (access httpd.Access, err error) {
	tokens, err := newTokens(s, files)
	if err != nil {
		return access, usageError("name:token, separated by commas or blanks", "%v", err)
	}
	resource, err := f.resource(s)
	if err != nil {
		return access, usageError(seeServe, "%v", err)
	}
	denied, err := newDenied(s, files, tokens, f.oauth.Issuers)
	if err != nil {
		return access, usageError(
			"names, subjects, or an issuer as in --oauth-issuer and a subject, one a line", "%v", err)
	}

	access = httpd.Access{
		Loopback: loopback,
		Tokens:   tokens,
		Resource: resource,
		Denied:   denied,
		Hosts:    f.hosts,
	}

	const ways = "bearer tokens in MCP_HTTP_TOKENS or MCP_HTTP_TOKENS_FILE, or --oauth-issuer"
	needsToken := access.NeedsToken()
	switch {
	case needsToken && f.allowAnonymous:
		return access, usageError(seeServe, "--allow-anonymous contradicts "+ways)
	case needsToken:
	case denied != nil:
		return access, usageError(seeServe, denyVariable+" needs "+ways)
	case !loopback && !f.allowAnonymous:
		return access, usageError("set one, or use --allow-anonymous to let anyone use the key",
			"an address other than loopback needs "+ways)
	case f.maxCallsPerPerson > 0:
		return access, usageError(
			"without tokens all calls are of one person, and --max-calls bounds them",
			"--max-calls-per-user needs "+ways)
	}
	return access, nil
}

// subjectClaim is the default of --oauth-user.
const subjectClaim = "sub"

// resource returns what checks the tokens of people who sign in. It is nil without a flag of OAuth.
func (f *serveFlags) resource(s *service.Service) (*oauth.Resource, error) {
	o := f.oauth
	lists := slices.Concat(o.Issuers, o.Audiences, o.Scopes)
	if o.PublicURL == "" && o.UserClaim == subjectClaim && len(lists) == 0 {
		return nil, nil
	}

	o.Client = httpclient.New(f.options.Dial)
	o.Log = s.Log
	resource, err := oauth.New(o)
	if err == nil && len(o.Scopes) == 0 {
		s.Log.Warn("without --oauth-scope, ID tokens and tokens for other purposes may be accepted")
	}
	return resource, err
}

// newTokens returns the bearer tokens of MCP_HTTP_TOKENS or its file, which files follows, or nil
// if neither is set. The redactor learns all of them.
func newTokens(s *service.Service, files *service.Files) (*httpd.Tokens, error) {
	list, path, err := s.ReadSecret(tokensVariable)
	if err != nil || path+list == "" {
		return nil, err
	}
	tokens, err := httpd.NewTokens(cmp.Or(path, tokensVariable), list, s.Redactor.NewSource().Set)
	if path == "" || err != nil {
		return tokens, err
	}

	files.Add("tokens", path, list, func(list string) error {
		gone := slices.Clone(tokens.Names())
		err := tokens.Set(list)
		if err != nil {
			return err
		}
		gone = slices.DeleteFunc(gone, tokens.Has)
		log := s.Log.Info
		if len(gone) > 0 { // perhaps by mistake: the file may have been cut off
			log = s.Log.Warn
		}
		log("read the tokens again", "names", len(tokens.Names()), "gone", gone)
		return nil
	})
	return tokens, nil
}

// newDenied returns the denied people of MCP_HTTP_DENY_FILE, which files follows, or nil if it is
// not set. issuers are those at which people sign in. Without them a name that no token has gets a warning.
func newDenied(
	s *service.Service, files *service.Files, tokens *httpd.Tokens, issuers []string,
) (*httpd.Denied, error) {
	path := s.Getenv(denyVariable)
	if path == "" {
		return nil, nil
	}
	data, err := config.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", denyVariable, err)
	}

	denied := httpd.NewDenied(issuers...)
	accept := func(data string) error {
		err := denied.Set(data)
		if err != nil {
			return err
		}
		s.Log.Info("read the list of denied people", "entries", denied.Len())
		if len(issuers) > 0 || tokens == nil {
			return nil
		}
		unknown := denied.NumUnknown(tokens.Names())
		if unknown > 0 { // which ones is not logged: a line may be a token
			s.Log.Warn("denied people who have no token", "entries", unknown,
				"hint", "write the names as in the list of tokens")
		}
		return nil
	}
	files.Add("list of denied people", path, data, accept)
	err = accept(data)
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", denyVariable, path, err)
	}
	return denied, err
}
