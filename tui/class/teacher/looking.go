package teacher

import (
	"cmp"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/class/guest"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// looking is a look at a student's screen, which stands in the place of the board: the screen as the student sees it, in the
// teacher's colours, as much of it as fits above the last row.
type looking struct {
	look *guest.Look
	x, y int // the first column and row of the student's screen that are seen
}

// glanceMsg is that there is something new to see in a look.
type glanceMsg struct{ of *looking }

// The keys of a look. While the teacher types on the student's keys all but the last are the student's.
var (
	reachKey = bind(1, "hand", "type on their keys", "Ask the student to let you type on their keys.", "@")
	awayKey  = bind(2, "away", "look away", "End the look, and go back to the board.", "esc", "q", "ctrl+c")
	aboveKey = bind(0, "above", "above", "The part of a larger screen that is above.", "up", "k")
	belowKey = bind(0, "below", "below", "The part of a larger screen that is below.", "down", "j")
	leftKey  = bind(0, "left", "left", "The part of a larger screen that is on the left.", "left")
	rightKey = bind(0, "right", "right", "The part of a larger screen that is on the right.", "right")
	letGoKey = bind(1, "let go", "let go", "Type no longer on the student's keys, and go on looking.", "ctrl+]")
)

var lookKeys = []keymap.Binding{reachKey, awayKey, aboveKey, belowKey, leftKey, rightKey}

// LookKeys are the keys of a look at a student's screen, for the help.
func LookKeys() []keymap.Binding { return append(append([]keymap.Binding{}, lookKeys...), letGoKey) }

// looksInto asks a student for a look at their screen.
func (n *Notes) looksInto(name string) tea.Cmd {
	look, err := n.cfg.LookInto(n.ctx, name)
	if err != nil {
		n.notice = err.Error()
		return nil
	}
	n.looks = &looking{look: look}
	return n.looks.wait(n, 0)
}

// wait asks for a message when there is something new to see, at the earliest after so long.
func (l *looking) wait(n *Notes, least time.Duration) tea.Cmd {
	next, done := l.look.Changed.Next(), n.ctx.Done()
	return func() tea.Msg {
		pause := time.NewTimer(least)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-done:
			return nil
		}
		select {
		case <-next:
			return glanceMsg{l}
		case <-done:
			return nil
		}
	}
}

// glances is that there is something new in a look.
func (n *Notes) glances(msg glanceMsg) tea.Cmd {
	if n.looks != msg.of {
		return nil
	}
	again := n.looks.wait(n, breath)
	n.canvas.Stale()
	if n.looks.look.Now().State == guest.Over { // nothing more comes
		return nil
	}
	return again
}

// key does what a key means in a look.
func (l *looking) key(n *Notes, k tea.KeyPressMsg) {
	n.notice = ""
	now := l.look.Now()
	if now.State == guest.Over { // they may be typing still, so no letter does anything
		if s := k.String(); s == "esc" || s == "ctrl+c" {
			n.looks = nil
		}
		return
	}
	if now.Hand == guest.Given {
		if keymap.Action(k, []keymap.Binding{letGoKey}) != "" {
			l.look.LetGo()
			return
		}
		l.types(n, k)
		return
	}
	switch keymap.Action(k, lookKeys) {
	case reachKey.Action:
		l.look.AskHand()
	case awayKey.Action:
		l.look.End()
		n.looks = nil
	case aboveKey.Action:
		l.y--
	case belowKey.Action:
		l.y++
	case leftKey.Action:
		l.x -= 8
	case rightKey.Action:
		l.x += 8
	}
}

// types gives a key or a pasted text to the student's program.
func (l *looking) types(n *Notes, msg tea.Msg) {
	if err := l.look.Type(msg); err != nil {
		n.notice = err.Error()
	}
}

// draw draws the student's screen, and below it whose it is, how large, and what can be done.
func (l *looking) draw(n *Notes) {
	a := n.grid.Area()
	now, name := l.look.Now(), grid.Clean(l.look.Name())
	in, last := a.Rows(0, a.H()-1), a.Rows(a.H()-1, 1)
	size, says := "", ""
	switch {
	case now.State == guest.Asked:
		says = name + " is asked, on their screen."
	case now.State == guest.Over:
		says = cmp.Or(now.Says, "The look has ended.")
	case now.Frame == nil:
		says = name + " lets you look."
	default:
		size = l.drawFrame(in, now)
	}
	if says != "" {
		in.Center(in.H()/2, says, theme.Text|grid.Bold)
	}
	news := cmp.Or(n.notice, now.Says)
	if now.State == guest.Over {
		news = ""
	}
	if news != "" {
		size = ""
	}
	row := []grid.Span{{Text: name + "'s screen", Style: theme.Title}, {Text: size + "   ", Style: theme.Muted}}
	keys := []keymap.Binding{awayKey}
	switch {
	case now.State == guest.Over:
		keys = []keymap.Binding{{Binding: keymap.Hint("esc", "back to the board", "esc")}}
	case now.Hand == guest.Given:
		row = append(row, grid.Span{Text: " you type on their keys ", Style: theme.Warn | grid.Bold | grid.Reverse}, grid.Span{Text: "  "})
		keys = []keymap.Binding{{Binding: keymap.Hint("ctrl+]", letGoKey.Words(), "ctrl+]")}}
	case now.Hand == guest.Asked:
		row = append(row, grid.Span{Text: "they are asked for their keys   ", Style: theme.Warn})
	case now.State == guest.Given:
		keys = []keymap.Binding{reachKey, awayKey}
	}
	if news != "" {
		row = append(row, grid.Span{Text: news + "   ", Style: theme.Warn | grid.Bold})
	}
	x := last.Spans(1, 0, row...)
	if room := last.W() - x - 1; room > 0 {
		last.Sub(x, 0, room, 1).Styled(keymap.Line(keys, room))
	}
}

// drawFrame draws what the student sees, and says how large it is.
func (l *looking) drawFrame(a grid.Area, now guest.Moment) (size string) {
	f := now.Frame
	w, h := f.Grid.Size()
	if now.Hand == guest.Given && f.Cursor { // where is typed is seen
		l.x, l.y = min(max(l.x, f.X-a.W()+1), f.X), min(max(l.y, f.Y-a.H()+1), f.Y)
	}
	l.x, l.y = max(0, min(l.x, w-a.W())), max(0, min(l.y, h-a.H()))
	in := a.Sub(-l.x, 0, min(w, a.W()+l.x), min(h-l.y, a.H()))
	in.Blit(f.Grid, l.y)
	for y := range in.H() { // halves of wide characters at the edges
		for _, x := range []int{l.x, l.x + min(w-l.x, a.W()) - 1} {
			if c := f.Grid.At(x, y+l.y); c.R < 0 && x == l.x || grid.Width(string(c.R)) > 1 && x > l.x {
				in.Put(x, y, ' ', c.S)
			}
		}
	}
	if f.Cursor && f.Y >= l.y {
		in.Mark(f.X, f.Y-l.y, 1, grid.Reverse)
	}
	if w < a.W() {
		a.VLine(w, 0, min(h+1, a.H()), theme.Line)
	}
	if h < a.H() {
		a.HLine(0, h, min(w+1, a.W()), theme.Line)
	}
	if size = fmt.Sprintf("  %dx%d", w, h); w > a.W() || h > a.H() {
		size = fmt.Sprintf("  %dx%d of %dx%d", min(w, a.W()), min(h, a.H()), w, h)
	}
	return size
}
