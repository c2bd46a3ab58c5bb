package lessons

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// How hard a text may be to read.
const (
	mostSentence = 20 // words in a sentence
	mostGrade    = 8  // years at school, by Flesch and Kincaid
	gradedWords  = 10 // of a text with fewer the grade, an average, says nothing
)

// checkReading finds sentences of a text that are too long, and a text that is too hard. Terms
// that the lesson explains weigh as much as a word of one syllable: whoever learns a word is
// not slowed down by its length.
func checkReading(what, text string, terms []term) error {
	text = quotedForm.ReplaceAllString(text, "x")
	words, syllables, all := 0, 0, sentences(text)
	for _, sentence := range all {
		said := strings.FieldsFunc(sentence, unicode.IsSpace)
		if n := len(said); n > mostSentence {
			return fmt.Errorf("a sentence of %s has %d words; at most %d: %s", what, n, mostSentence, strings.TrimSpace(sentence))
		}
		for i, word := range strings.Fields(withoutTerms(sentence, terms)) {
			words++
			syllables += weight(word, i == 0)
		}
	}
	if words < gradedWords {
		return nil
	}
	perSentence, perWord := float64(words)/float64(len(all)), float64(syllables)/float64(words)
	if grade := 0.39*perSentence + 11.8*perWord - 15.59; grade > mostGrade {
		return fmt.Errorf("the grade of %s is %.1f school years; at most %d: shorter sentences (of %.0f words now), shorter words (of %.1f syllables)", what, grade, mostGrade, perSentence, perWord)
	}
	return nil
}

// sentences are those of a text; the end of a paragraph is the end of one too.
func sentences(text string) (all []string) {
	for _, s := range sentenceEnd.Split(text, -1) {
		if strings.ContainsFunc(s, letterOrDigit) {
			all = append(all, s)
		}
	}
	return all
}

var sentenceEnd = regexp.MustCompile(`[.?!]["')*]*(\s+|$)|\n`)

func letterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// withoutTerms puts one short word in the place of each term.
func withoutTerms(text string, terms []term) string {
	for _, t := range terms {
		text = t.form.ReplaceAllString(text, "x")
	}
	return text
}

// weight is how many syllables a word counts for: its own, or one where it is a name.
func weight(word string, first bool) int {
	word = strings.TrimFunc(word, func(r rune) bool { return !letterOrDigit(r) })
	for i, r := range word {
		if unicode.IsUpper(r) && (i > 0 || !first) || !unicode.IsLetter(r) && r != '\'' && r != '’' {
			return 1 // nodeName, spec.replicas, kube-proxy, and what is written large within a sentence
		}
	}
	return syllables(strings.ToLower(word))
}

// syllables are counted as the groups of vowels that are spoken.
func syllables(word string) int {
	n, vowel := 0, false
	for _, r := range word {
		is := strings.ContainsRune("aeiouy", r)
		if is && !vowel {
			n++
		}
		vowel = is
	}
	if n > 1 && silent.MatchString(word) {
		n--
	}
	return max(n, 1)
}

// silent is an e at the end that is not spoken: came, calls, moved, but not table or wanted.
var silent = regexp.MustCompile(`[^aeiouyl]e$|[aeiouy]le$|[^aeiouytd]ed$|[^aeiouyscxzg]es$`)
