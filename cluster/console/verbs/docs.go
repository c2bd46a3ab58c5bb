package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"kviz/cluster/nearest"
)

// Topic is a page of kviz help.
type Topic struct {
	Name  string // of the file, without .md
	Title string
}

// Topics are the pages that there are, sorted by name.
func Topics(pages fs.FS) []Topic {
	if pages == nil {
		return nil
	}
	files, err := fs.Glob(pages, "*.md")
	if err != nil {
		return nil
	}
	var all []Topic
	for _, f := range files {
		b, err := fs.ReadFile(pages, f)
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(b), "\n")
		all = append(all, Topic{Name: strings.TrimSuffix(f, path.Ext(f)), Title: strings.TrimPrefix(first, "# ")})
	}
	return all
}

// Page is the text of a page.
func Page(pages fs.FS, name string) (string, error) {
	var names []string
	for _, t := range Topics(pages) {
		if t.Name == name {
			b, err := fs.ReadFile(pages, name+".md")
			return string(b), err
		}
		names = append(names, t.Name)
	}
	if near := nearest.To(name, append(names, verbNames()...)); near != "" {
		return "", fmt.Errorf("there is no verb or topic %q; did you mean %q?", name, near)
	}
	if len(names) == 0 {
		return "", errors.New("there are no pages here")
	}
	return "", fmt.Errorf("there is no verb or topic %q; the topics: %s", name, strings.Join(names, ", "))
}
