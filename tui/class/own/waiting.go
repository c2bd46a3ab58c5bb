package own

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/class/canvas"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/panes"
	"kviz/tui/stage"
	"kviz/tui/theme"
)

// wait gives a student their cluster: at once where one is made, else after a screen on which they wait. Nil is that they gave up.
func (r *Runs) wait(ctx context.Context, t terminal, name string) (*run, error) {
	tk, err := r.ask()
	if err != nil {
		return nil, err
	}
	select {
	case <-tk.done:
	default:
		host := r.cfg.Screens.Begin(name)
		defer host.End()
		if err := t.show(ctx, host.Wrap(newWaiting(r, tk))); err != nil {
			_ = r.giveUp(tk)
			return nil, err
		}
	}
	select {
	case <-tk.done:
		if ctx.Err() == nil {
			return r.takes(tk)
		}
	default:
	}
	return nil, r.giveUp(tk)
}

// waiting is the screen of a student whose cluster is being made: the class's stage, and when it will be there.
type waiting struct {
	runs   *Runs
	ticket *ticket
	canvas *canvas.Canvas
	stage  *stage.Stage
}

func newWaiting(r *Runs, t *ticket) *waiting {
	return &waiting{runs: r, ticket: t, canvas: canvas.New(r.cfg.Theme), stage: stage.New(panes.All)}
}

type (
	lookMsg struct{}
	madeMsg struct{}
)

// Init implements [tea.Model].
func (w *waiting) Init() tea.Cmd {
	done := w.ticket.done
	ended := w.ticket.ctx.Done()
	return tea.Batch(w.canvas.Init(), w.look(), func() tea.Msg {
		select {
		case <-done:
		case <-ended:
		}
		return madeMsg{}
	})
}

func (w *waiting) look() tea.Cmd {
	return tea.Tick(time.Second/4, func(time.Time) tea.Msg { return lookMsg{} })
}

// Update implements [tea.Model].
func (w *waiting) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if w.canvas.Takes(msg) {
		return w, nil
	}
	switch msg := msg.(type) {
	case lookMsg:
		if w.runs.cfg.Room.State().Pinned { // nobody goes off now
			return w, tea.Quit
		}
		w.canvas.Stale()
		return w, w.look()
	case madeMsg:
		return w, tea.Quit
	case tea.KeyPressMsg:
		if keymap.Action(msg, []keymap.Binding{giveUpKey}) != "" {
			return w, tea.Quit
		}
	}
	return w, nil
}

var giveUpKey = keymap.Bind("give up", "stay with the class", "Wait no longer, and follow the class.", "esc", "q", "f", "ctrl+c")

// View implements [tea.Model].
func (w *waiting) View() tea.View { return w.canvas.View(w.draw) }

// Drawn is what View has drawn last.
func (w *waiting) Drawn() *grid.Grid { return w.canvas.Planes() }

func (w *waiting) draw(g *grid.Grid) (x, y int, cursor bool) {
	now := w.runs.cfg.Lead.Scene()
	place, left := w.runs.place(w.ticket)
	says := soon(left)
	if place > 0 {
		says += fmt.Sprintf(" · %d before you in the queue", place-1)
	}
	if now.Stand.History == nil || now.Black || now.Stand.Look.Beat == nil {
		a := g.Area()
		a.Clear()
		a.Center(a.H()/2, says, theme.Title)
		a.Sub(1, a.H()-1, a.W()-2, 1).Styled(keymap.Line([]keymap.Binding{giveUpKey}, a.W()-2))
		return 0, 0, false
	}
	w.stage.Follow(now.Stand)
	w.stage.Draw(g, stage.Around{Speed: now.Around.Speed, Console: now.Around.Console, Below: &stage.Below{
		Left: says, Right: w.runs.cfg.Teacher + " goes on meanwhile", Rows: w.stage.Strip, Drawer: []grid.Span{
			{Text: "The class's run is run again for you, up to here; what you do in it is yours.", Style: theme.Muted},
		}, Keys: []keymap.Binding{giveUpKey},
	}})
	return 0, 0, false
}

// soon says when a cluster is there.
func soon(left time.Duration) string {
	if left < time.Second {
		return "your cluster: yours in a moment"
	}
	return fmt.Sprintf("your cluster: yours in about %d s", int((left+time.Second-1)/time.Second))
}
