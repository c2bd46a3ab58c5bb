package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/tui/overlay"
)

// What can be chosen in an overlay.
type (
	doAction   string // a global action
	paneAction string // an action of the focused pane
	setGrain   trace.Grain
	setLayout  int
	useTheme   string
	jumpTo     struct{ id trace.ID }
	allCauses  struct{ id trace.ID }
	openFaults struct{ target string }
	breakIt    control.Fault
	askArgsTag string // the prompt of an askArgs
	askArgs    struct {
		fault control.Fault
		what  string
	}
	beginLesson  string
	lessonAction string
	lessonList   struct{}
	scenarios    struct{}
	runLine      string
	explore      struct{}
	focusPane    int
	wholeEvent   struct{ id trace.ID }
	askWhy       struct{ id trace.ID }

	recordings    struct{}
	openRecording string
	askRecording  struct{}
)

// chosen does what was chosen in an overlay; text is what was typed.
func (m *Explorer) chosen(what any, text string) tea.Cmd {
	switch w := what.(type) {
	case promptTag:
		return m.prompted(w, text)
	case doAction:
		return m.do(string(w))
	case paneAction:
		f := m.frame(m.focus)
		m.host().Dirty()
		return m.grant(m.host().Pane.Do(string(w), m.host().Under(), &f))
	case setGrain:
		m.grain = trace.Grain(w)
		m.say("a step now ends at: " + trace.Grain(w).String())
	case setLayout:
		m.setPreset(int(w))
	case useTheme:
		m.setTheme(string(w))
		m.themed = true
	case jumpTo:
		m.goToID(w.id)
	case askWhy:
		m.why(w.id)
	case allCauses:
		m.push(m.whyAll(w.id))
	case wholeEvent:
		m.push(m.eventPage(w.id))
	case openFaults:
		m.push(m.faultsOf(w.target))
	case askArgs:
		return m.askArgs(w, text)
	case askArgsTag:
		return m.askArgs(m.asking, text)
	case breakIt:
		return m.breakIt(control.Fault(w))
	case lessonList:
		m.push(m.lessons())
	case beginLesson:
		m.startLesson(string(w))
	case lessonAction:
		return m.doLesson(string(w))
	case scenarios:
		m.push(m.scenarioList())
	case runLine:
		m.open = nil
		m.consoleOpen, m.all = true, true
		return m.run(string(w))
	case focusPane:
		m.setFocus(int(w))
	case openTargets:
		m.push(m.targets(""))
	case recordings:
		m.push(m.recordingList())
	case openRecording:
		return m.openRecording(string(w))
	case askRecording:
		m.prompt(promptRecording, "Open a recording", recordingIntro, "")
	case setBreak:
		return m.setBreak(string(w))
	case removeBreak:
		m.removeBreak(int(w))
	case askBreak:
		m.prompt(promptBreak, "Stand where", breakIntro, "")
	case explore:
	}
	return nil
}

func (m *Explorer) prompted(tag promptTag, text string) tea.Cmd {
	switch tag {
	case promptFilter:
		m.filters[m.focus-1] = strings.TrimSpace(text)
		m.host().Dirty()
	case promptGoto:
		id, err := trace.ParseID(strings.TrimSpace(text))
		if err != nil {
			return m.again(tag, err)
		}
		m.goToID(id)
	case promptRecording:
		if text = strings.TrimSpace(text); text != "" {
			return m.openRecording(text)
		}
	case promptBreak:
		return m.setBreak(text)
	case promptUntil:
		if strings.TrimSpace(text) == "" {
			return nil
		}
		if m.ctl == nil {
			m.say("the cluster is still starting")
			return nil
		}
		m.goLive()
		if err := m.ctl.Until(text); err != nil {
			return m.again(tag, err)
		}
		m.say("runs until " + text)
		m.stepWaits = 6
		return m.tick()
	}
	return nil
}

// again opens a prompt again with what was wrong.
func (m *Explorer) again(tag promptTag, err error) tea.Cmd {
	p := m.prompts[tag]
	p.Error = err.Error()
	m.push(p)
	return nil
}

// askArgs asks for what a fault still needs, until the cluster takes it.
func (m *Explorer) askArgs(w askArgs, text string) tea.Cmd {
	p := &overlay.Prompt{Tag: askArgsTag(w.what), Title: w.fault.Name + " " + targetWords(w.fault.Target), Intro: "Say " + w.what + "."}
	m.asking = w
	if text == "" {
		m.push(p)
		return nil
	}
	m.goLive()
	w.fault.Args = append(slices.Clone(w.fault.Args), strings.Fields(text)...)
	if err := m.ctl.Fault(w.fault); err != nil {
		p.Error = err.Error()
		p.Line.Set(text)
		m.push(p)
		return nil
	}
	return m.broke(w.fault)
}

func (m *Explorer) breakIt(f control.Fault) tea.Cmd {
	m.goLive()
	if err := m.ctl.Fault(f); err != nil {
		m.say(err.Error())
		return nil
	}
	return m.broke(f)
}

// broke says what was done.
func (m *Explorer) broke(f control.Fault) tea.Cmd {
	m.say("done: " + strings.Join(append([]string{f.Name, f.Target}, f.Args...), " "))
	m.stepWaits = 6
	m.pull()
	return m.tick()
}
