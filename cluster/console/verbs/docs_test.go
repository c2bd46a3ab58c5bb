package verbs

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kviz/assets"
)

// All verbs stand on one screen of 80 by 24, with room for the prompt: a line each, or,
// where there are too many, as names of their group, whose own help has the lines.
func TestHelpIsOneScreen(t *testing.T) {
	check := func(groups []group) string {
		var b bytes.Buffer
		printVerbs(&b, groups)
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) > 23 {
			t.Errorf("%d lines", len(lines))
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > 80 {
				t.Errorf("%d columns: %s", n, l)
			}
		}
		for _, g := range groups {
			for _, name := range names(g.verbs) {
				if !strings.Contains(b.String(), name) {
					t.Errorf("%s is not told", name)
				}
			}
		}
		return b.String()
	}
	check(groups)
	more := slices.Clone(groups)
	more[1].verbs = append(slices.Clone(more[1].verbs), verb{name: "another", means: "one more"}, verb{name: "third", means: "and one more"})
	if text := check(more); !strings.Contains(text, "kviz help admin: apiserver") || !strings.Contains(text, "kviz another      one more") {
		t.Errorf("with two more verbs:\n%s", text)
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
	commands := []string{"explore", "run", "sh", "serve", "member", "env", "replay", "open", "trace", "fork", "compare", "odds", "lesson", "class", "present", "notes", "mark", "bench", "help"}
	word := regexp.MustCompile(`kviz ([a-z-]+)(?: ([a-z-]+))?`)
	for _, topic := range Topics(assets.Docs()) {
		text, err := Page(assets.Docs(), topic.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range word.FindAllStringSubmatch(text, -1) {
			_, isVerb := findVerb(m[1])
			if !isVerb && !slices.Contains(commands, m[1]) && !slices.Contains([]string{"does", "is", "exists"}, m[1]) {
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

// What may be typed after a verb comes from how the table says it is used.
func TestWordsComeFromTheTable(t *testing.T) {
	got := map[string]string{}
	for _, w := range Words() {
		var next []string
		for _, n := range w.Next {
			next = append(next, n.Name)
		}
		got[w.Name] = strings.Join(next, " ")
	}
	for verb, want := range map[string]string{
		"pause":       "",
		"speed":       "max",
		"wait":        "--timeout",
		"break":       "remove",
		"fault":       "list",
		"node":        "--token join",
		"token":       "decode",
		"certificate": "--group --request --ttl --user",
		"oidc":        "--audience --claim --group --ttl login",
		"restore":     "--bump-revision --mark-compacted",
		"apiserver": "--all --automatic-reload --none --server add admission audit authentication authorization concurrency encryption etcd-servers " +
			"pollers remove servers storm token-webhook tokens",
	} {
		if got[verb] != want {
			t.Errorf("after %s: %q, want %q", verb, got[verb], want)
		}
	}
}
