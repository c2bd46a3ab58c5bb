package lesson

import (
	"fmt"
	"strings"

	"kviz/tui/action"
	"kviz/tui/overlay"
)

// Items are the lines of the palette: the commands for the lesson that is under way, and
// the lessons that can be begun.
func (l *Lesson) Items() []overlay.Item {
	if l.None() {
		return nil
	}
	var items []overlay.Item
	if l.look.Active {
		for _, a := range [][2]string{
			{next, "go on to the next beat"},
			{hint, "a hint for where you are"},
			{back, "back to the beat before"},
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
