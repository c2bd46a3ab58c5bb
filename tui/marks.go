package tui

import (
	"strings"

	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/class/walk"
	"kviz/tui/menu"
	"kviz/tui/pane"
	"kviz/tui/stage"
)

// A walk (kviz present FILE) goes by marks that are set in the explorer beforehand: at the event where it stands, with the pane
// that has the focus and, where somebody points at something, a ring around that.

// cannotMark is why no marks can be set; "" if they can.
func (m *Explorer) cannotMark() string {
	switch {
	case m.cfg.Marks == nil:
		return "marks are set in a cluster or a recording of your own (kviz explore, kviz replay)"
	case m.branch != m.branches[0]:
		return "marks belong to the run that the explorer began with (B lists the runs)"
	}
	return ""
}

// listMarks lists the marks, and offers to set one.
func (m *Explorer) listMarks() action.Action {
	if why := m.cannotMark(); why != "" {
		return action.Notice{Text: why}
	}
	m.open.Push(menu.Marks(m.cfg.Marks.All(), m.markHere(), m.cfg.Marks.Path()))
	return nil
}

// markHere is a mark at what is looked at.
func (m *Explorer) markHere() walk.Mark {
	place := m.frame.Focused()
	one := walk.Mark{At: m.travel.State().Last, Show: place.Name}
	if v, ok := place.Pane.(interface{ View() pane.View }); ok && len(place.Pane.Info().Views) > 1 {
		one.Show += "/" + v.View().Name
	}
	on := m.frame.Under()
	pictures := stage.Pictures(m.cfg.panes)
	if _, shows := place.Pane.(pane.Shower); shows && on.Ref.Name != "" {
		one.Show = place.Name + "/" + on.Ref.Kind + "/" + on.Ref.Namespace + "/" + on.Ref.Name
	}
	if lessons.Points(pictures, one.Show, nil) != nil {
		one.Show = place.Name
	}
	if !m.frame.Pointed() { // to have chosen the pane is not to point at something in it
		return one
	}
	for _, name := range on.Names() {
		if name = place.Name + ":" + name; lessons.Points(pictures, one.Show, []string{name}) == nil {
			one.Spots = []string{name}
			break
		}
	}
	return one
}

// askMark asks for the words of a mark.
func (m *Explorer) askMark(text, wrong string) action.Action {
	if why := m.cannotMark(); why != "" {
		return action.Notice{Text: why}
	}
	m.marking = m.markHere()
	if m.marking.At.IsZero() {
		return action.Notice{Text: "nothing has happened yet that could have a mark"}
	}
	again := menu.AskMark(m.marking)
	again.Text, again.Error = text, wrong
	return again
}

// mark sets the mark for which words were asked.
func (m *Explorer) mark(words string) action.Action {
	m.marking.Say = strings.TrimSpace(words)
	if err := m.cfg.Marks.Set(m.marking); err != nil {
		again := menu.AskMark(m.marking)
		again.Text, again.Error = words, err.Error()
		return again
	}
	says := "a mark is set at #" + m.marking.At.String()
	if path := m.cfg.Marks.Path(); path != "" {
		says += ", in " + path
	}
	return action.Notice{Text: says + "; M lists them"}
}

// toMark goes to a mark.
func (m *Explorer) toMark(n int) action.Action {
	all := m.cfg.Marks.All()
	if n >= len(all) {
		return nil
	}
	one := all[n]
	name, view, _ := strings.Cut(one.Show, "/")
	if p := m.frame.Pane(name); p != nil {
		m.frame.Focus(name)
		p.ShowView(view)
		if len(one.Spots) > 0 {
			_, on, _ := strings.Cut(one.Spots[0], ":")
			m.frame.Point(on)
		}
	}
	does := m.travel.ToEvent(one.At)
	if does == nil && one.Say != "" {
		does = action.Notice{Text: one.Say}
	}
	return does
}

// unmark takes a mark away.
func (m *Explorer) unmark(n int) action.Action {
	if err := m.cfg.Marks.Remove(n); err != nil {
		return action.Notice{Text: err.Error()}
	}
	return action.Notice{Text: "the mark is gone"}
}
