package tui

import (
	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/menu"
	"kviz/tui/overlay"
)

// OpenRecording is what [Run] ends with when the user chose to open a recording
// instead: the caller shows it ([Config.Recording]).
type OpenRecording struct{ Path string }

func (e *OpenRecording) Error() string { return "open the recording " + e.Path }

// openRecording leaves for a recording, if it is one.
func (m *Explorer) openRecording(path string) tea.Cmd {
	r, err := trace.Open(path)
	if err != nil {
		again := menu.AskRecording
		again.Text, again.Error = path, err.Error()
		return m.perform(again)
	}
	_ = r.Close() // whoever shows it reads it again
	m.leaveFor = path
	return tea.Quit
}

// mayQuit ends the explorer, and asks before if something would be lost with it.
func (m *Explorer) mayQuit() action.Action {
	if lost := m.lost(); lost != "" {
		q := &overlay.Question{Title: "Leave kviz?", Text: lost, Yes: "leave", No: "stay", Do: action.Quit{}}
		if m.cannotSave() == "" {
			q.Or, q.OrDo = "save a recording and leave", menu.AskSave
		}
		m.open.Push(q)
		return nil
	}
	return action.Quit{}
}

// save writes a recording beside the explorer and leaves, or asks for another file.
func (m *Explorer) save(path string) action.Action {
	if path == "" {
		return menu.AskSave
	}
	write := m.branch.save
	m.safe.Go(func() { m.send(saved{path: path, err: write(path)}) })
	return action.Notice{Text: "writes " + path + " …"}
}

// saveRun writes a recording of a run beside the explorer, which stays.
func (m *Explorer) saveRun(name, path string) action.Action {
	b := m.named(name)
	switch {
	case b == nil:
		return action.Notice{Text: "there is no run " + name}
	case b.cannotSave() != "":
		return action.Notice{Text: name + ": " + b.cannotSave()}
	case path == "":
		return menu.AskSaveRun(name)
	}
	m.safe.Go(func() { m.send(saved{path, name, b.save(path)}) })
	return action.Notice{Text: "writes " + path + " …"}
}

// saved says what came of it.
type saved struct {
	path string
	run  string // the run, where the explorer stays
	err  error
}

func (m *Explorer) saved(s saved) action.Action {
	switch {
	case s.run != "" && s.err == nil:
		return action.Notice{Text: s.run + " is saved: kviz replay " + s.path}
	case s.run != "":
		again := menu.AskSaveRun(s.run)
		again.Text, again.Error = s.path, s.err.Error()
		return again
	}
	if s.err == nil {
		return action.Quit{}
	}
	again := menu.AskSave
	again.Text, again.Error = s.path, s.err.Error()
	return again
}

// lost says what would be lost with the explorer; "" for nothing: a recording stays, and
// so does a cluster that somebody else runs, or that nobody has touched.
func (m *Explorer) lost() string {
	switch {
	case len(m.branches) > 1:
		return "The branches end with the explorer, and what happened in them."
	case m.cluster == nil || m.cfg.Remote || m.recording != "":
		return ""
	case m.drawer.Wanted():
		return "A command still runs in the console, and the cluster ends with the explorer."
	case m.travel.Index().Touched() && !m.cfg.Saved:
		return "The cluster ends with the explorer, and what you did in it with the cluster. (--trace FILE records a run, --data-dir DIR keeps the store.)"
	case m.cfg.Marks != nil && m.cfg.Marks.Path() == "" && len(m.cfg.Marks.All()) > 0:
		return "The run ends with the explorer, and the marks that you have set in it. (A recording that you save keeps both.)"
	}
	return ""
}
