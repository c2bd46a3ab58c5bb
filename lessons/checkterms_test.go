package lessons_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"kviz/lessons"
	"kviz/tui/panes"
)

// termed are two lessons: the second needs the first, and says something.
func termed(t *testing.T, words, says, asks string) error {
	t.Helper()
	text := func(id, front, says, asks string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, `---
format: 2
version: 1
id: %s
title: A lesson
part: Tests
teaches: [what a term is]
minutes: 5
%s
---

### Look {#look} see

%s

`+"```stage\nshow: map/picture\nspot: map:store\nstill: true\n```"+`

### Ask {#ask} predict

Well?

`+"```question\nask: %s\nsource: a book\nchoices:\n- {text: Yes, right: true, why: So.}\n- {text: No, why: No.}\n```"+`

### Your turn {#free} free

Try.

`+"```goal\nid: any%s\nsay: something\noptional: true\nlevel: 'true'\n```\n", id, front, says, asks, id)}
	}
	all, err := lessons.Load(fstest.MapFS{
		"L50/lesson.md": text("L50", "words: [quorum]", "The store has a quorum.", "Has it?"),
		"L51/lesson.md": text("L51", "needs: [L50]\nwords: ["+words+"]", says+" This is the store.", asks),
	}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	if err := all[0].Terms(all, []string{"watch cache", "Service"}); err != nil {
		t.Errorf("the first lesson: %v", err)
	}
	return all[1].Terms(all, []string{"watch cache", "Service"})
}

// A term is explained before it is used: by the lesson, or by one that it needs.
func TestTermsAreExplainedBeforeTheyAreUsed(t *testing.T) {
	for _, c := range []struct{ words, says, asks, want string }{
		{"", "Nothing new.", "Is it?", ""},
		{"", "A quorum is up.", "Are quorums up?", ""},
		{"", "It reads the watch cache.", "Does it?", `L51/lesson.md:13: beat "look": it says "watch cache", which neither this lesson nor one that it needs explains`},
		{"", "Watch caches begin a sentence, too.", "Do they?", `it says "watch cache"`},
		{"", "Nothing new.", "Has it a Service?", `L51/lesson.md:23: beat "ask": it says "Service"`},
		{"", "At your service.", "Is it?", ""},
		{"", `It says "Service" and ` + "`watch cache`.", "Does it?", ""},
		{"watch cache", "The watch cache is a copy.", "Does it read the watch cache?", ""},
		{"watch cache", "Nothing new.", "Does it read the watch cache?", `beat "ask": it asks for "watch cache" before a text of the lesson has said it`},
		{"watch cache", "Nothing new.", "Does it?", `L51/lesson.md: words: none of its texts says "watch cache"`},
	} {
		err := termed(t, c.words, c.says, c.asks)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("words [%s], %q, %q: %v; want %q", c.words, c.says, c.asks, err, c.want)
		}
	}
}
