package lessons

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// What a beat may say at most. A screen of 80 columns holds two lines of text.
const (
	mostWords    = 45 // in a beat
	mostSentence = 20 // words in a sentence
)

// instead are words that a lesson does not use, and what it says in their place: the words of
// Kubernetes, etcd and Raft, and none that call easy what may not be.
var instead = map[string]string{
	"office": "leadership", "patience": "election timeout", "reign": "term", "simply": "nothing", "obviously": "nothing", "just": "nothing",
	"kept": "committed, or acknowledged", "amnesia": "what was lost",
}

// checkTexts finds what is wrong with the texts of a beat.
func checkTexts(l *Lesson, s *Step, bad func(format string, args ...any)) {
	count := 0
	for _, t := range s.Caption {
		text := quotedForm.ReplaceAllString(t.bare(), "x")
		count += len(strings.Fields(text))
		for sentence := range strings.SplitSeq(text, ". ") {
			if n := len(strings.Fields(sentence)); n > mostSentence {
				bad("a sentence has %d words; at most %d: %s", n, mostSentence, strings.TrimSpace(sentence))
			}
		}
		for _, f := range l.Facts {
			text = strings.ReplaceAll(text, f.Say, "x")
		}
		if number := numberForm.FindString(text); number != "" {
			bad("%q stands in its text; say {EXPRESSION}, that it stays true, or give a source (facts in the front matter)", number)
		}
	}
	if count > mostWords {
		bad("it says %d words; at most %d: one idea, one change", count, mostWords)
	}
	says := []string{s.Title, s.Text}
	for _, g := range s.Goals {
		says = append(says, g.Say)
		for _, h := range g.Hints {
			says = append(says, h.Text)
			for _, o := range s.Offers {
				if line := o.Run.Source(); len(line) > 12 && strings.Contains(h.Text, line) {
					bad("a hint of %q gives the command away: %s", g.ID, line)
				}
			}
		}
	}
	if q := s.Question; q != nil {
		says = append(says, q.Ask)
		for _, c := range q.Choices {
			says = append(says, c.Text, c.Why)
		}
	}
	for _, text := range says {
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
			if better, ok := instead[word]; ok {
				bad("it says %q; say %s instead", word, better)
			}
		}
	}
}

var (
	quotedForm = regexp.MustCompile("`[^`]*`|\"[^\"]*\"")
	numberForm = regexp.MustCompile(`\b[0-9][0-9.,]*\b`)
)

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
