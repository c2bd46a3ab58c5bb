package verbs

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"kviz/assets"
)

// All verbs stand on one screen of 80 by 24, a line each, with room for the prompt.
func TestHelpIsOneScreen(t *testing.T) {
	var b bytes.Buffer
	printVerbs(&b)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) > 23 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
}

// Every verb has a sentence, a use and a page that exists.
func TestEveryVerbIsTold(t *testing.T) {
	pages := map[string]bool{}
	for _, topic := range Topics(assets.Docs()) {
		if topic.Title == "" {
			t.Errorf("%s has no title", topic.Name)
		}
		pages[topic.Name] = true
	}
	for _, g := range groups {
		for _, v := range g.verbs {
			if v.means == "" || len(v.usage) == 0 || v.run == nil || !pages[v.page] {
				t.Errorf("%s is not told: %q, page %q", v.name, v.means, v.page)
			}
		}
	}
}

// What the pages say of kviz are verbs, subcommands or pages that there are.
func TestPagesNameWhatThereIs(t *testing.T) {
	commands := []string{"explore", "run", "sh", "serve", "member", "env", "replay", "trace", "lesson", "bench", "help"}
	word := regexp.MustCompile(`kviz ([a-z-]+)(?: ([a-z-]+))?`)
	for _, topic := range Topics(assets.Docs()) {
		text, err := Page(assets.Docs(), topic.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range word.FindAllStringSubmatch(text, -1) {
			_, isVerb := findVerb(m[1])
			if !isVerb && !contains(commands, m[1]) && !contains([]string{"does", "is", "exists"}, m[1]) {
				t.Errorf("%s.md: there is no kviz %s", topic.Name, m[1])
			}
			if m[1] != "help" || m[2] == "topics" {
				continue
			}
			if _, err := Page(assets.Docs(), m[2]); err != nil {
				t.Errorf("%s.md: %v", topic.Name, err)
			}
		}
		for _, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 112 {
				t.Errorf("%s.md: %d columns: %s", topic.Name, n, line)
			}
		}
	}
}
