package main

import (
	"fmt"
	"io"

	"kviz/lessons"
)

// translateLesson prints the file of a lesson's translations for a language, with what is there already.
func translateLesson(w io.Writer, all []*lessons.Lesson, ids []string, lang string) error {
	l, err := oneLesson(all, ids)
	if err != nil {
		return err
	}
	if lang == "" {
		return &usageError{text: "say into which language: --lang de", command: "lesson"}
	}
	text, err := l.Template(lang)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(w, text)
	return err
}

// mostTold is how many texts of a kind are told one by one.
const mostTold = 5

// tellTranslation tells how far a lesson is there in another language.
func tellTranslation(w io.Writer, id string, t *lessons.Translation) {
	fmt.Fprintf(w, "  %s in %s: %d of %d texts\n", id, t.Lang, t.Of-len(t.Missing), t.Of)
	for _, one := range []struct {
		what  string
		texts []string
	}{{"not translated", t.Missing}, {"not in the lesson any more", t.Stale}} {
		for i, text := range one.texts {
			if i == mostTold {
				fmt.Fprintf(w, "    … and %d more\n", len(one.texts)-i)
				break
			}
			fmt.Fprintf(w, "    %s: %s\n", one.what, text)
		}
	}
}
