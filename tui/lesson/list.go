package lesson

import (
	"fmt"
	"strings"

	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// List lists the lessons under their headings, the cursor on the first that can be
// taken next.
func (l *Lesson) List() overlay.Overlay {
	p := &overlay.Picker{Title: "Lessons", Search: true, Wide: true}
	part := ""
	at := -1
	for _, x := range l.player.List() {
		if x.Part != part {
			part = x.Part
			p.Items = append(p.Items, overlay.Item{Label: part, Style: theme.Title})
		}
		it := overlay.Item{
			Label: "○ " + x.Title, Note: x.Teaches, Indent: 2, Off: x.Locked, Do: action.Begin(x.ID), Key: fmt.Sprintf("%d min", x.Minutes),
			Detail: "Teaches: " + x.Teaches,
		}
		if x.From != "" {
			it.Detail += "\nFrom: " + x.From
		}
		if x.Done {
			it.Label, it.Style = "● "+x.Title, theme.Good
		} else if at < 0 && x.Locked == "" {
			at = len(p.Items)
		}
		p.Items = append(p.Items, it)
	}
	if at >= 0 {
		p.Select(at)
	}
	return p
}

// Done is how many lessons were solved, of how many there are.
func (l *Lesson) Done() (done, all int) {
	if l.None() {
		return 0, 0
	}
	list := l.player.List()
	for _, x := range list {
		if x.Done {
			done++
		}
	}
	return done, len(list)
}

// Items are the lines of the palette: the commands for the lesson that is under way, and
// the lessons that can be begun.
func (l *Lesson) Items() []overlay.Item {
	if l.None() {
		return nil
	}
	var items []overlay.Item
	if l.look.Active {
		for _, a := range [][2]string{
			{next, "go on to the next step"},
			{hint, "a hint for where you are"},
			{back, "back to the step before"},
			{restart, "begin again"},
			{leave, "leave it, and put everything back"},
			{notes, "the notes for the teacher"},
		} {
			items = append(items, overlay.Item{Label: "lesson: " + strings.TrimPrefix(a[0], "text."), Note: a[1], Do: action.Lesson(a[0])})
		}
		for i, c := range l.look.Choices {
			if l.asks() {
				answer := fmt.Sprintf("answer %d", i+1)
				items = append(items, overlay.Item{Label: "lesson: " + answer, Note: c.Text, Do: action.Lesson(answer)})
			}
		}
	}
	for _, x := range l.player.List() {
		items = append(items, overlay.Item{Label: "lesson " + x.Title, Note: x.Teaches, Do: action.Begin(x.ID)})
	}
	return items
}
