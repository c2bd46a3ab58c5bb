package guest

import (
	tea "charm.land/bubbletea/v2"
)

// What the student's side does. Only keys of their own terminal come here.

// stands is what there is between a student and a guest.
type stands int

const (
	nothing stands = iota
	wants          // the guest asks to look
	looks          // the guest looks
	reaches        // the guest looks, and asks to type
	types          // the guest looks and types
)

// stands is how far it has come.
func (h *Host) stands() stands {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch l := h.look; {
	case l == nil:
		return nothing
	case l.now.State != Given:
		return wants
	case l.now.Hand == Asked:
		return reaches
	case l.now.Hand == Given:
		return types
	}
	return looks
}

// answers is the student's answer to what they are asked.
func (h *Host) answers(to stands, yes bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.look
	switch {
	case l == nil: // the guest has gone meanwhile
	case to == wants && l.now.State == Asked && yes:
		l.now.State = Given
		l.Changed.Ring()
	case to == wants && l.now.State == Asked:
		h.over(h.name + " does not want you to look now")
	case to == reaches && l.now.Hand == Asked && yes:
		l.now.Hand = Given
		l.Changed.Ring()
	case to == reaches && l.now.Hand == Asked:
		l.now.Hand, l.now.Says = Not, h.name+" does not want you to type now"
		l.Changed.Ring()
	}
}

// ends is that the student wants nobody to look any more.
func (h *Host) ends() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over(h.name + " has ended it")
}

// typed is the next that the guest has typed; nil for nothing. What stood in the queue as the student ended it is not there.
func (h *Host) typed() tea.Msg {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.look
	if l == nil || l.now.Hand != Given || len(l.typed) == 0 {
		return nil
	}
	msg := l.typed[0]
	l.typed = l.typed[1:]
	return msg
}

// shows puts what the student sees there for the guest.
func (h *Host) shows(f *Frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.look; l != nil && l.now.State == Given {
		l.now.Frame = f
		l.Changed.Ring()
	}
}

// refuses tells the guest that a key of theirs does not do what they may have meant.
func (h *Host) refuses(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.look; l != nil && l.now.State == Given {
		l.now.Says = why
		l.Changed.Ring()
	}
}
