// Package prose finds words and turns of phrase that kviz does not use in what people read:
// the README, the pages of kviz help, screens, refusals, lessons. It is the editor's list,
// not a grammar: each entry was found many times, and each has plainer English.
//
// Start at [Faults]. The tests of this package hold the list over the repository's texts;
// the check of lessons calls it too.
package prose

import (
	"fmt"
	"regexp"
	"strings"
)

// habit is a turn of phrase and what to write in its place.
type habit struct {
	pattern *regexp.Regexp
	instead string
}

// habits are looked for in one sentence at a time, without what is quoted in it.
var habits = []habit{
	{regexp.MustCompile(`(?i)\banew\b`), `"again", or "from the beginning"`},
	{regexp.MustCompile(`(?i)\bwhoever\b`), `"anyone who", or name the client`},
	{regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|been|being) told\b`), `the active voice, with the one who tells: "the API server sends the watcher …"`},
	{regexp.MustCompile(`(?i)\bof which\b`), `a sentence of its own: "three nodes; one is Ready"`},
	{regexp.MustCompile(`(?i)\bso it is[.,;!]`), `what is so`},
	{regexp.MustCompile(`(?i)\b(?:is|are|was|were) to be\b`), `"must be", "should be" or "will be"`},
	{regexp.MustCompile(`(?i)\b(?:hears?|heard)\b`), `"receives"`},
	{regexp.MustCompile(`(?i)\bwish(?:es|ed)?\b`), `"spec", or "what the object asks for"`},
	{regexp.MustCompile(`(?i)\b(?:seldom|thereof|whereby|wherein|therein|hereby|henceforth)\b`), `an everyday word`},
	{regexp.MustCompile(`(?i)\bin (?:its|their) turn\b`), `"then", or "too"`},
	{regexp.MustCompile(`(?i)\bonly then (?:it|they|he|she|the|a|this|that)\b`), `"only then does …", or "after that …"`},
	{regexp.MustCompile(`(?i)\bthere (?:is|are) none of\b`), `"there is no …"`},
	{regexp.MustCompile(`(?i)\b(?:has|have|had) not(?:[.,;:]|$| (?:is|are|was|were)\b)`), `"does not have it"`},
	{regexp.MustCompile(`(?i)\bkeeps? nobody from\b`), `"does not stop"`},
	{regexp.MustCompile(`(?i)\b(?:is|are) no more\b`), `"is gone"`},
	{regexp.MustCompile(`^Who(?:se|m)? .*[^?]$`), `a sentence that begins with its subject: "A client that …"`},
	{regexp.MustCompile(`[;:] who(?:se|m)? [a-z]+ [^?]*$`), `a clause that begins with its subject: "a client that …"`},
}

// quoted is what somebody else has said, or code.
var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|“[^”]*”")

// Fault is one use of a turn of phrase.
type Fault struct {
	Sentence string // in which it stands, in one line
	Found    string
	Instead  string // what to write in its place, in words
}

// String says what is wrong in one line.
func (f Fault) String() string {
	return fmt.Sprintf("%q in %q; write %s", f.Found, f.Sentence, f.Instead)
}

// Faults finds what a text says in words that kviz does not use, in the text's order. What is
// quoted or between backquotes is left alone. A text may have several sentences and lines.
func Faults(text string) (all []Fault) {
	for _, s := range Sentences(text) {
		for _, h := range habits {
			if found := h.pattern.FindString(s); found != "" {
				if words := strings.Fields(found); len(words) > 3 {
					found = strings.Join(words[:3], " ") + " …"
				}
				all = append(all, Fault{Sentence: s, Found: found, Instead: h.instead})
			}
		}
	}
	return all
}

// Sentences splits a text at the ends of sentences, at blank lines and at indented lines,
// each in one line and without what is quoted.
func Sentences(text string) (all []string) {
	text = quoted.ReplaceAllString(text, "x")
	for _, paragraph := range paragraphs(text) {
		rest := strings.Join(strings.Fields(paragraph), " ")
		for rest != "" {
			end := ending.FindStringIndex(rest)
			if end == nil {
				all = append(all, rest)
				break
			}
			all = append(all, rest[:end[0]+1])
			rest = strings.TrimLeft(rest[end[0]+1:], " ")
		}
	}
	return all
}

// ending is where a sentence ends and another one begins.
var ending = regexp.MustCompile(`[.!?] +(?:[A-Z‹{]|$)`)

// paragraphs are the parts of a text that one sentence cannot span: those between blank
// lines, items of a list, rows of a table, headings, and lines of code.
func paragraphs(text string) (all []string) {
	var here []string
	flush := func() {
		if len(here) > 0 {
			all = append(all, strings.Join(here, " "))
			here = nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "":
			flush()
		case strings.HasPrefix(trimmed, "|"):
			flush()
			all = append(all, strings.Split(strings.Trim(trimmed, "|"), "|")...)
		case strings.HasPrefix(trimmed, "#"):
			flush()
			all = append(all, strings.TrimLeft(trimmed, "# "))
		case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "* "), strings.HasPrefix(line, "    "):
			flush()
			here = []string{strings.TrimLeft(trimmed, "-* ")}
		default:
			here = append(here, trimmed)
		}
	}
	flush()
	return all
}
