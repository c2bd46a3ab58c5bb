package menu

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Branch is one of the runs that the explorer keeps.
type Branch struct {
	Name      string
	Left      *control.Fork // where it left another; nil for the first
	Here      bool          // it is on the screen
	Recording bool
	Until     time.Duration // how far it has come
	Events    uint64
	Ended     error
	NotSaved  string // why it cannot be saved; "" if it can
}

func (b Branch) about() string {
	var says []string
	switch {
	case b.Left != nil:
		says = append(says, fmt.Sprintf("left %s at #%s", b.Left.Parent, b.Left.At))
	case b.Recording:
		says = append(says, "a recording")
	}
	says = append(says, fmt.Sprintf("until %s, #%d", words.Clock(b.Until), b.Events))
	if b.Ended != nil {
		says = append(says, "ended: "+b.Ended.Error())
	}
	return strings.Join(says, ", ")
}

// Branches lists the runs that are kept, the cursor on the one that is on the screen, and
// what can be done with them. Cannot is why the run on the screen cannot be left at an event.
func Branches(list []Branch, at trace.ID, cannot string) overlay.Overlay {
	p := &overlay.Picker{Title: "Runs", Intro: "The one on the screen (●) goes on; the others stand still until they are back."}
	width := 0
	for _, b := range list {
		width = max(width, len(b.Name))
	}
	here := 0
	for i, b := range list {
		it := overlay.Item{Label: "○ " + overlay.Padded(b.Name, width), Note: b.about(), Do: action.TurnTo{Name: b.Name}}
		if i < 9 {
			it.Key = fmt.Sprint(i + 1)
		}
		if b.Here {
			here, it.Style, it.Label = i, theme.Accent, "● "+overlay.Padded(b.Name, width)
		}
		p.Items = append(p.Items, it)
	}
	add := func(label, means, key string, off string, do action.Action) {
		p.Items = append(p.Items, overlay.Item{Label: label, Detail: means, Key: key, Off: off, Do: do})
	}
	shown := list[here]
	add(fmt.Sprintf("leave %s at #%s, and go on differently …", shown.Name, at), "It is run again up to there; what follows is yours.", "F", cannot, action.AskFork{At: at})
	for _, b := range list {
		if !b.Here {
			add("compare with "+b.Name, "The pane in focus of both, beside each other, what differs marked, and what came of each.", "", "", action.Beside{Name: b.Name})
		}
	}
	add("save "+shown.Name+" …", "Its recording, in a new file: kviz replay opens it, kviz compare and kviz fork read it.", "s", shown.NotSaved, action.AskSave{Name: shown.Name})
	add("name "+shown.Name+" …", "Another name for the run on the screen.", "n", "", action.AskName{Name: shown.Name})
	if shown.Left != nil {
		add("close "+shown.Name, "Its cluster ends, and what happened in it is gone.", "x", "", action.CloseRun{Name: shown.Name})
	}
	p.Select(here)
	return p
}

// Differs tells that a run does not go the same way when it is run again.
func Differs(why error, at trace.ID) overlay.Overlay {
	p := &overlay.Picker{Title: "It does not go the same way again", Wide: true, Intro: why.Error() + " There is no branch: it would pretend."}
	if !at.IsZero() {
		p.Items = append(p.Items, overlay.Item{Label: "go to #" + at.String(), Note: "where it differs", Do: action.Goto{ID: at}})
	}
	p.Items = append(p.Items, overlay.Item{Label: "stay here", Do: action.Redraw{}})
	return p
}

// AskName asks for another name of a run.
func AskName(old string) action.Prompt {
	return action.Prompt{For: action.ForName, Title: "Name " + old, Intro: "A word or two, such as cut instead of crash.", Text: old, Of: old}
}
