package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"

	"kviz/tui/web"
)

//go:embed page.html
var pageText string

//go:embed page.css
var ownStyle string

//go:embed page.js
var ownScript string

var (
	pageStyle  = template.CSS("\n" + web.Colours() + web.Style + ownStyle)
	pageScript = template.JS("\n" + ownScript)

	templates = template.Must(template.New("page").Funcs(template.FuncMap{"safe": web.Safe, "pieces": web.Pieces, "bare": web.Bare}).Parse(pageText))
	wordsOf   = templates
	classPage = templates.Lookup("class")
	enterPage = templates.Lookup("enter")
)

// policy is what a browser may do on the page: obey its own style and script, and fetch from the class alone.
var policy = "default-src 'none'; style-src '" + hash(string(pageStyle)) + "'; script-src '" + hash(string(pageScript)) +
	"'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// ID, Word and Drawing are for the template. What they give was escaped when it was made.
func (s *sheet) ID() string                   { return s.id }
func (s *sheet) Word(of string) template.HTML { return template.HTML(s.words[of]) }
func (s *sheet) Drawing() template.HTML       { return template.HTML(s.picture) }
