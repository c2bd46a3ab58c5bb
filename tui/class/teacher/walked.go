package teacher

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// The keys that both screens have in a walk only. The dot goes on there, so black is b.
var (
	earlierKey = bind(3, "earlier", "event before", "One event back.", ",")
	laterKey   = bind(4, "later", "event after", "One event on.", ".")
	markKey    = bind(5, "mark", "mark", "Set a mark here, with words of your own.", "m")
	pauseKey   = bind(6, "pause", "pause", "Pause the live run, or let it go on.", "k")
	paneHint   = keymap.Hint("1-9", "pane", "1")
)

// WalkKeys are the keys of a walk, for the help.
func WalkKeys() []keymap.Binding { return []keymap.Binding{earlierKey, laterKey, markKey, pauseKey} }

// walk is the walk that is under way; nil in a lesson.
func (d *desk) walk() *lessons.WalkLook { return d.scene.Stand.Look.Walk }

// marksOf are the marks of a walk as beats.
func marksOf(w *lessons.WalkLook) (all []Beat) {
	for _, m := range w.Marks {
		all = append(all, Beat{ID: m.ID, Title: m.Title, Kind: lessons.See})
	}
	return all
}

// step is what one of the things is called that the class goes through.
func (d *desk) step() string {
	if d.walk() != nil {
		return "mark"
	}
	return "beat"
}

// walkKey does what a key does in a walk; ours reports whether it is one.
func (d *desk) walkKey(k tea.KeyPressMsg) (cmd tea.Cmd, ours bool) {
	w := d.walk()
	if w == nil {
		return nil, false
	}
	does := func(what string) (tea.Cmd, bool) {
		return d.do(func() error { return d.cfg.Lead.Do(what) }), true
	}
	switch keymap.Action(k, append(WalkKeys(), lineKey)) {
	case earlierKey.Action:
		return does("event -1")
	case laterKey.Action:
		return does("event 1")
	case pauseKey.Action:
		return does("pause")
	case markKey.Action:
		d.typing = line{on: true, marks: true}
		return nil, true
	case lineKey.Action:
		if !w.Live {
			d.notice = control.ErrRecording.Error()
			return nil, true
		}
	}
	if len(k.Text) == 1 && k.Text >= "1" && k.Text <= "9" {
		return does("pane " + k.Text)
	}
	return nil, false
}

// walkKeys are the keys of the notes in a walk.
func (n *Notes) walkKeys() []keymap.Binding {
	black := blackKey
	black.SetKeys("b")
	black.SetHelp("b", black.Words())
	keys := []keymap.Binding{onKey, backKey, earlierKey, laterKey, {Binding: paneHint}, markKey}
	if n.walk().Live {
		keys = append(keys, pauseKey, lineKey)
	}
	return append(keys, callKey, boardKey, black, timeKey, quitKey, pinKey)
}

// walkHead is the head of the notes to a mark.
func walkHead(look *lessons.Look) []grid.Span {
	head := []grid.Span{{Text: look.Title, Style: theme.Title}}
	if place := look.Place(); place != "" {
		head = []grid.Span{{Text: place, Style: theme.Muted}}
		if look.Walk.Here {
			head = []grid.Span{{Text: fmt.Sprintf("mark %d: ", look.Step), Style: theme.Muted}, {Text: look.Beat.Title, Style: theme.Title}}
		}
	}
	return head
}
