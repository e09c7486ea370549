package main

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// github is a fake of as much of GitHub's API as goreleaser and gh use for a
// release and for a file of another repository. It is as strict as the real
// one: each repository has its own token, drafts are not found by their tag,
// no file is there twice, and those of a published release do not change.
type github struct {
	owner, repo, token string // of the releases
	tap, tapToken      string // of the cask

	mu       sync.Mutex
	last     int64
	releases []*release
	commits  []commit       // of the tap
	uploaded map[string]int // how often a file was taken
	expired  []string       // tokens that are worth nothing
	breakAt  int            // this upload arrives by half, and the token is worth nothing from there on
}

// release is one as the API gives it (REST, "Releases").
type release struct {
	ID          int64      `json:"id"`
	URL         string     `json:"url"`
	Tag         string     `json:"tag_name"`
	Name        string     `json:"name"`
	Body        string     `json:"body"`
	Draft       bool       `json:"draft"`
	Prerelease  bool       `json:"prerelease"`
	Latest      string     `json:"make_latest,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	PublishedAt *time.Time `json:"published_at"`
	Assets      []*asset   `json:"assets"`
}

// asset is a file of a release.
type asset struct {
	ID    int64  `json:"id"`
	URL   string `json:"url"`
	Name  string `json:"name"`
	State string `json:"state"` // starter, until all of it is there
	Size  int    `json:"size"`
	data  []byte
}

// commit is one that the API made of a file.
type commit struct {
	path, message, sha string
	content            []byte
}

// handler asks for the token first. Requests are answered one by one.
func (g *github) handler() http.Handler {
	base := "/repos/" + g.owner + "/" + g.repo
	mux := http.NewServeMux()
	handle := func(pattern, token string, f func(http.ResponseWriter, *http.Request) (int, any)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			g.mu.Lock()
			defer g.mu.Unlock()
			status, v := http.StatusUnauthorized, any(message("Bad credentials"))
			if a := r.Header.Get("Authorization"); (a == "Bearer "+token || a == "token "+token) && !slices.Contains(g.expired, token) {
				status, v = f(w, r)
			}
			if v != nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_ = json.NewEncoder(w).Encode(v) // the client went
			}
		})
	}
	handle("GET api.github.com"+base+"/releases", g.token, g.list)
	handle("POST api.github.com"+base+"/releases", g.token, g.create)
	handle("GET api.github.com"+base+"/releases/{id}", g.token, g.byID)
	handle("PATCH api.github.com"+base+"/releases/{id}", g.token, g.edit)
	handle("GET api.github.com"+base+"/releases/{id}/{below}", g.token, g.below)
	handle("POST uploads.github.com"+base+"/releases/{id}/assets", g.token, g.upload)
	handle("DELETE api.github.com"+base+"/releases/assets/{below}", g.token, g.remove)
	handle("POST api.github.com/graphql", g.token, g.graphql)
	tap := "/repos/" + g.owner + "/" + g.tap
	handle("GET api.github.com"+tap, g.tapToken, func(http.ResponseWriter, *http.Request) (int, any) {
		return http.StatusOK, map[string]string{"name": g.tap, "default_branch": "main"}
	})
	handle("GET api.github.com"+tap+"/contents/{path...}", g.tapToken, g.read)
	handle("PUT api.github.com"+tap+"/contents/{path...}", g.tapToken, g.write)
	mux.HandleFunc("GET api.github.com/rate_limit", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"resources":{"core":{"limit":5000,"remaining":5000,"reset":4102444800}}}`)
	})
	return mux
}

func message(s string) map[string]any { return map[string]any{"message": s} }

// invalid is the answer to what the API will not do.
func invalid(code string) (int, any) {
	return http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed", "errors": []any{map[string]string{"code": code}}}
}

func (g *github) id() int64 { g.last++; return g.last }

func (g *github) find(ok func(*release) bool) *release {
	if i := slices.IndexFunc(g.releases, ok); i >= 0 {
		return g.releases[i]
	}
	return nil
}

// of is the release of a request's path.
func (g *github) of(r *http.Request) *release {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	return g.find(func(x *release) bool { return x.ID == id })
}

func found[T any](v *T) (int, any) {
	if v == nil {
		return http.StatusNotFound, message("Not Found")
	}
	return http.StatusOK, v
}

func (g *github) list(http.ResponseWriter, *http.Request) (int, any) {
	return http.StatusOK, g.releases
}

func (g *github) create(_ http.ResponseWriter, r *http.Request) (int, any) {
	x := &release{Assets: []*asset{}}
	if err := json.NewDecoder(r.Body).Decode(x); err != nil {
		return http.StatusBadRequest, message(err.Error())
	}
	if g.find(func(y *release) bool { return y.Tag == x.Tag && !y.Draft }) != nil {
		return invalid("already_exists")
	}
	x.ID, x.CreatedAt = g.id(), time.Now().UTC()
	x.URL = fmt.Sprintf("https://api.github.com/repos/%s/%s/releases/%d", g.owner, g.repo, x.ID)
	g.publish(x)
	g.releases = append(g.releases, x)
	return http.StatusCreated, x
}

// publish sets the time of a release that is no draft, once.
func (g *github) publish(x *release) {
	if !x.Draft && x.PublishedAt == nil {
		now := time.Now().UTC()
		x.PublishedAt = &now
	}
}

// below answers releases/tags/TAG, releases/assets/ID and releases/ID/assets.
func (g *github) below(w http.ResponseWriter, r *http.Request) (int, any) {
	switch r.PathValue("id") {
	case "tags":
		return found(g.find(func(x *release) bool { return x.Tag == r.PathValue("below") && !x.Draft }))
	case "assets":
		_, a := g.asset(r)
		if a != nil && r.Header.Get("Accept") == "application/octet-stream" {
			_, _ = w.Write(a.data)
			return 0, nil
		}
		return found(a)
	}
	if x := g.of(r); x != nil && r.PathValue("below") == "assets" {
		return http.StatusOK, x.Assets
	}
	return found[release](nil)
}

func (g *github) byID(_ http.ResponseWriter, r *http.Request) (int, any) { return found(g.of(r)) }

// edit changes what the request names. A release that is out stays out.
func (g *github) edit(_ http.ResponseWriter, r *http.Request) (int, any) {
	x := g.of(r)
	if x == nil {
		return found(x)
	}
	was := *x
	if err := json.NewDecoder(r.Body).Decode(x); err != nil {
		return http.StatusBadRequest, message(err.Error())
	}
	if !was.Draft && (x.Draft || x.Tag != was.Tag) {
		*x = was
		return invalid("immutable")
	}
	x.ID, x.Assets = was.ID, was.Assets
	g.publish(x)
	return http.StatusOK, x
}

func (g *github) upload(_ http.ResponseWriter, r *http.Request) (int, any) {
	x, name := g.of(r), r.URL.Query().Get("name")
	data, err := io.ReadAll(r.Body)
	switch {
	case x == nil:
		return found(x)
	case err != nil:
		return http.StatusBadRequest, message(err.Error())
	case !x.Draft:
		return invalid("immutable")
	case slices.ContainsFunc(x.Assets, func(a *asset) bool { return a.Name == name }):
		return invalid("already_exists")
	}
	a := &asset{ID: g.id(), Name: name, State: "uploaded", Size: len(data), data: data}
	a.URL = fmt.Sprintf("https://api.github.com/repos/%s/%s/releases/assets/%d", g.owner, g.repo, a.ID)
	x.Assets = append(x.Assets, a)
	if len(x.Assets) == g.breakAt {
		a.State, a.data = "starter", data[:len(data)/2]
		g.expired = append(g.expired, g.token)
		return http.StatusUnauthorized, message("Bad credentials")
	}
	g.uploaded[name]++
	return http.StatusCreated, a
}

// asset finds one and its release by a request's path.
func (g *github) asset(r *http.Request) (*release, *asset) {
	for _, x := range g.releases {
		for _, a := range x.Assets {
			if strconv.FormatInt(a.ID, 10) == r.PathValue("below") {
				return x, a
			}
		}
	}
	return nil, nil
}

func (g *github) remove(w http.ResponseWriter, r *http.Request) (int, any) {
	x, a := g.asset(r)
	if a == nil {
		return found(a)
	}
	if !x.Draft {
		return invalid("immutable")
	}
	x.Assets = slices.DeleteFunc(x.Assets, func(b *asset) bool { return a == b })
	w.WriteHeader(http.StatusNoContent)
	return 0, nil
}

// graphql knows the one query with which gh looks for a draft by its tag.
func (g *github) graphql(_ http.ResponseWriter, r *http.Request) (int, any) {
	var q struct{ Variables struct{ TagName string } }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Variables.TagName == "" {
		return http.StatusBadRequest, message("this query is not known here")
	}
	var node any
	if x := g.find(func(x *release) bool { return x.Tag == q.Variables.TagName }); x != nil {
		node = map[string]any{"databaseId": x.ID, "isDraft": x.Draft}
	}
	return http.StatusOK, map[string]any{"data": map[string]any{"repository": map[string]any{"release": node}}}
}

// file is what a path of the tap holds now.
func (g *github) file(path string) *commit {
	for _, c := range slices.Backward(g.commits) {
		if c.path == path {
			return &c
		}
	}
	return nil
}

func (g *github) read(_ http.ResponseWriter, r *http.Request) (int, any) {
	c := g.file(r.PathValue("path"))
	if c == nil {
		return found(c)
	}
	return http.StatusOK, map[string]any{"type": "file", "path": c.path, "sha": c.sha, "encoding": "base64", "content": c.content}
}

// write makes a commit. A file that is there is changed only by who knows its
// hash.
func (g *github) write(_ http.ResponseWriter, r *http.Request) (int, any) {
	var in struct {
		Message, SHA, Branch string
		Content              []byte
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Branch != "main" {
		return http.StatusBadRequest, message("no content for the branch main")
	}
	path := r.PathValue("path")
	if was := g.file(path); was != nil && was.sha != in.SHA {
		return http.StatusConflict, message(path + " does not match " + in.SHA)
	}
	c := commit{path, in.Message, fmt.Sprintf("%x", sha1.Sum(in.Content)), in.Content}
	g.commits = append(g.commits, c)
	return http.StatusCreated, map[string]any{"content": map[string]string{"path": path, "sha": c.sha}}
}
