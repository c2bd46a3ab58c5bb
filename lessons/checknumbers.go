package lessons

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// numberForm finds a number; one in a name, as in node-1, is none.
var numberForm = regexp.MustCompile(`(?:^|[^\w/.-])([0-9][0-9.,]*)`)

// checkNumbers refuses a number that nothing proves: what is said in digits stands as {EXPRESSION}, is quoted,
// or has a source (facts in the front matter); what is said in words of members, nodes and API servers is what
// the scene has, or the beat claims something. What a goal, a choice or a card says beside its own
// expression is proven by that, if it is said in words; digits of a choice, too.
func (l *Lesson) checkNumbers(s *Step, bad func(format string, args ...any)) {
	digits := func(what string, texts ...string) {
		for _, text := range texts {
			if m := numberForm.FindStringSubmatch(l.unsourced(text)); m != nil {
				bad("%q stands in %s; say {EXPRESSION}, that it stays true, or give a source (facts in the front matter)", strings.TrimRight(m[1], ".,"), what)
			}
		}
	}
	counts := func(what string, texts ...string) {
		if s.Stage.Claim != nil {
			return
		}
		for _, text := range texts {
			for _, m := range countForm.FindAllStringSubmatch(l.unsourced(text), -1) {
				if n := numberWords[strings.ToLower(m[1])]; n != l.Scene.has(m[2]) {
					bad("%s says %q, and the scene has %d; say what claims it (claim), or give a source (facts in the front matter)", what, m[0], l.Scene.has(m[2]))
				}
			}
		}
	}
	for _, t := range s.Caption {
		digits("its text", t.bare())
		counts("its text", t.bare())
	}
	for _, g := range s.Goals {
		digits("a goal", s.plain(g.Say))
		for _, m := range g.Misses {
			digits("a miss", m.Say.bare())
		}
		for _, h := range g.Hints {
			digits("a hint", s.plain(h.Text))
			counts("a hint", s.plain(h.Text))
		}
	}
	q := s.Question
	if q == nil {
		return
	}
	digits("its question", s.plain(q.Ask))
	counts("its question", s.plain(q.Ask))
	for _, c := range q.Choices {
		if c.is == nil {
			digits("an answer", s.plain(c.Text))
		}
		digits("the why of an answer", s.plain(c.Why))
		counts("the why of an answer", s.plain(c.Why))
	}
	for _, c := range q.Cards {
		if c.is == nil {
			digits("a card", c.Text)
		}
		digits("the why of a card", c.Why)
	}
	for _, m := range q.Items {
		if m.when == nil {
			digits("an item", m.Text)
		}
		digits("the why of an item", m.Why)
	}
	if q.Number != nil {
		for _, answer := range slices.Sorted(maps.Keys(q.Number.Why)) {
			digits("the why of an answer", s.plain(q.Number.Why[answer]))
			counts("the why of an answer", s.plain(q.Number.Why[answer]))
		}
	}
}

// unsourced is a text without what it quotes and without the lesson's facts.
func (l *Lesson) unsourced(text string) string {
	text = quotedForm.ReplaceAllString(text, "x")
	for _, f := range l.Facts {
		text = strings.ReplaceAll(text, f.Say, "x")
	}
	return text
}

// countForm finds how many members, nodes or API servers a text speaks of.
var countForm = regexp.MustCompile(`(?i)\b(two|three|four|five|six|seven|eight|nine) (member|node|API server)s\b`)

var numberWords = map[string]int{"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}

// has is how many of something a cluster of the scene has.
func (s Scene) has(what string) int {
	n, usual := s.Members, 3
	switch strings.ToLower(what) {
	case "node":
		n = s.Nodes
	case "api server":
		n, usual = s.APIServers, 1
	}
	if n == 0 {
		return usual
	}
	return n
}
