package lessons

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// term is a word that has to be explained before it is used.
type term struct {
	word string
	form *regexp.Regexp
}

// newTerm makes a term of a word or several. One in small letters may begin a sentence; one with
// a capital is a name: a Service is not a service.
func newTerm(word string) term {
	form := `\b` + regexp.QuoteMeta(word) + `(?:s|es|d|ed|ing)?\b`
	if !strings.ContainsFunc(word, unicode.IsUpper) {
		form = `(?i)` + form
	}
	return term{word, regexp.MustCompile(form)}
}

func newTerms(words []string) (all []term) {
	for _, w := range words {
		all = append(all, newTerm(w))
	}
	return all
}

// everyday are terms that are words of everyday English too. In a lesson that does not explain
// one it is such a word, and nobody has to have learnt it.
var everyday = []string{
	"adopt", "alarm", "apply", "audience", "cache", "cluster", "commit", "condition", "conflict", "discovery", "event", "group", "key", "leadership", "lease", "list", "member",
	"object", "owner", "patch", "promise", "quota", "release", "replace", "restore", "term", "token", "transaction", "user", "validation",
}

// Terms finds terms that a lesson uses and nobody has explained: neither it nor a lesson that it
// needs. Terms are the glossary's and those that any lesson explains (words in its front
// matter). One that the lesson explains itself stands in a text before anything asks for it.
func (l *Lesson) Terms(all []*Lesson, glossary []string) error {
	if t := l.Translated; t != nil && len(t.Missing) < t.Of {
		return nil // the terms are those of the language that it was written in, and its texts are looked at there
	}
	byID := map[string]*Lesson{}
	words := slices.Clone(glossary)
	for _, o := range all {
		byID[o.ID] = o
		words = append(words, o.Explain...)
	}
	before := map[string]bool{} // what lessons that it needs have explained
	var learn func(ids []string)
	learn = func(ids []string) {
		for _, id := range ids {
			if need := byID[id]; need != nil {
				for _, w := range need.Explain {
					before[strings.ToLower(w)] = true
				}
				learn(need.Needs)
			}
		}
	}
	learn(l.Needs)
	said := l.said()
	slices.Sort(words)
	var wrong []error
	for _, w := range slices.Compact(words) {
		if before[strings.ToLower(w)] || slices.Contains(l.Explain, w) || slices.Contains(everyday, strings.ToLower(w)) || isStatus(w) {
			continue
		}
		t := newTerm(w)
		if i := slices.IndexFunc(said, t.in); i >= 0 {
			wrong = append(wrong, l.wrong(said[i].step, fmt.Errorf("it says %q, which neither this lesson nor one that it needs explains (words in the front matter)", w)))
		}
	}
	for _, w := range l.Explain {
		if before[strings.ToLower(w)] {
			continue
		}
		t := newTerm(w)
		switch i := slices.IndexFunc(said, t.in); {
		case i < 0:
			wrong = append(wrong, fmt.Errorf("%s: words: none of its texts says %q", l.file, w))
		case said[i].asks:
			wrong = append(wrong, l.wrong(said[i].step, fmt.Errorf("it asks for %q before a text of the lesson has said it", w)))
		}
	}
	return errors.Join(wrong...)
}

// isStatus reports whether a term is an HTTP status, "410 Gone": it is a number, for which a
// lesson gives its source among its facts.
func isStatus(term string) bool { return term[0] >= '0' && term[0] <= '9' }

// saying is a text of a lesson, without what it quotes and without its values.
type saying struct {
	step *Step
	text string
	low  string // the same in small letters
	asks bool   // whoever reads it has to know its words
}

// said are the texts of a lesson, in the order in which they are read. What explains an answer is
// read after it was given.
func (l *Lesson) said() (all []saying) {
	for _, s := range l.Steps {
		say := func(asks bool, texts ...string) {
			for _, t := range texts {
				t = quotedForm.ReplaceAllString(t, "x")
				all = append(all, saying{s, t, strings.ToLower(t), asks})
			}
		}
		for _, t := range s.Caption {
			say(false, t.bare())
		}
		if q := s.Question; q != nil {
			say(true, s.plain(q.Ask))
			for _, c := range q.Choices {
				say(true, s.plain(c.Text))
			}
		}
		for _, g := range s.Goals {
			say(true, s.plain(g.Say))
		}
		say(false, s.beside()...)
	}
	return all
}

// in reports whether a text says the term.
func (t term) in(s saying) bool {
	return strings.Contains(s.low, strings.ToLower(t.word)) && t.form.MatchString(s.text)
}

// caption is the text of a beat without its values.
func (s *Step) caption() string {
	var all []string
	for _, t := range s.Caption {
		all = append(all, t.bare())
	}
	return strings.Join(all, "\n")
}
