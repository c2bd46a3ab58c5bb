package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/class/walk"
	"kviz/tui/faults"
	"kviz/tui/frame"
	"kviz/tui/keymap"
	"kviz/tui/menu"
	"kviz/tui/overlay"
	"kviz/tui/pane"
	"kviz/tui/panes"
	"kviz/tui/safe"
)

// Explorer is the model. It routes: a message goes to the part that it concerns, and
// what the part answers with, an action, to the part that does it.
type Explorer struct {
	cfg  Config
	ctx  context.Context
	safe *safe.Group
	send func(tea.Msg) // from any goroutine; nil before the program is there
	keys *keymap.Map

	*branch             // the run that is on the screen
	branches  []*branch // all that there are; the first is the one that the explorer began with
	forking   forking
	comparing comparing
	asking    asking
	undoing   undoing
	marking   walk.Mark                         // for which words are asked
	keepUp    func(*view.History) (stop func()) // has a history kept up to date; nil: somebody else does

	frame *frame.Frame
	open  overlay.Stack

	pump     pump
	screen   screen
	notice   notice
	tour     touring
	hush     bool   // routine is hidden on the picture
	dragging bool   // the mouse holds the scrubber
	leaveFor string // the recording to open after this
	obeys    bool   // somebody has called the person back, who goes (see Called)
}

// New makes the model. Nothing runs before the program sends it messages.
func New(ctx context.Context, cfg Config, g *safe.Group) (*Explorer, error) {
	if cfg.panes == nil {
		cfg.panes = panes.All
	}
	boot := ""
	if cfg.Booting != nil && cfg.Cluster == nil {
		boot = "starting"
	}
	m := &Explorer{
		cfg: cfg, ctx: ctx, safe: g,
		branch: first(cfg, boot),
		frame:  frame.New(cfg.panes, cfg.Preset, cfg.Theme),
		screen: screen{dirty: true},
	}
	m.branches = []*branch{m.branch}
	m.keys = keymap.Global(m.frame.Names())
	if err := m.keys.Rebind(cfg.Keys); err != nil {
		return nil, err
	}
	if cfg.Leaves != "" {
		m.keys.Reword(keymap.Quit, cfg.Leaves, "Leave this run, and go "+cfg.Leaves+".")
	}
	if cfg.Damage != nil {
		m.say(cfg.Damage.Error() + "; what came before that is here")
	}
	if cfg.StartScreen {
		done, all := m.lesson.Done()
		m.open.Push(menu.Start(done, all, cfg.Scenarios, cfg.Recordings != nil))
	}
	if cfg.Lesson != "" {
		m.perform(action.Begin(cfg.Lesson))
	}
	m.arrive()
	if !cfg.Moment.IsZero() {
		m.perform(action.Goto{ID: cfg.Moment})
	}
	if cfg.Says != "" {
		m.say(cfg.Says)
	}
	return m, nil
}

// Init implements [tea.Model].
func (m *Explorer) Init() tea.Cmd {
	cmds := []tea.Cmd{m.tick(), m.watch(m.ctx)}
	if !m.frame.ThemeChosen() {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	return tea.Batch(cmds...)
}

// Close cancels what the explorer has requested.
func (m *Explorer) Close() {
	for _, b := range m.branches {
		b.waker.close()
	}
}

// notice is what the explorer itself has to say, in the explanation line: until the next key, or until something else is news.
type notice struct {
	text string
	at   time.Duration // by the teller's time
}

// noticed is how long a notice stays at least.
const noticed = 2 * time.Second

// say puts a sentence into the explanation line.
func (m *Explorer) say(text string) { m.notice = notice{text, m.moving.teller.Now()} }

// outdated takes a notice away for which there has been time to read it and after which something else is news; it reports
// whether it did.
func (m *Explorer) outdated() bool {
	n, teller := m.notice, &m.moving.teller
	if n.text == "" || !m.runs() || teller.Now()-n.at < noticed || !teller.Telling() || teller.Since() < n.at {
		return false
	}
	m.notice = notice{}
	return true
}

// moment is what the panes show.
func (m *Explorer) moment() frame.Moment {
	return frame.Moment{
		State: m.travel.State(), History: m.history(), Live: m.travel.Live(), Panes: !m.drawer.Typing() && m.open.Empty(),
		Motion: m.moving.player.Shot(), Path: m.walk,
	}
}

// infos are what the panes say of themselves, in their order.
func (m *Explorer) infos() []pane.Info {
	var all []pane.Info
	for _, p := range m.frame.Panes() {
		all = append(all, p.Pane.Info())
	}
	return all
}

// why is the question "why?": about the thing under the cursor if the user looks at it,
// else about the event that we are at.
func (m *Explorer) why() action.Why {
	does := action.Why{ID: m.subject()}
	if on := m.frame.Under(); m.frame.Marked() {
		does.Of, does.Part = on.Ref, on.Target
	}
	return does
}

// subject is the event that "why?" asks about: that of the thing under the cursor if
// the user looks at it, else the one we are at.
func (m *Explorer) subject() trace.ID {
	if on := m.frame.Under(); m.frame.Marked() && !on.Event.IsZero() {
		return on.Event
	}
	if e := m.told(); e != nil {
		return e.ID
	}
	return m.travel.State().Last
}

// kind is the kind of event that the person looks at.
func (m *Explorer) kind() trace.Kind {
	on := m.frame.Under()
	if on.Kind != "" {
		return on.Kind
	}
	if e := m.history().Event(on.Event); m.frame.Pointed() && e != nil && !on.Event.IsZero() {
		return e.Kind
	}
	if e := m.told(); e != nil {
		return e.Kind
	}
	return ""
}

// breakable are breakpoints for what is under the cursor, or else for the event that the
// explanation line tells.
func (m *Explorer) breakable() []menu.Offer {
	on := m.frame.Under()
	e := m.history().Event(on.Event)
	if e == nil || on.Event.IsZero() || !m.frame.Pointed() && on.Kind == "" {
		e = m.told()
	}
	return menu.Breakable(m.kind(), on.Ref, e)
}

// about is the object that the person looks at: that under the cursor, else what the
// explanation line tells of.
func (m *Explorer) about() trace.Ref {
	if on := m.frame.Under(); on.Ref.Name != "" {
		return on.Ref
	}
	if e := m.told(); e != nil {
		return e.Object
	}
	return trace.Ref{}
}

// completing completes what is typed into a prompt; nil where nothing is known about it.
func (m *Explorer) completing(what string) func(line string) (head string, words []string) {
	switch what {
	case action.ForUntil, action.ForBreak, action.ForOdds:
		return func(line string) (string, []string) { return expr.Complete(line, m.travel.State()) }
	}
	return nil
}

// faults are the menus of what can be broken now; without a cluster, why there are none.
func (m *Explorer) faults() (offered faults.Menu, why action.Action) {
	switch {
	case m.recording != "":
		return offered, action.Notice{Text: control.ErrRecording.Error()}
	case m.cluster == nil:
		return offered, action.Notice{Text: m.drive.Absent()}
	}
	return faults.Menu{Cluster: m.cluster, State: m.travel.State()}, nil
}
