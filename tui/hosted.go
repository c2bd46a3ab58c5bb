package tui

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/overlay"
)

// An explorer may be one of several screens on somebody's terminal, as in a class: then whoever shows it tells it how large the
// terminal is, says something now and then, and calls the person back.

// Told is a sentence that is said to the person ([Config.Messages]).
type Told struct{ Text string }

// Called asks the person to go back to where they came from ([Config.Messages]).
type Called struct {
	By   string // "Ada"
	Text string // what becomes of the run
}

// ErrCalled is what [Run] answers when the person has gone where they were called.
var ErrCalled = errors.New("called back")

// forward passes messages on until ctx ends.
func forward(ctx context.Context, from <-chan tea.Msg, send func(tea.Msg)) {
	for {
		select {
		case msg := <-from:
			send(msg)
		case <-ctx.Done():
			return
		}
	}
}

// arrive goes on with what was under way when the explorer began.
func (m *Explorer) arrive() {
	if m.cfg.Taken {
		m.perform(m.lesson.GoOn(m.frame.Width()))
		m.stage.Update(m.lesson.Look(), m.history())
	}
	if m.cfg.Typed != nil && *m.cfg.Typed != "" {
		m.drawer.SetDraft(*m.cfg.Typed)
		m.drawer.Type()
	}
}

// hosted is what somebody else says or asks; false where it is no such message.
func (m *Explorer) hosted(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case Told:
		m.say(msg.Text)
	case Called:
		m.open.Push(&overlay.Question{
			Title: grid.Clean(msg.By) + " calls everybody back", Text: msg.Text, Yes: "go back", No: "stay a little", Do: action.Obey{},
		})
	default:
		return false
	}
	return true
}
