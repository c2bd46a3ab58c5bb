package tui

import "kviz/tui/action"

// handedOut is what came of a handout.
type handedOut struct {
	lesson, file string
	err          error
}

func (h handedOut) says() string {
	if h.err != nil {
		return "the handout of " + h.lesson + ": " + h.err.Error()
	}
	return "the handout of " + h.lesson + " is in " + h.file + ": a browser shows it, and prints it"
}

// handout writes a lesson for taking home, beside the explorer.
func (m *Explorer) handout(lesson string) action.Action {
	write := m.cfg.Handout
	if write == nil {
		return action.Notice{Text: "files are written on a machine of your own: kviz lesson handout " + lesson + " -o FILE"}
	}
	m.safe.Go(func() {
		file, err := write(m.ctx, lesson)
		m.send(handedOut{lesson, file, err})
	})
	return action.Notice{Text: "writes the handout of " + lesson + "; its pictures are of a run that takes up to half a minute …"}
}
