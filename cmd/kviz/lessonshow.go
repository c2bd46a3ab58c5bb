package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/words"
)

// showLesson prints a lesson to be read without a cluster; with notes also what is for who teaches: the
// answers, what is offered, and what the names between ‹ and › stand for.
func showLesson(w io.Writer, l *lessons.Lesson, notes bool) {
	fmt.Fprintf(w, "%s  %s (%d min)\n", l.ID, l.Title, l.Minutes)
	fmt.Fprintln(w, "‹…› stands for what only a run knows; --notes lists the expressions.")
	r, chapter := l.Reading(), ""
	for i, step := range l.Steps {
		if step.Chapter != chapter {
			chapter = step.Chapter
			fmt.Fprintf(w, "\n%s\n", chapter)
		}
		fmt.Fprintf(w, "\n%d. [%s] %s\n\n%s\n", i+1, step.Kind, r.Of(step.Title), r.Of(step.Text))
		texts := []string{step.Title, step.Text}
		line := func(format, text string, args ...any) {
			texts = append(texts, text)
			fmt.Fprintf(w, format+"\n", append(args, r.Of(text))...)
		}
		if q := step.Question; q != nil {
			line("\n%s", q.Ask)
			for n, text := range q.Lines(notes) {
				line("   %d) %s", text, n+1)
			}
		}
		for _, g := range step.Goals {
			line("   ○ %s", g.Say)
		}
		if !notes {
			continue
		}
		if q := step.Question; q != nil && q.Source != "" {
			fmt.Fprintf(w, "   Source: %s\n", q.Source)
		}
		for _, o := range step.Offers {
			line("   $ %s", o.Run.Source())
		}
		for _, name := range r.Names(step, texts...) {
			fmt.Fprintf(w, "   %s\n", name)
		}
		if step.Notes != "" {
			fmt.Fprintf(w, "   Note: %s\n", step.Notes)
		}
	}
}

// teacherNotes prints what is for who teaches, beat by beat: what is planned, offered and asked, and the notes.
func teacherNotes(w io.Writer, l *lessons.Lesson) {
	fmt.Fprintf(w, "%s  %s (%d min)\n", l.ID, l.Title, l.Minutes)
	r, chapter := l.Reading(), ""
	var planned time.Duration
	for i, step := range l.Steps {
		if step.Chapter != chapter {
			chapter = step.Chapter
			fmt.Fprintf(w, "\n%s\n", chapter)
		}
		planned += step.Time
		at := ""
		if step.Time > 0 {
			at = fmt.Sprintf("  planned %s, over at %s", words.Dur(step.Time), words.Dur(planned))
		}
		fmt.Fprintf(w, "\n%d. [%s] %s {#%s}%s\n", i+1, step.Kind, r.Of(step.Title), step.ID, at)
		for _, note := range strings.Split(step.Notes, "\n") {
			for _, line := range grid.Lines(note, 76) {
				if line != "" {
					fmt.Fprintf(w, "   %s\n", line)
				}
			}
		}
		if q := step.Question; q != nil {
			fmt.Fprintf(w, "   Asks: %s\n", r.Of(q.Ask))
			for _, text := range q.Lines(true) {
				fmt.Fprintf(w, "      %s\n", r.Of(text))
			}
		}
		for _, o := range step.Offers {
			fmt.Fprintf(w, "   $ %s\n", r.Of(o.Run.Source()))
		}
	}
	if planned > 0 {
		fmt.Fprintf(w, "\nPlanned: %s in all.\n", words.Dur(planned))
	}
}
