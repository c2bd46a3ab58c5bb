package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/console"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/overlay"
	"kviz/tui/pane"
	"kviz/tui/pane/apipipe"
	"kviz/tui/pane/clustermap"
	"kviz/tui/pane/events"
	"kviz/tui/pane/network"
	"kviz/tui/pane/nodes"
	"kviz/tui/pane/object"
	"kviz/tui/pane/queues"
	"kviz/tui/pane/scheduler"
	"kviz/tui/pane/store"
	"kviz/tui/safe"
	"kviz/tui/theme"
	"kviz/tui/timeline"
)

// Explorer is the model.
type Explorer struct {
	cfg  Config
	ctx  context.Context
	safe *safe.Group
	hist *view.History
	ctl  control.Cluster // nil while the cluster boots
	keys *keymap.Map

	boot    string // progress of the boot; "" when done
	bootErr error

	// The screen.
	w, h    int
	grid    *grid.Grid
	over    *grid.Grid
	theme   *theme.Theme
	themed  bool // the user (or a flag) chose the theme
	lay     layout.Out
	preset  int
	zoom    bool
	dirty   bool
	all     bool // everything must be drawn anew
	shown   tea.View
	panes   [layout.Panes]*pane.Host
	focus   int // number of the focused pane
	filters [layout.Panes]string
	open    []overlay.Overlay
	prompts map[promptTag]*overlay.Prompt
	asking  askArgs // the fault that a prompt asks about

	console     *console.Console
	consoleOpen bool
	consoleKeys bool // the console has the keyboard
	consoleSeen uint64
	lessonOpen  bool
	lessonText  overlay.Scroll
	lessonLook  LessonLook
	reading     bool   // the lesson is large
	notes       bool   // the notes for who teaches are shown
	lessonNext  string // the lesson to begin when the cluster is there
	order       []int  // the panes that the lesson's step asks for

	// Where in time.
	state    *view.State
	at       uint64 // position of the event the state is at, when not live
	live     bool
	playing  bool // going through the past by itself
	playAt   time.Duration
	playRate float64
	mark     uint64 // remembered position + 1
	grain    trace.Grain
	hinted   string // what the key line says, while it stands in the grid
	index    timeline.Index
	clock    control.Clock

	notice    string // said in the explanation line until the next key
	pointed   bool   // the last key moved the cursor: explain what is under it
	dragging  bool   // the scrubber is held by the mouse
	ticking   bool
	watching  bool
	stepWaits int // ticks to keep going after a control action
	wake      <-chan struct{}
	stopWake  func()
	cursorAt  *tea.Cursor
	frames    uint64        // drawn
	leaveFor  string        // the recording to open after this
	send      func(tea.Msg) // from any goroutine; nil before the program is there
}

// New makes the model. Nothing runs before the program sends it messages.
func New(ctx context.Context, cfg Config, g *safe.Group) (*Explorer, error) {
	m := &Explorer{
		cfg: cfg, ctx: ctx, safe: g, hist: cfg.History, ctl: cfg.Cluster, keys: keymap.Global(),
		grid: grid.New(0, 0), over: grid.New(0, 0), theme: theme.Named(cfg.Theme), themed: cfg.Theme != "",
		focus: 1, console: console.New(), live: true, grain: trace.GrainStage, playRate: 1, all: true, dirty: true,
		prompts: map[promptTag]*overlay.Prompt{},
	}
	if err := m.keys.Rebind(cfg.Keys); err != nil {
		return nil, err
	}
	for i, p := range []pane.Pane{
		clustermap.New(), store.New(), apipipe.New(), events.New(), queues.New(), scheduler.New(),
		nodes.New(), network.New(), object.New(),
	} {
		m.panes[i] = pane.NewHost(p)
	}
	for i, p := range layout.Presets {
		if p.Name == cfg.Preset {
			m.preset = i
		}
	}
	m.state = m.hist.Latest()
	if cfg.Booting != nil && m.ctl == nil {
		m.boot = "starting"
	}
	if cfg.Recording != "" {
		m.live = false
		m.at = m.hist.First()
		m.pull()
		if cfg.Damage != nil {
			m.say(cfg.Damage.Error() + "; what came before that is here")
		}
	}
	if cfg.StartScreen {
		m.push(m.startScreen())
	}
	if cfg.Lesson != "" {
		m.startLesson(cfg.Lesson)
	}
	return m, nil
}

// Messages of the explorer to itself.
type (
	tickMsg  struct{}
	wakeMsg  struct{}
	bootSay  string
	bootDone struct {
		cluster control.Cluster
		err     error
	}
	saidMsg struct{ text string } // the answer of a control call
	lendMsg struct {              // a command needs the terminal
		run  func() error
		done chan<- error // for one error
	}
	lentMsg struct{} // the terminal is back
)

// Init implements [tea.Model].
func (m *Explorer) Init() tea.Cmd {
	cmds := []tea.Cmd{m.tick(), m.watch()}
	if !m.themed {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	return tea.Batch(cmds...)
}

// rate is the time between two looks at the trace.
func (m *Explorer) rate() time.Duration {
	if m.cfg.Remote {
		return time.Second / 12
	}
	return time.Second / 30
}

// tick asks for the next look, unless one is asked for already.
func (m *Explorer) tick() tea.Cmd {
	if m.ticking {
		return nil
	}
	m.ticking = true
	return tea.Tick(m.rate(), func(time.Time) tea.Msg { return tickMsg{} })
}

// watch wakes the explorer when the trace grows while it does not tick.
func (m *Explorer) watch() tea.Cmd {
	if m.watching {
		return nil
	}
	if m.wake == nil {
		m.wake, m.stopWake = m.hist.Stream().Notify()
	}
	m.watching = true
	wake, done := m.wake, m.ctx.Done()
	return func() tea.Msg {
		select {
		case <-wake:
			return wakeMsg{}
		case <-done:
			return nil
		}
	}
}

// Close ends what the explorer has asked for.
func (m *Explorer) Close() {
	if m.stopWake != nil {
		m.stopWake()
	}
}

// host is the focused pane's host.
func (m *Explorer) host() *pane.Host { return m.panes[m.focus-1] }

// push opens an overlay.
func (m *Explorer) push(o overlay.Overlay) {
	m.open = append(m.open, o)
	m.dirty = true
}

func (m *Explorer) pop() {
	if n := len(m.open); n > 0 {
		m.open = m.open[:n-1]
		m.dirty = true
	}
}

// frame is what a pane draws from.
func (m *Explorer) frame(number int) pane.Frame {
	f := pane.Frame{S: m.state, H: m.hist, Focused: m.paneFocused(number), Live: m.live, Filter: m.filters[number-1]}
	if number != m.focus {
		f.Sel = m.host().Under()
	}
	if r := m.panes[number-1]; r != nil {
		f.W, f.Rows = r.Size()
	}
	return f
}

func (m *Explorer) paneFocused(number int) bool {
	return number == m.focus && !m.consoleKeys && len(m.open) == 0
}
