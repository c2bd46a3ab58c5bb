package menu

import (
	"strings"

	"kviz/tui/action"
	"kviz/tui/class/walk"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// Marks lists the marks of a walk, those at the event that is looked at to be taken away, and offers to set one here. File is
// where they are kept, "" for memory.
func Marks(all []walk.Mark, here walk.Mark, file string) overlay.Overlay {
	p := &overlay.Picker{Title: "Marks of a walk", Intro: "kviz present goes through them, in the order of their events. They are kept in " + file + "."}
	if file == "" {
		p.Intro = "kviz present goes through them, in the order of their events. They are kept with the recording that you save."
	}
	if !here.At.IsZero() {
		p.Items = append(p.Items, overlay.Item{
			Label: "set a mark at #" + here.At.String() + " …", Style: theme.Accent, Note: shown(here), Do: action.AskMark{},
			Detail: "With a sentence that is read there. A ring goes around what the cursor is on.",
		})
	}
	for i, m := range all {
		if m.At == here.At {
			p.Items = append(p.Items, overlay.Item{Label: "take away: " + m.Title(), Style: theme.Warn, Note: shown(m), Do: action.Unmark{No: i}})
		}
	}
	for i, m := range all {
		p.Items = append(p.Items, overlay.Item{Label: "#" + m.At.String() + "  " + m.Title(), Note: shown(m), Detail: m.Note, Do: action.ToMark{No: i}})
	}
	return p
}

// shown is what a mark shows, with what is ringed.
func shown(m walk.Mark) string {
	return strings.TrimSpace(m.Show + "  " + strings.Join(m.Spots, " "))
}

// AskMark asks for the words of a mark.
func AskMark(m walk.Mark) action.Prompt {
	return action.Prompt{
		For: action.ForMark, Title: "A mark at #" + m.At.String(), At: m.At,
		Intro: "What is said there, in a sentence; nothing: what the event says of itself. It shows " + shown(m) + ".",
	}
}
