package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/console"
	"kviz/tui/faults"
	"kviz/tui/menu"
	"kviz/tui/motion"
	"kviz/tui/overlay"
	"kviz/tui/words"
)

// perform hands an action to the part that does it, and does what that answers with.
func (m *Explorer) perform(a action.Action) tea.Cmd {
	switch a := a.(type) {
	case nil:
		return nil
	case action.All:
		var cmds []tea.Cmd
		for _, one := range a {
			cmds = append(cmds, m.perform(one))
		}
		return tea.Batch(cmds...)
	case action.Key:
		return m.global(string(a))
	case action.Pane:
		return m.perform(m.frame.Do(m.frame.Focused().Name, string(a), m.moment()))
	case action.Notice:
		m.say(a.Text)
	case action.Prompt:
		m.open.Ask(a, m.completing(a.For))
	case action.Entered:
		return m.perform(m.answer(a))
	case action.Open:
		m.openList(a)
	case action.Explore:
		m.open.Clear()
		m.frame.Anew()
	case action.Copy:
		return m.copy(a.Text)
	case action.Link:
		done := m.copy(a.To)
		m.say("copied " + a.To + "; kviz open goes there")
		return done
	case action.Quit:
		return tea.Quit
	case action.Obey:
		m.obeys = true
		return tea.Quit
	case action.Suspend:
		return tea.Suspend
	case action.Recording:
		return m.openRecording(string(a))
	case action.TurnTo:
		if b := m.named(a.Name); b != nil {
			return m.turnTo(b)
		}
		m.say("there is no run " + a.Name)
	case action.CloseRun:
		return m.closeRun(a.Name)
	default:
		if does, ok := m.onScreen(a); ok {
			return m.perform(does)
		}
		if does, ok := m.inTrace(a); ok {
			return m.perform(does)
		}
		return m.perform(m.toCluster(a))
	}
	return nil
}

// onScreen does what concerns the screen alone, and reports whether it was that.
func (m *Explorer) onScreen(a action.Action) (does action.Action, ok bool) {
	switch a := a.(type) {
	case action.Redraw:
	case action.Focus:
		if a.Do != "" {
			does = m.frame.Do(a.Pane, a.Do, m.moment())
		}
		m.frame.Focus(a.Pane)
		if a.On != "" {
			m.frame.Point(a.On)
		}
		m.drawer.Leave()
		m.lesson.Shrink()
	case action.Show:
		m.frame.Show(a.Ref)
		m.drawer.Leave()
		m.lesson.Shrink()
	case action.Put:
		m.frame.Put(a)
	case action.Filter:
		m.frame.SetFilter(a.Text)
	case action.Layout:
		does = m.frame.Arrange(int(a))
	case action.Theme:
		m.frame.SetTheme(string(a))
	case action.Motion:
		m.cfg.Motion = string(a)
		for _, b := range m.branches {
			b.moving.player.SetMode(motion.Mode(a))
		}
		does = action.Notice{Text: "motion: " + string(a) + ": " + motion.Mode(a).Means()}
	case action.Hush:
		m.hush = bool(a)
		does = action.Notice{Text: "routine is shown on the map: renewals of Leases, heartbeats"}
		if m.hush {
			does = action.Notice{Text: "routine is hidden on the map: renewals of Leases, heartbeats"}
		}
	case action.Trail:
		does = action.Notice{Text: m.trail.Turn()}
	default:
		return nil, false
	}
	return does, true
}

// inTrace does what concerns events, and reports whether it was that.
func (m *Explorer) inTrace(a action.Action) (does action.Action, ok bool) {
	open := func(o overlay.Overlay) {
		if o == nil {
			m.say("there is no event to ask about")
			return
		}
		m.open.Push(o)
	}
	switch a := a.(type) {
	case action.Goto:
		m.frame.Unpoint()
		does = m.travel.ToEvent(a.ID)
	case action.WhyList:
		open(menu.Why(m.history(), a.ID, nil))
	case action.Why:
		others := []trace.ID{m.frame.Under().Event}
		if told := m.told(); told != nil && view.Told(told) {
			others = append([]trace.ID{told.ID}, others...)
		}
		open(menu.Lanes(m.history(), a.ID, m.frame.Width(), m.reasons(a), others...))
	case action.AllCauses:
		open(menu.AllCauses(m.history(), a.ID))
	case action.Whole:
		open(menu.Event(m.history().Event(a.ID)))
	default:
		return nil, false
	}
	return does, true
}

// reasons are what kviz why says first of what is asked about.
func (m *Explorer) reasons(a action.Why) []view.Reason {
	s := m.travel.State()
	if all := s.ReasonsOf(a.Of); all != nil || a.Part == "" {
		return all
	}
	if p := s.PartOf(a.Part); p != nil {
		return p.Reasons
	}
	return nil
}

// toCluster does what concerns the cluster. What is done to it is done now: it leaves
// the past.
func (m *Explorer) toCluster(a action.Action) action.Action {
	switch a := a.(type) {
	case action.Grain:
		return m.drive.SetGrain(trace.Grain(a))
	case action.Follow:
		return m.drive.FollowAgain()
	case action.Until:
		m.travel.ToNow()
		return m.drive.Until(a.Expr)
	case action.Break:
		return m.drive.Break(a.Expr)
	case action.Unbreak:
		return m.drive.Unbreak(a.Number)
	case action.AskFork:
		return m.askFork(a.At, "")
	case action.StopFork:
		return m.stopFork()
	case action.Beside:
		return m.beside(a.Name)
	case action.FirstDifference:
		return m.firstDifference()
	case action.Outcome:
		return m.outcome(a.Until)
	case action.AskOdds:
		return m.askOdds(a.From, a.To, true)
	case action.Odds:
		return m.odds(a)
	case action.StopOdds:
		return m.stopOdds()
	case action.NoOdds:
		m.curve = nil
		m.frame.Anew()
	case action.AskMark:
		return m.askMark("", "")
	case action.ToMark:
		return m.toMark(a.No)
	case action.Unmark:
		return m.unmark(a.No)
	case action.AskName:
		return menu.AskName(a.Name)
	case action.AskSave:
		return menu.AskSaveRun(a.Name)
	case action.Exec:
		m.drawer.Show()
		return m.exec(a.Line)
	case action.Watch:
		return m.watchTour(a.Name)
	case action.Scenario:
		m.open.Clear()
		m.drawer.Show()
		return m.exec(string(a))
	case action.Handout:
		return m.handout(string(a))
	case action.Beats:
		m.open.Push(m.lesson.Beats(string(a)))
	case action.Begin:
		if failed := m.drive.Failed(); failed != nil {
			return action.Notice{Text: failed.Error()}
		}
		up := m.cluster != nil || m.drive.Boot() == ""
		return m.lesson.Begin(string(a), up, m.frame.Width())
	case action.Lesson:
		m.frame.Anew()
		does := m.lesson.Do(string(a), m.frame.Width())
		m.stage.Update(m.lesson.Look(), m.history())
		return does
	case action.Undo:
		return m.undo(a.At)
	case action.Offered:
		return m.offered(string(a))
	case action.Type:
		m.drawer.Fill(string(a))
		m.drawer.Type()
	}
	return m.toFaults(a)
}

// toFaults does what concerns what is broken.
func (m *Explorer) toFaults(a action.Action) action.Action {
	offered, why := m.faults()
	if why != nil {
		return why
	}
	switch a := a.(type) {
	case action.FaultsOf:
		m.open.Push(offered.Of(a.Target))
	case action.AskFault:
		return offered.Ask(a)
	case action.Fault:
		return m.fault(a.Fault, func() action.Action { return offered.Do(m.ctx, a.Fault) })
	}
	return nil
}

// fault has something broken or mended beside the explorer, which goes on answering keys:
// members agree in their own time, and in none while the cluster stands.
func (m *Explorer) fault(f control.Fault, do func() action.Action) action.Action {
	m.travel.ToNow()
	m.drive.Expect()
	m.arm()
	m.safe.Go(func() { m.send(faultDone{do()}) })
	return faults.UnderWay(f, m.drive.Clock().Paused)
}

// answer does what a prompt was for.
func (m *Explorer) answer(a action.Entered) action.Action {
	text := strings.TrimSpace(a.Text)
	switch a.For {
	case action.ForFilter:
		return action.Filter{Text: text}
	case action.ForEvent:
		id, err := trace.ParseID(text)
		if err != nil {
			return action.Prompt{For: a.For, Title: "Go to an event", Intro: "Its number, such as 214 or 214.3.", Text: a.Text, Error: err.Error()}
		}
		return action.Goto{ID: id}
	case action.ForUntil:
		return action.Until{Expr: a.Text}
	case action.ForBreak:
		return action.Break{Expr: a.Text}
	case action.ForRecording:
		if text != "" {
			return action.Recording(text)
		}
	case action.ForSave:
		return m.save(text)
	case action.ForSaveRun:
		return m.saveRun(a.Of, text)
	case action.ForCompared:
		until, err := words.ParseClock(text)
		if err != nil {
			return menu.AskCompared(text, err.Error())
		}
		return action.Outcome{Until: until}
	case action.ForFork:
		return m.fork(a.At, text)
	case action.ForOdds:
		if text != "" {
			return action.Odds{Expr: text, From: a.From, To: a.At}
		}
	case action.ForRange:
		return m.askRange(text, a.At)
	case action.ForMark:
		return m.mark(text)
	case action.ForLoad:
		if text != "" {
			return action.Exec{Line: "kviz load " + text}
		}
	case action.ForName:
		return m.nameAs(a.Of, text)
	case action.ForFault:
		offered, why := m.faults()
		if why != nil {
			return why
		}
		if text == "" {
			return offered.Ask(*a.Needed)
		}
		return m.fault(faults.Answered(*a.Needed, text), func() action.Action { return offered.DoAnswered(m.ctx, *a.Needed, a.Text) })
	}
	return nil
}

// openList opens one of the lists.
func (m *Explorer) openList(which action.Open) {
	switch which {
	case action.Lessons:
		m.open.Push(m.lesson.List())
	case action.Progress:
		m.open.Push(m.lesson.Progress())
	case action.Scenarios:
		m.open.Push(menu.Scenarios(m.cfg.Scenarios))
	case action.Recordings:
		m.open.Push(menu.Recordings(m.cfg.Recordings()))
	case action.Targets:
		offered, why := m.faults()
		if why == nil {
			m.open.Push(offered.Targets(""))
		}
		m.perform(why)
	}
}

// offered runs the command that a lesson offers, once all has been judged that has happened:
// if something else is offered by then, that is shown first.
func (m *Explorer) offered(line string) action.Action {
	for {
		m.perform(m.lesson.Update())
		if b := m.lesson.Look().Beat; b == nil || !b.Behind {
			break
		}
	}
	m.stage.Update(m.lesson.Look(), m.history())
	if b := m.lesson.Look().Beat; b == nil || b.Offer != line {
		return action.Redraw{}
	}
	return action.All{m.exec(line), action.Lesson("offered")}
}

// shellFor runs a line: one that a lesson out of a bundle offers reaches the lesson's folder only.
func (m *Explorer) shellFor(line string) console.Shell {
	if look := m.lesson.Look(); look.Offers(line) && m.cluster != nil {
		return console.Confined{Shell: m.cluster, Dir: look.Within}
	}
	return m.cluster
}

// exec runs a line in the console.
func (m *Explorer) exec(line string) action.Action {
	if line == "exit" || line == "quit" {
		m.drawer.Shut()
		return nil
	}
	look := m.lesson.Look()
	if does, ok := m.typed(line); ok && !look.Offers(line) { // some of them write files
		m.drawer.Leave() // what comes of it is seen on the screen
		return does
	}
	m.travel.ToNow()
	m.arm()
	var lend control.Lend
	if m.cfg.Lend != nil && m.send != nil {
		lend = m.lend
	}
	m.drawer.Run(m.ctx, m.safe, m.shellFor(line), m.drive.Absent(), line, max(m.frame.Width()-4, 20), lend)
	return nil
}
