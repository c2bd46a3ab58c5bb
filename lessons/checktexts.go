package lessons

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	phrases "kviz/assets/prose"
)

// mostWords is what a beat may say at most. A screen of 80 columns holds two lines of text.
const mostWords = 45

// instead are words that a lesson does not use, and what it says in their place: the words of
// Kubernetes, etcd and Raft, and none that call easy what may not be.
var instead = map[string]string{
	"office": "leadership", "patience": "election timeout", "reign": "term", "simply": "nothing", "obviously": "nothing", "just": "nothing",
	"kept": "committed, or acknowledged", "amnesia": "what was lost",
}

// checkTexts finds what is wrong with the texts of a beat.
func checkTexts(l *Lesson, s *Step, terms []term, bad func(format string, args ...any)) {
	count, caption := 0, ""
	for _, t := range s.Caption {
		text := quotedForm.ReplaceAllString(t.bare(), "x")
		count += len(strings.Fields(text))
		caption += text + "\n"
	}
	if count > mostWords {
		bad("it says %d words; at most %d: one idea, one change", count, mostWords)
	}
	for _, g := range s.Goals {
		for _, h := range g.Hints {
			for _, o := range s.Offers {
				if line := o.Run.Source(); len(line) > 12 && strings.Contains(h.Text, line) {
					bad("a hint of %q gives the command away: %s", g.ID, line)
				}
			}
		}
	}
	beside := s.beside()
	for _, one := range []struct{ what, text string }{{"its text", caption}, {"its question, goals and hints", strings.Join(beside, "\n")}} {
		if err := checkReading(one.what, one.text, terms); err != nil {
			bad("%w", err)
		}
	}
	for _, text := range append([]string{s.Title, s.Text}, beside...) {
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
			if better, ok := instead[word]; ok {
				bad("it says %q; say %s instead", word, better)
			}
		}
	}
	for _, text := range append(l.around(s), beside...) {
		for _, f := range phrases.Faults(text) {
			bad("it says %v", f)
		}
	}
}

// around is what a beat says in its title and its text, with the title of a chapter that begins
// with it, and with what the lesson says of itself where the lesson does.
func (l *Lesson) around(s *Step) []string {
	all := []string{s.Title, s.Text}
	i := slices.Index(l.Steps, s)
	if i <= 0 {
		all = append(append(all, l.Title), l.Teaches...)
	}
	if i <= 0 || l.Steps[i-1].Chapter != s.Chapter {
		all = append(all, s.Chapter)
	}
	return all
}

// beside is what a beat says beside its text: its question with the answers and why they are
// right or wrong, its goals, what comes near to them, and its hints.
func (s *Step) beside() (all []string) {
	for _, g := range s.Goals {
		all = append(all, s.plain(g.Say))
		for _, m := range g.Misses {
			all = append(all, m.Say.bare())
		}
		for _, h := range g.Hints {
			all = append(all, s.plain(h.Text))
		}
	}
	q := s.Question
	if q == nil {
		return all
	}
	all = append(all, s.plain(q.Ask))
	for _, c := range q.Choices {
		all = append(all, s.plain(c.Text), s.plain(c.Why))
	}
	for _, c := range q.Cards {
		all = append(all, c.Text, c.Why)
	}
	for _, l := range q.Labels {
		all = append(all, l.Text)
	}
	for _, m := range q.Items {
		all = append(all, m.Text, m.Why)
	}
	if q.Number != nil {
		for _, answer := range slices.Sorted(maps.Keys(q.Number.Why)) {
			all = append(all, s.plain(q.Number.Why[answer]))
		}
	}
	return all
}

// plain is a text of the beat without its values.
func (s *Step) plain(src string) string {
	if t := s.said[src]; t != nil {
		return t.bare()
	}
	return src
}

var quotedForm = regexp.MustCompile("`[^`]*`|\"[^\"]*\"")

// tooStill reports that more see beats stand still than one in six.
func tooStill(l *Lesson) bool {
	sees := slices.DeleteFunc(slices.Clone(l.Steps), func(s *Step) bool { return s.Kind != See })
	still := 0
	for _, s := range sees {
		if s.Stage.Still {
			still++
		}
	}
	return still > max(1, (len(sees)+5)/6)
}
