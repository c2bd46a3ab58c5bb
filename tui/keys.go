package tui

import (
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"kviz/lessons/link"
	"kviz/tui/action"
	"kviz/tui/drive"
	"kviz/tui/keymap"
	"kviz/tui/menu"
	"kviz/tui/words"
)

// global does an action of the keymap by its name.
func (m *Explorer) global(name string) tea.Cmd {
	if pane, ok := keymap.FocusedBy(name); ok {
		done := m.perform(action.Focus{Pane: pane})
		m.frame.Pick()
		return done
	}
	group, _, _ := strings.Cut(name, ".")
	switch group {
	case "clock":
		return m.perform(m.clock(name))
	case "time":
		m.frame.Unpoint()
		m.moving.walked = name == keymap.Forward
		return m.perform(m.travel.Do(name, m.drive.Grain()))
	case "move":
		if name == keymap.Open {
			return m.perform(m.frame.Open(m.moment()))
		}
		m.frame.Move(name, m.moment())
		return nil
	case "view":
		return m.perform(m.view(name))
	}
	return m.perform(m.ask(name))
}

// view does an action that concerns the screen.
func (m *Explorer) view(name string) action.Action {
	switch name {
	case keymap.NextPane, keymap.PrevPane:
		m.frame.NextFocus(direction(name == keymap.NextPane))
		m.frame.Pick()
		return action.Focus{Pane: m.frame.Focused().Name}
	case keymap.Zoom:
		m.frame.Zoom()
	case keymap.Layout, keymap.LayoutUp:
		return m.frame.NextArrangement(direction(name == keymap.Layout))
	case keymap.ThemeKey:
		m.frame.NextTheme()
		return action.Notice{Text: "theme: " + m.frame.Theme()}
	case keymap.Jump:
		m.open.Push(menu.Jump(m.infos(), m.travel.State(), m.travel.Marks(), m.history().Stream()))
	}
	return nil
}

func direction(forward bool) int {
	if forward {
		return 1
	}
	return -1
}

// clock does an action that concerns the clock. In the past the same keys go through
// what has happened already.
func (m *Explorer) clock(name string) action.Action {
	past := m.travel.Past()
	switch name {
	case keymap.GrainMenu:
		could := m.drive.Newest().Words
		if of := m.behind(); past && of != nil {
			could = leads(of)
		}
		m.open.Push(menu.Grains(m.drive.Grain(), could, m.followed().Words != ""))
		return nil
	case keymap.Break:
		return m.breakpoints()
	case keymap.Until:
		if m.cluster == nil {
			return action.Notice{Text: m.notRunning()}
		}
		m.open.Push(menu.Until(m.history().Latest(), m.about(), drive.AskUntil))
		return nil
	case keymap.Pause:
		if past {
			m.travel.Play()
			return nil
		}
	case keymap.StepInto, keymap.StepOver, keymap.StepFar:
		if past {
			m.frame.Unpoint()
			m.moving.walked = true
			if of := m.behind(); m.drive.Along() && of != nil {
				return m.along(of, drive.AlongPath(name))
			}
			return m.travel.Walk(1, m.drive.StepOf(name))
		}
	case keymap.Faster, keymap.Slower:
		if past {
			m.travel.SetSpeed(drive.NextSpeed(m.travel.Speed(), name == keymap.Faster))
			return nil
		}
	}
	return m.drive.Do(name)
}

// notRunning is why nothing runs that could stop somewhere.
func (m *Explorer) notRunning() string {
	if m.recording != "" {
		return "this is a recording: only a running cluster runs until something (F makes one of it)"
	}
	return m.drive.Absent()
}

// breakpoints lists those there are, and what could be one.
func (m *Explorer) breakpoints() action.Action {
	if m.recording != "" {
		return action.Notice{Text: "this is a recording: a breakpoint stops a running cluster"}
	}
	b, why := m.drive.Breaker()
	if b == nil {
		return why
	}
	resume, _ := m.keys.Get(keymap.Pause)
	m.open.Push(menu.Breakpoints(b.Breakpoints(), m.breakable(), menu.Sentences(m.travel.State(), m.about()), resume.Labels(), drive.AskBreak))
	return nil
}

// ask does an action that finds, asks or does something.
func (m *Explorer) ask(name string) action.Action {
	focused := m.frame.Focused()
	info := focused.Pane.Info()
	switch name {
	case keymap.Filter:
		return action.Prompt{
			For: action.ForFilter, Title: "Filter " + info.Title, Text: focused.Filter,
			Intro: "Show only what contains these words; ! before them turns it round; empty shows all.",
		}
	case keymap.Palette:
		m.open.Push(menu.Palette(menu.Everything{
			Pane: info.Keys, Keys: m.keys, Panes: m.infos(), Scenarios: m.cfg.Scenarios, Recordings: m.cfg.Recordings != nil, Lessons: m.lesson.Items(),
		}))
	case keymap.Why:
		return m.why()
	case keymap.Help:
		b, _ := m.keys.Get(keymap.FocusOn(focused.Name))
		m.open.Push(menu.Help(info, b.Help().Key, m.keys, len(m.frame.Names())))
	case keymap.Glossary:
		m.open.Push(menu.Glossary(m.kind(), m.infos()))
	case keymap.Console:
		m.drawer.Type()
	case keymap.Faults:
		offered, why := m.faults()
		if why != nil {
			return why
		}
		m.open.Push(offered.At(m.frame.Under().Target))
	case keymap.Copy:
		return m.copied()
	case keymap.Marks:
		return m.listMarks()
	case keymap.CopyLink:
		return m.linked()
	case keymap.Fork:
		return action.AskFork{At: m.at()}
	case keymap.Runs:
		return m.listBranches()
	case keymap.Odds:
		from, to := m.stretch()
		return m.askOdds(from, to, false)
	case keymap.Compare:
		return m.compareAny()
	case keymap.Differs:
		return action.FirstDifference{}
	case keymap.Outcome:
		return action.Outcome{}
	case keymap.Declarative, keymap.Convergence, keymap.Distributed:
		_, tour, _ := strings.Cut(name, ".")
		return action.Watch{Name: tour}
	case keymap.Lesson:
		if m.lesson.None() && len(m.branches) > 1 {
			return action.Notice{Text: "lessons are in another of the runs (B lists them)"}
		}
		if m.stage.Has() { // which is as it was left
			m.stage.Return()
			m.travel.ToNow()
			m.frame.Anew()
			return nil
		}
		return m.lesson.Toggle(m.frame.Width())
	case keymap.Escape:
		m.escape()
	case keymap.Quit:
		return m.mayQuit()
	case keymap.Suspend:
		if why := cannotSuspend(m.cfg.Remote, runtime.GOOS); why != "" {
			return action.Notice{Text: why}
		}
		return action.Suspend{}
	}
	return nil
}

// cannotSuspend is why kviz cannot be put to sleep, "" where it can.
func cannotSuspend(remote bool, system string) string {
	switch {
	case remote:
		return "only a terminal of this machine can be suspended"
	case system == "windows":
		return "programs cannot be suspended on Windows: open another terminal"
	}
	return ""
}

// escape takes back one thing: the console, the filter, the zoom, the past.
func (m *Explorer) escape() {
	switch {
	case m.drawer.Shown():
		m.drawer.Shut()
	case m.frame.Back():
	case m.comparing.other != nil:
		m.leaveOther()
	default:
		m.travel.ToNow()
		m.frame.Unpoint()
	}
}

// copied is what is under the cursor, for the clipboard.
func (m *Explorer) copied() action.Action {
	on := m.frame.Under()
	for _, text := range []string{on.Copy, on.Ref.Key(), on.Words} {
		if text != "" {
			return action.Copy{Text: text}
		}
	}
	return action.Notice{Text: "nothing under the cursor to copy"}
}

// linked is a link to where the explorer stands, for the clipboard: an event of a recording, else the beat of the lesson.
func (m *Explorer) linked() action.Action {
	id := m.travel.State().Last
	switch {
	case m.branch == m.branches[0] && m.cfg.File != "" && !id.IsZero():
		return action.Link{To: link.Link{File: m.cfg.File, Event: id}.String()}
	case m.stage.Link() != "":
		return action.Link{To: m.stage.Link()}
	}
	return action.Notice{Text: "this run is in no recording that a link could lead into: begin with --trace FILE, or save it as you leave"}
}

// clipboardLimit is what terminals take in one OSC 52 sequence.
const clipboardLimit = 74994

func (m *Explorer) copy(text string) tea.Cmd {
	whole := len(text)
	if whole <= clipboardLimit {
		m.say("copied " + words.Bytes(whole))
		return tea.SetClipboard(text)
	}
	end := clipboardLimit
	for !utf8.RuneStart(text[end]) {
		end--
	}
	m.say(fmt.Sprintf("copied the first %s of %s: a terminal takes no more at once", words.Bytes(end), words.Bytes(whole)))
	return tea.SetClipboard(text[:end])
}
