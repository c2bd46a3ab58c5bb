// Package handouttest says of a page that package handout has written whether it is whole and harmless: for tests of
// that package and of the lessons.
//
// Start reading at [Read].
package handouttest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html"
)

// Page is what a page has.
type Page struct {
	Title string
	Beats []Beat
	Text  string // all that is read, with what is folded
}

// Beat is a beat of a page.
type Beat struct {
	ID       string
	Drawings int
	Texts    int // pictures as text
	Asks     bool
	Folded   string // what stands in what is folded
}

// Read reads a page, and refuses one in which an element is left open, or something that could run or be fetched.
func Read(page []byte) (*Page, error) {
	if err := balanced(page); err != nil {
		return nil, err
	}
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	p := &Page{Text: text(root)}
	var wrong []error
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		wrong = append(wrong, harmless(n))
		switch {
		case n.Data == "title" && n.Parent.Data == "head":
			p.Title = text(n)
		case n.Data == "article":
			p.Beats = append(p.Beats, beat(n))
		}
	}
	return p, errors.Join(wrong...)
}

// balanced reads a page as XML, which it is too: so nothing is left to a browser to mend.
func balanced(page []byte) error {
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict = true
	for {
		switch _, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the page is not well formed: %w", err)
		}
	}
}

// may are the elements that a page has.
var may = map[string]bool{}

func init() {
	for _, name := range strings.Fields(`html head meta title style body header nav main article section aside footer figure
		h1 h2 h3 div p a ul ol li dl dt dd span strong code pre details summary table caption tbody tr td svg rect path text`) {
		may[name] = true
	}
}

func harmless(n *html.Node) error {
	if !may[n.Data] {
		return fmt.Errorf("the page has an element %q", n.Data)
	}
	for _, a := range n.Attr {
		switch {
		case strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style":
			return fmt.Errorf("<%s> has an attribute %q", n.Data, a.Key)
		case a.Key == "href" && !strings.HasPrefix(a.Val, "#"):
			return fmt.Errorf("a link leads to %q", a.Val)
		}
	}
	if s := strings.ToLower(text(n)); n.Data == "style" && (strings.Contains(s, "url(") || strings.Contains(s, "@import")) {
		return errors.New("the style fetches something")
	}
	return nil
}

func beat(article *html.Node) Beat {
	b := Beat{}
	for _, a := range article.Attr {
		if a.Key == "id" {
			b.ID = a.Val
		}
	}
	for n := range article.Descendants() {
		switch n.Data {
		case "svg":
			for _, a := range n.Attr {
				if a.Key == "role" && a.Val == "img" {
					b.Drawings++
				}
			}
		case "pre":
			b.Texts++
		case "section":
			b.Asks = true
		case "details":
			b.Folded += text(n)
		}
	}
	return b
}

// text is what is read in a part of a page.
func text(of *html.Node) string {
	var b strings.Builder
	for n := range of.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}
