package lessons

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Progress is a page of text with what the learner has done.
func (p *Player) Progress() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Report(p.lessons, p.progress)
}

// Report is a page of text with what somebody has done: lesson by lesson, with what came of
// their predictions, and the questions that come back.
func Report(all []*Lesson, progress *Progress) string {
	var b strings.Builder
	list := List(all, progress)
	done, minutes := 0, 0
	for _, x := range list {
		if x.Done {
			done++
		} else {
			minutes += x.Minutes
		}
	}
	fmt.Fprintf(&b, "%d of %d lessons are done; the others are planned for %d minutes.\n", done, len(list), minutes)
	part := ""
	for _, x := range list {
		m := progress.Lessons[x.ID]
		if !m.Done && x.Step == 0 {
			continue
		}
		if x.Part != part {
			part = x.Part
			fmt.Fprintf(&b, "\n**%s**\n", part)
		}
		state := fmt.Sprintf("at beat %d of %d", x.Step, x.Steps)
		switch {
		case m.Finished != nil:
			state = "done on " + m.Finished.Format(day)
		case m.Done:
			state = "done"
		}
		fmt.Fprintf(&b, "%s %s: %s%s\n", x.ID, x.Title, state, m.worth())
	}
	if len(progress.Recall) == 0 {
		return b.String()
	}
	today, dates := progress.now().UTC().Format(day), map[string]int{}
	for _, d := range progress.Recall {
		dates[max(d.On, today)]++
	}
	b.WriteString("\n**Questions that come back**\n")
	for _, on := range slices.Sorted(maps.Keys(dates)) {
		when := "on " + on
		if on == today {
			when = "today (kviz lesson recall)"
		}
		what := "questions"
		if dates[on] == 1 {
			what = "question"
		}
		fmt.Fprintf(&b, "%d %s %s\n", dates[on], what, when)
	}
	return b.String()
}

// worth says what came of a lesson's predictions, and what help there was.
func (m Mark) worth() string {
	asked, right, hints, shown, seconds := 0, 0, 0, 0, 0
	for _, b := range m.Beats {
		hints, seconds = hints+b.Hints, seconds+b.Seconds
		if b.Shown {
			shown++
		}
		if b.Right != nil {
			asked++
			if *b.Right {
				right++
			}
		}
	}
	var parts []string
	if asked > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d predictions right", right, asked))
	}
	if hints > 0 {
		parts = append(parts, fmt.Sprintf("hints: %d", hints))
	}
	if shown > 0 {
		parts = append(parts, fmt.Sprintf("shown: %d", shown))
	}
	if seconds > 0 {
		parts = append(parts, (time.Duration(seconds) * time.Second).String())
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

// WriteCSV writes the progress as a table, a row a beat.
func (p *Progress) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"lesson", "lesson_done", "beat", "goals_done", "goals_shown", "hints", "shown", "undone", "seconds", "right", "sure"}}
	for _, id := range slices.Sorted(maps.Keys(p.Lessons)) {
		m := p.Lessons[id]
		if len(m.Beats) == 0 {
			rows = append(rows, []string{id, strconv.FormatBool(m.Done), m.Step, "", "", strconv.Itoa(m.Hints), "", "", "", "", ""})
		}
		for _, beat := range slices.Sorted(maps.Keys(m.Beats)) {
			b := m.Beats[beat]
			done, shown, right := 0, 0, ""
			for _, became := range b.Goals {
				if became == goalShown {
					shown++
				} else {
					done++
				}
			}
			if b.Right != nil {
				right = strconv.FormatBool(*b.Right)
			}
			rows = append(rows, []string{
				id, strconv.FormatBool(m.Done), beat, strconv.Itoa(done), strconv.Itoa(shown), strconv.Itoa(b.Hints), strconv.FormatBool(b.Shown),
				strconv.Itoa(b.Undone), strconv.Itoa(b.Seconds), right, strconv.Itoa(b.Sure),
			})
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("lessons: progress: %w", err)
	}
	return nil
}
