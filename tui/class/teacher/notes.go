package teacher

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/keymap"
)

// Notes is the teacher's own screen: what to say, the poll, how the class is getting on, and the board of all students.
type Notes struct {
	desk
	clocks  bool
	peeks   bool   // the poll's answers are seen before they are shown
	peeked  string // at which poll
	refused []Refusal
	board   *board   // nil while it is shut
	looks   *looking // at a student's screen; nil while at none
}

// NewNotes makes the teacher's notes, which hear of nothing after ctx has ended.
func NewNotes(ctx context.Context, cfg Config) *Notes {
	n := &Notes{desk: newDesk(ctx, cfg), clocks: true}
	n.hearRefusals()
	return n
}

// The keys that only the notes have.
var (
	peekKey  = bind(6, "peek", "peek", "See what has been answered before the class does.", "p")
	boardKey = bind(7, "board", "board", "All students, a row for each.", "B")
)

// NotesKeys are the keys of the notes, for the help.
func NotesKeys() []keymap.Binding {
	return append(append([]keymap.Binding{}, common...), append([]keymap.Binding{peekKey, boardKey}, passed...)...)
}

// Init implements [tea.Model].
func (n *Notes) Init() tea.Cmd { return tea.Batch(n.begin(), second()) }

// Update implements [tea.Model].
func (n *Notes) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return n, n.press(msg)
	case secondMsg:
		n.hearRefusals()
		n.canvas.Stale()
		return n, second()
	case glanceMsg:
		return n, n.glances(msg)
	case exportedMsg:
		n.notice = msg.says()
		n.canvas.Stale()
		return n, nil
	case tea.PasteMsg:
		if n.looks != nil {
			n.looks.types(n, msg)
			n.canvas.Stale()
			return n, nil
		}
		if n.board != nil && n.board.hint.on {
			n.board.hint.Insert(msg.Content)
			n.canvas.Stale()
			return n, nil
		}
	}
	cmd, _ := n.hears(msg)
	return n, cmd
}

func (n *Notes) hearRefusals() {
	if n.cfg.Refusals != nil {
		n.refused = n.cfg.Refusals()
	}
}

// press does what a key does.
func (n *Notes) press(k tea.KeyPressMsg) tea.Cmd {
	n.canvas.Stale()
	switch {
	case n.looks != nil:
		n.looks.key(n, k)
		return nil
	case n.leaving:
		return n.leave(k)
	case n.typing.on:
		return n.exec(k)
	case n.board != nil:
		if cmd, ours := n.board.key(n, k); ours {
			return cmd
		}
		cmd, _ := n.key(k)
		return cmd
	}
	switch keymap.Action(k, []keymap.Binding{peekKey, boardKey, timeKey}) {
	case peekKey.Action:
		if poll := n.newest(); poll != nil {
			n.peeks, n.peeked = !n.peeksAt(poll.Beat), poll.Beat
		}
		return nil
	case boardKey.Action:
		n.board = &board{}
		return nil
	case timeKey.Action:
		n.clocks = !n.clocks
		return nil
	}
	cmd, _ := n.key(k)
	return cmd
}

// peeksAt reports whether a poll's answers are seen before they are shown. Another poll is hidden again.
func (n *Notes) peeksAt(beat string) bool { return n.peeks && n.peeked == beat }

// View implements [tea.Model]. While nothing changed it gives the same string.
func (n *Notes) View() tea.View {
	return n.view(func() {
		switch {
		case n.looks != nil:
			n.looks.draw(n)
		case n.board != nil:
			n.board.draw(n)
		default:
			n.draw()
		}
	})
}
