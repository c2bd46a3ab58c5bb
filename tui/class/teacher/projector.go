package teacher

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/class"
	"kviz/tui/keymap"
	"kviz/tui/stage"
)

// Projector is what the whole class sees: the picture, the caption and what is asked, in the large, and nothing else. It is led
// by a clicker or a keyboard.
type Projector struct {
	desk
	numbers bool // event numbers are shown
	clocks  bool // the clock is shown
	ticking bool
	spot    spotlight

	echo   string // the key that was pressed last
	echoed int    // counts them

	expected []stage.Expected // what the class said of the picture's cells
	judged   [2]uint64        // the scene and the state of the room for which
	revealed string           // the beat in which the newest poll was shown
	state    string           // of the newest poll
}

// NewProjector makes a projector's screen, which hears of nothing after ctx has ended.
func NewProjector(ctx context.Context, cfg Config) *Projector {
	p := &Projector{desk: newDesk(ctx, cfg)}
	p.watch()
	return p
}

// The keys that only the projector has.
var (
	spotKey    = bind(7, "spot", "spot", "Put a ring around a place, or take it away.", "s")
	numbersKey = bind(0, "numbers", "numbers", "Show event numbers, or hide them.", "e")
)

// ProjectorKeys are the keys of the projector, for the help.
func ProjectorKeys() []keymap.Binding {
	return append(append([]keymap.Binding{}, common...), append([]keymap.Binding{spotKey, numbersKey}, passed...)...)
}

// echoMsg ends the echo of a key.
type echoMsg int

// Init implements [tea.Model].
func (p *Projector) Init() tea.Cmd { return p.begin() }

// Update implements [tea.Model].
func (p *Projector) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p, tea.Batch(p.press(msg), p.echoes(msg))
	case echoMsg:
		if int(msg) == p.echoed {
			p.echo = ""
			p.canvas.Stale()
		}
		return p, nil
	case secondMsg:
		p.ticking = false
		p.canvas.Stale()
		return p, p.ticks()
	}
	cmd, _ := p.hears(msg)
	p.watch()
	return p, cmd
}

// watch notes in which beat the newest poll was shown: its answers stay there until the class goes on.
func (p *Projector) watch() {
	poll, b := p.newest(), p.beat()
	if poll == nil || b == nil {
		return
	}
	if was := p.state; was != poll.Beat+" "+poll.State {
		p.state = poll.Beat + " " + poll.State
		if was != "" && poll.State == class.Shown {
			p.revealed = b.ID
		}
	}
}

// press does what a key does.
func (p *Projector) press(k tea.KeyPressMsg) tea.Cmd {
	p.canvas.Stale()
	switch {
	case p.leaving:
		return p.leave(k)
	case p.typing.on:
		return p.exec(k)
	case p.spot.on:
		if name := p.spot.key(k); name != "" {
			return p.do(func() error { return p.cfg.Lead.Spot(name) })
		}
		return nil
	}
	switch keymap.Action(k, []keymap.Binding{spotKey, numbersKey, timeKey}) {
	case spotKey.Action:
		if len(p.scene.Stand.Spots) > 0 {
			return p.do(func() error { return p.cfg.Lead.Spot() })
		}
		p.spot = spotlight{on: true}
		return nil
	case numbersKey.Action:
		p.numbers = !p.numbers
		return nil
	case timeKey.Action:
		p.clocks = !p.clocks
		return p.ticks()
	}
	if k.String() == "esc" && len(p.scene.Stand.Spots) > 0 {
		return p.do(func() error { return p.cfg.Lead.Spot() })
	}
	cmd, _ := p.key(k)
	return cmd
}

// ticks has the clock go on while it is shown.
func (p *Projector) ticks() tea.Cmd {
	if !p.clocks || p.ticking {
		return nil
	}
	p.ticking = true
	return second()
}

// echoes shows a key for a second, so that the teacher sees that the clicker works.
func (p *Projector) echoes(k tea.KeyPressMsg) tea.Cmd {
	if p.typing.on {
		p.echo = ""
		return nil
	}
	p.echo = keymap.Label(k.String())
	p.echoed++
	mine := echoMsg(p.echoed)
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return mine })
}

// View implements [tea.Model]. While nothing changed it gives the same string.
func (p *Projector) View() tea.View { return p.view(p.draw) }
