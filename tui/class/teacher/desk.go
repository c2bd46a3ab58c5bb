package teacher

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/class"
	"kviz/tui/class/canvas"
	"kviz/tui/class/lead"
	"kviz/tui/edit"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/stage"
	"kviz/tui/theme"
)

// desk is what both of the teacher's screens have: what there is to show, what is being done, and what was drawn last.
type desk struct {
	cfg Config
	ctx context.Context

	scene *lead.Scene
	room  *class.State
	stage *stage.Stage

	canvas *canvas.Canvas
	grid   *grid.Grid // that of the canvas, while it is drawn on
	drawn  int        // how often

	todo    []func() error // one after another, so that keys keep their order
	doing   bool
	notice  string
	typing  line
	leaving bool // it asks who is to leave
}

// line is a command, a hint or the words of a mark that are being typed.
type line struct {
	on    bool
	marks bool // the words of a mark
	edit.Line
}

// What comes of commands.
type (
	changedMsg struct{}
	doneMsg    struct{ err error }
	secondMsg  struct{}
)

func newDesk(ctx context.Context, cfg Config) desk {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	d := desk{
		cfg: cfg, ctx: ctx, stage: stage.New(cfg.Panes), canvas: canvas.New(cfg.Theme),
	}
	d.read()
	return d
}

// read takes what there is to show now.
func (d *desk) read() {
	d.scene, d.room = d.cfg.Lead.Scene(), d.cfg.Room.State()
	if w := d.walk(); w != nil {
		d.cfg.Beats = marksOf(w)
	}
	d.stage.Follow(d.scene.Stand)
	d.canvas.Stale()
}

// beat is the beat under way, nil for none.
func (d *desk) beat() *lessons.BeatLook { return d.scene.Stand.Look.Beat }

func (d *desk) begin() tea.Cmd { return tea.Batch(d.wait(0), d.canvas.Init()) }

// breath is for how long a screen looks at nothing new after a change: thirty students who answer are drawn together.
const breath = 40 * time.Millisecond

// wait reads what there is to show, and waits until something else is there, at least for so long.
func (d *desk) wait(least time.Duration) tea.Cmd {
	scenes, seats := d.cfg.Scenes.Next(), d.cfg.Seats.Next()
	d.read()
	done := d.ctx.Done()
	return func() tea.Msg {
		if least > 0 {
			pause := time.NewTimer(least)
			defer pause.Stop()
			select {
			case <-pause.C:
			case <-done:
				return nil
			}
		}
		select {
		case <-scenes:
		case <-seats:
		case <-done:
			return nil
		}
		return changedMsg{}
	}
}

// do does something of the lead's, after all that was to be done before.
func (d *desk) do(f func() error) tea.Cmd {
	d.todo = append(d.todo, f)
	return d.goOn()
}

// goOn begins the first thing that is to be done.
func (d *desk) goOn() tea.Cmd {
	if d.doing || len(d.todo) == 0 {
		return nil
	}
	f := d.todo[0]
	d.todo, d.doing = d.todo[1:], true
	return func() tea.Msg { return doneMsg{f()} }
}

// second is a clock that is on the screen.
func second() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return secondMsg{} }) }

// hears takes a message that both screens understand in the same way; ours reports whether it was one.
func (d *desk) hears(msg tea.Msg) (cmd tea.Cmd, ours bool) {
	if d.canvas.Takes(msg) {
		return nil, true
	}
	switch msg := msg.(type) {
	case changedMsg:
		cmd = d.wait(breath)
	case doneMsg:
		d.doing = false
		if msg.err != nil {
			d.notice = msg.err.Error()
		}
		cmd = d.goOn()
	case tea.PasteMsg:
		if d.typing.on {
			d.typing.Insert(msg.Content)
		}
	default:
		return nil, false
	}
	d.canvas.Stale()
	return cmd, true
}

// view is what is on the screen; draw is asked for it where something has changed.
func (d *desk) view(draw func()) tea.View {
	return d.canvas.View(func(g *grid.Grid) (x, y int, cursor bool) {
		g.Area().Clear()
		d.grid = g
		d.drawn++
		draw()
		return 0, 0, false
	})
}

// key types a key; whole says that the line is done.
func (l *line) key(k tea.KeyPressMsg) (done string, whole bool) {
	switch k.String() {
	case "enter":
		done = strings.TrimSpace(l.String())
		*l = line{}
		return done, true
	case "esc", "ctrl+c":
		*l = line{}
	default:
		l.Key(k)
	}
	return "", false
}

// The keys of both screens.
var (
	onKey    = bind(1, "on", "next", "Go on: end the motion, then to the next beat.", "pgdown", "space", "n")
	backKey  = bind(2, "back", "back", "The beat before, at its end.", "pgup", "left")
	runKey   = bind(3, "run", "run", "Run the command that is offered.", "enter")
	pollKey  = bind(4, "poll", "poll", "Close the poll; once more: show what the class said.", "V")
	gateKey  = bind(5, "gate", "gate", "Open the beat for runs of the students' own, or close it.", "G")
	callKey  = bind(6, "call", "all to me", "Call everybody back to what you show.", "A")
	pinKey   = bind(7, "pin", "hold all", "Hold everybody at what you show, or let them go.", "P")
	blackKey = bind(8, "black", "black", "Make all screens dark, or end that.", ".", "b")
	lineKey  = bind(9, "line", "command", "Type a command.", ":")
	timeKey  = bind(10, "clock", "clock", "How long it has lasted, of how long.", "t")
	quitKey  = bind(11, "quit", "leave", "Leave this screen, or end the class.", "q", "ctrl+c")
)

// passed are keys of the lesson's stage that do on a teacher's screen what they do there.
var passed = []keymap.Binding{
	bind(0, "replay", "replay", "Show the beat again.", "r"),
	bind(0, "faster", "faster", "Show changes for a shorter time.", "+", "="),
	bind(0, "slower", "slower", "Show changes for a longer time.", "-"),
	bind(0, "hint", "hint", "A hint.", "?"),
	bind(0, "undo", "undo", "Take back what was done last in this beat.", "u"),
	bind(0, "go on", "go on", "Go on with what has become of it.", "o"),
	bind(0, "take back", "take back", "Take the last part of an answer back.", "backspace"),
}

func bind(rank int, act, words, means string, keys ...string) keymap.Binding {
	b := keymap.Bind(act, words, means, keys...)
	b.Rank = rank
	return b
}

var common = []keymap.Binding{onKey, backKey, runKey, pollKey, gateKey, callKey, pinKey, blackKey, lineKey, timeKey, quitKey}

// key does what a key does on both screens; ours reports whether it does anything.
func (d *desk) key(k tea.KeyPressMsg) (cmd tea.Cmd, ours bool) {
	d.notice = ""
	if cmd, ours := d.walkKey(k); ours {
		return cmd, true
	}
	if does, ours := d.stage.Point(k); ours {
		if answer, whole := does.(action.Lesson); whole {
			return d.do(func() error { return d.cfg.Lead.Answer(string(answer)) }), true
		}
		return nil, true // the pointer has moved
	}
	press := func() tea.Cmd { return d.do(func() error { return d.cfg.Lead.Press(k) }) }
	switch keymap.Action(k, common) {
	case onKey.Action:
		return d.do(func() error { return d.cfg.Lead.Press(tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}) }), true
	case backKey.Action:
		return d.do(func() error { return d.cfg.Lead.Do("back") }), true
	case runKey.Action:
		return press(), true
	case pollKey.Action:
		return d.do(d.cfg.Lead.ShowPoll), true
	case gateKey.Action:
		d.gate()
		return nil, true
	case callKey.Action:
		d.cfg.Room.Call()
		d.notice = "everybody is called back"
		return nil, true
	case pinKey.Action:
		d.notice = "everybody is held here: P lets them go"
		if d.room.Pinned {
			d.notice = "everybody may look around again, and go into clusters of their own"
		}
		d.cfg.Room.Pin(!d.room.Pinned)
		return nil, true
	case blackKey.Action:
		return d.do(d.cfg.Lead.Black), true
	case lineKey.Action:
		d.typing = line{on: true}
		return nil, true
	case quitKey.Action:
		d.leaving = true
		return nil, true
	}
	digit := len(k.Text) == 1 && k.Text[0] >= '0' && k.Text[0] <= '9'
	if digit || keymap.Action(k, passed) != "" {
		return press(), true
	}
	return nil, false
}

// gate opens the beat's gate, or closes it.
func (d *desk) gate() {
	b := d.beat()
	switch {
	case b == nil || !b.Acts && d.room.Gates[b.ID].State != class.Open:
		d.notice = "there is nothing to be done in this beat"
	case d.room.Gates[b.ID].State == class.Open:
		d.cfg.Room.Gate(b.ID, class.Closed)
	default:
		d.cfg.Room.Gate(b.ID, class.Open)
	}
}

// leave is a key while the screen asks who is to leave.
func (d *desk) leave(k tea.KeyPressMsg) tea.Cmd {
	switch d.leaving = false; k.String() {
	case "q":
		return tea.Quit
	case "E":
		if end := d.cfg.End; end != nil {
			return func() tea.Msg { end(); return tea.Quit() }
		}
	}
	return nil
}

// asksToLeave is the question, with its keys.
func (d *desk) asksToLeave() []grid.Span {
	row := []grid.Span{{Text: "Leave?  ", Style: theme.Text | grid.Bold}, {Text: "q ", Style: theme.Key}, {Text: "only this screen", Style: theme.Text}}
	if d.cfg.End != nil {
		row = append(row, grid.Span{Text: "   E ", Style: theme.Key}, grid.Span{Text: "end the class for everybody", Style: theme.Text})
	}
	return append(row, grid.Span{Text: "   esc ", Style: theme.Key}, grid.Span{Text: "stay", Style: theme.Text})
}

// exec is a key while a command, or the words of a mark, are typed.
func (d *desk) exec(k tea.KeyPressMsg) tea.Cmd {
	marks := d.typing.marks
	text, whole := d.typing.key(k)
	switch {
	case whole && marks:
		return d.do(func() error { return d.cfg.Lead.Mark(text) })
	case whole && text != "":
		return d.do(func() error { return d.cfg.Lead.Exec(text) })
	}
	return nil
}

// prompt is what stands before what is typed.
func (l *line) prompt() string {
	if l.marks {
		return "mark, in words: "
	}
	return "$ "
}

// spans are the line with what stands before it.
func (l *line) spans(prompt string, w int) []grid.Span {
	return []grid.Span{
		{Text: prompt, Style: theme.Key},
		{Text: grid.CutLeft(l.String(), max(w-grid.Width(prompt)-1, 1)), Style: theme.Text | grid.Bold},
		{Text: "▏", Style: theme.Accent},
	}
}
