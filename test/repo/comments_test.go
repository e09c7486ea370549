package repo_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a doc comment can be held to without judging its prose: it is there and
// about the thing by its name, it tells when a function fails and what a bare
// number counts, and what it cites can be looked up.
const (
	// failure is what is said of errors: the word, or an error by its name.
	failure = `(?i)\b(errors?|fail(s|ed|ure)?)([^-\w]|$)|\bErr[A-Z]|\bEOF\b`
	// empty are the sentences that say no more than the signature.
	empty = `(?i)\berror (if|when) (any|there is one|an error|it fails|something)|\bor an error\.|\b(an|any) error,? if any`
	// unit is one of which there can be a number.
	unit = `(?i)\b((milli|micro|nano)?seconds?|hours|days|[KM]i?B|bytes|characters|runes|columns|rows|lines|tokens|status|exit codes?|pid|process|` +
		`counts?|counted|number|numbered|results|citations|tries|n requests|how (many|often|much|long)|index|position)\b`
	// cited is a place where more is to be read.
	cited = `\b(spec|transports\.md|system-policy\.md) §[0-9A-B]|\bRFC [0-9]+|https?://|\b(spec )?appendix [AB]\b`
)

// Every exported identifier has a comment that begins with its name, as go doc
// shows it. Fields explain themselves where their type can.
func TestDocComments(t *testing.T) {
	for _, e := range surface(sources(t)) {
		text := strings.TrimPrefix(strings.TrimPrefix(e.text, "A "), "An ")
		switch {
		case e.field:
		case text == "":
			t.Errorf("%s: %s has no doc comment", e.at(e.node), e.name)
		case !e.shared && !regexp.MustCompile(`^`+e.name+`\b`).MatchString(text):
			t.Errorf("%s: the comment of %s does not begin with it", e.at(e.node), e.name)
		}
	}
}

// Who calls a function that can fail learns when it does.
func TestErrorsAreTold(t *testing.T) {
	says, saysNothing := regexp.MustCompile(failure), regexp.MustCompile(empty)
	for _, e := range surface(sources(t)) {
		if e.fun == nil || e.fun.Type.Results == nil {
			continue
		}
		fails := slices.ContainsFunc(e.fun.Type.Results.List, func(f *ast.Field) bool {
			id, ok := f.Type.(*ast.Ident)
			return ok && id.Name == "error"
		})
		switch {
		case fails && !says.MatchString(e.text):
			t.Errorf("%s: the comment of %s does not say when it fails", e.at(e.node), e.name)
		case saysNothing.MatchString(e.text):
			t.Errorf("%s: the comment of %s says of errors what the signature says", e.at(e.node), e.name)
		}
	}
}

// A number says what it counts, and a value that may have any shape says which.
func TestShapesAreTold(t *testing.T) {
	counts := regexp.MustCompile(unit)
	for _, e := range surface(sources(t)) {
		if e.fun != nil && !counts.MatchString(e.text) && takesNumber(e.fun.Type) {
			t.Errorf("%s: the comment of %s does not say what its numbers count", e.at(e.node), e.name)
		}
		if _, ok := e.node.(*ast.TypeSpec); ok || e.fun != nil || e.enum {
			continue
		}
		switch shape := shapeOf(e.typ); {
		case shape == "number" && !counts.MatchString(e.text):
			t.Errorf("%s: the comment of %s does not say what it counts", e.at(e.node), e.name)
		case shape != "" && shape != "number" && e.field && e.shared:
			t.Errorf("%s: %s is %s and has no comment that says more", e.at(e.node), e.name, shape)
		}
	}
}

// takesNumber reports whether a function takes or gives a bare number.
func takesNumber(f *ast.FuncType) bool {
	fields := slices.Clone(f.Params.List)
	if f.Results != nil {
		fields = append(fields, f.Results.List...)
	}
	return slices.ContainsFunc(fields, func(f *ast.Field) bool { return shapeOf(f.Type) == "number" })
}

// shapeOf names the types that do not tell what is in them; "" for those that do.
func shapeOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.INT || e.Kind == token.FLOAT {
			return "number"
		}
	case *ast.BinaryExpr:
		return shapeOf(e.X)
	case *ast.Ident:
		switch e.Name {
		case "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "byte", "rune":
			return "number"
		case "any":
			return "anything"
		}
	case *ast.StarExpr:
		return shapeOf(e.X)
	case *ast.SelectorExpr:
		if e.Sel.Name == "RawMessage" {
			return "JSON of some shape"
		}
	case *ast.ArrayType:
		if id, ok := e.Elt.(*ast.Ident); ok && id.Name == "byte" {
			return "bytes"
		}
		return shapeOf(e.Elt)
	case *ast.MapType:
		return "a map"
	case *ast.FuncType:
		return "a function"
	}
	return ""
}

// A package says where the rules are written that its surface keeps.
func TestPackagesCite(t *testing.T) {
	all := sources(t)
	cites := map[string]bool{}
	says := regexp.MustCompile(cited)
	for _, s := range all {
		if !s.test && strings.HasPrefix(s.pkg, "internal/") {
			cites[s.pkg] = cites[s.pkg] || says.MatchString(s.ast.Doc.Text())
		}
	}
	for _, e := range surface(all) {
		cites[e.pkg] = cites[e.pkg] || says.MatchString(e.text)
	}
	for pkg, ok := range cites {
		if !ok {
			t.Errorf("no exported comment of %s cites a section or an address", pkg)
		}
	}
}

// The sections that comments cite are there.
func TestCitationsHold(t *testing.T) {
	headings := map[string][]string{}
	for name, file := range map[string]string{"spec": "docs/spec.md", "transports.md": "docs/reference/transports.md"} {
		for _, m := range regexp.MustCompile(`(?m)^#+ (?:Appendix )?([0-9]+(?:\.[0-9]+)*|[A-Z])[.:]? `).FindAllStringSubmatch(read(t, file), -1) {
			headings[name] = append(headings[name], m[1])
		}
	}
	section := regexp.MustCompile(`(\S+) ((?:(?:, |,? and | to )?§[0-9A-Z]+(?:\.[0-9]+)*)+)`)
	number := regexp.MustCompile(`[0-9A-Z]+(\.[0-9]+)*`)
	for _, s := range sources(t) {
		for _, group := range s.ast.Comments {
			for _, m := range section.FindAllStringSubmatch(strings.Join(strings.Fields(group.Text()), " "), -1) {
				known, ours := headings[strings.TrimLeft(m[1], "(")]
				for _, n := range number.FindAllString(m[2], -1) {
					if ours && !slices.Contains(known, n) {
						t.Errorf("%s: %s has no section %s", s.at(group), m[1], n)
					} else if !ours && !regexp.MustCompile(`^[0-9]+$`).MatchString(m[1]) {
						t.Errorf("%s: §%s of what? %q", s.at(group), n, path.Base(m[0]))
					}
				}
			}
		}
	}
}
