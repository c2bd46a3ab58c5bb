package stage

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// Cast is what beats show at their tempo, as a recording for asciinema, with a marker where each beat
// begins, to which players jump. It is a
// [lessons.Screen]: who goes through a lesson hands it each beat where it stands.
type Cast struct {
	makers   []pane.Maker
	w, h     int
	theme    *theme.Theme
	from, to string // the first and the last beat, by ID; "" is that of the lesson

	title  string
	on     bool // between from and to
	at     time.Duration
	rows   []string // what the terminal has
	events []castEvent
}

// castEvent is what is written to the terminal at a time ("o"), or a marker there ("m").
type castEvent struct {
	at   time.Duration
	code string
	data string
}

// NewCast makes a cast of a size of the beats between two, or of all of them.
func NewCast(makers []pane.Maker, w, h int, theme *theme.Theme, from, to string) *Cast {
	return &Cast{makers: makers, w: w, h: h, theme: theme, from: from, to: to}
}

// Prove implements [lessons.Screen].
func (c *Cast) Prove(look lessons.Look, h *view.History) (time.Duration, error) {
	if look.Step == 1 { // also where a lesson is gone through once more
		*c = Cast{makers: c.makers, w: c.w, h: c.h, theme: c.theme, from: c.from, to: c.to, title: look.ID + " " + look.Title, on: c.from == ""}
	}
	if c.on = c.on || look.Beat.ID == c.from; !c.on {
		return 0, nil
	}
	c.on = look.Beat.ID != c.to
	c.events = append(c.events, castEvent{c.at, "m", grid.Clean(look.Beat.Title)})
	c.beat(look, h)
	return 0, nil
}

// Cells implements [lessons.Screen].
func (c *Cast) Cells(look lessons.Look, h *view.History) []string {
	return CellsOf(c.makers, look, h, c.w, c.h)
}

// reading is how long somebody reads a text.
func reading(text string) time.Duration {
	return min(max(time.Duration(len(strings.Fields(text)))*280*time.Millisecond, 1200*time.Millisecond), 7*time.Second)
}

const (
	running = 900 * time.Millisecond  // how long a command is seen to run
	aKey    = 1500 * time.Millisecond // how long a change stays that waits for a key
	aGrowth = 200 * time.Millisecond  // between two drawings of a bar
	mostDo  = 8 * time.Second         // what a beat in which something is done may play; else its end is shown at once
)

// beat shows one: what it says, what is done in it, its changes, and what has come of them.
func (c *Cast) beat(look lessons.Look, h *view.History) {
	s := New(c.makers)
	g := grid.New(c.w, c.h)
	last := Command{}
	draw := func(stays time.Duration) {
		s.Draw(g, Around{Console: Console{Last: last}})
		c.frame(g, stays)
	}
	b := *look.Beat
	b.Ghosts, look.Beat = nil, &b // nobody has guessed
	asks := look.Ask
	for _, choice := range look.Choices {
		asks += " " + choice.Text
	}
	if b.Acts {
		for i, line := range b.Does {
			last = Command{}
			s.Update(asItBegins(look, b, i), h)
			if i == 0 {
				draw(reading(b.Before) + reading(line))
			} else {
				draw(reading(line))
			}
			last = Command{Line: line, Running: true}
			draw(running)
			last.Running = false
		}
		b.Acts, b.Stopped = false, true // its changes are played as those of any other
	}
	s.Update(look, h)
	s.Draw(g, Around{Console: Console{Last: last}})
	if look.Beat.Acts = len(b.Does) > 0 && s.play.Lasts() > mostDo; look.Beat.Acts || look.Kind == lessons.Free {
		s.play = endOf(s.play)
	}
	if s.playing() && len(b.Does) == 0 {
		draw(reading(b.Before))
	}
	for s.playing() {
		switch f, _ := s.play.Frame(); {
		case s.play.Waits():
			draw(aKey)
			s.play.Next()
		case f.Skips > 0:
			step := min(aGrowth, f.For)
			draw(step)
			s.play.Tick(step, 1)
		default:
			draw(f.For)
			s.play.Tick(f.For, 1)
		}
	}
	said := b.After
	if said == "" || b.Still {
		said = b.Before + " " + b.After
	}
	draw(reading(said + " " + asks))
}

// asItBegins is a beat in which something is done, before its n-th command is run.
func asItBegins(look lessons.Look, b lessons.BeatLook, n int) lessons.Look {
	b.Stopped, b.At, b.Event, b.Version = true, b.From, nil, b.Version<<8+uint64(n)+1
	b.Offer, b.OfferNo, b.Offers = b.Does[n], n+1, len(b.Does)
	look.Beat, look.CanNext = &b, false
	look.Goals = append([]lessons.GoalLook{}, look.Goals...)
	for i := range look.Goals {
		look.Goals[i].Met = false
	}
	return look
}

// frame writes what differs from what the terminal has, row by row, and lets it stay for a time.
func (c *Cast) frame(g *grid.Grid, stays time.Duration) {
	rows := strings.Split(g.Render(c.theme.SGR), "\n")
	var b strings.Builder
	if c.rows == nil {
		b.WriteString("\x1b[?25l\x1b[2J")
	}
	for y, row := range rows {
		if c.rows == nil || c.rows[y] != row {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[2K%s", y+1, row)
		}
	}
	if b.Len() > 0 {
		c.events = append(c.events, castEvent{c.at, "o", b.String()})
	}
	c.rows, c.at = rows, c.at+stays
}

// The formats of casts. Every player knows the second, the third is that of asciinema from 3.0 on.
const (
	CastV2 = "v2"
	CastV3 = "v3"
)

// CastFormats are all of them, the one that is written where nobody asks for another first.
var CastFormats = []string{CastV2, CastV3}

// The heads of both formats: docs.asciinema.org/manual/asciicast.
type (
	headV2 struct {
		Version int               `json:"version"`
		Width   int               `json:"width"`
		Height  int               `json:"height"`
		Title   string            `json:"title"`
		Env     map[string]string `json:"env"`
	}
	headV3 struct {
		Version int    `json:"version"`
		Term    termV3 `json:"term"`
		Title   string `json:"title"`
	}
	termV3 struct {
		Cols int    `json:"cols"`
		Rows int    `json:"rows"`
		Type string `json:"type"`
	}
)

// Write writes the cast in a format.
func (c *Cast) Write(w io.Writer, format string) error {
	if len(c.events) == 0 {
		return fmt.Errorf("nothing was shown between %q and %q", c.from, c.to)
	}
	const terminal = "xterm-256color"
	title := grid.Clean(c.title)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	var head any = headV2{2, c.w, c.h, title, map[string]string{"TERM": terminal}}
	if format == CastV3 {
		head = headV3{3, termV3{c.w, c.h, terminal}, title}
	}
	if err := lines.Encode(head); err != nil {
		return err
	}
	last := int64(0)
	for _, e := range append(c.events, castEvent{c.at, "o", "\x1b[?25h"}) {
		at := e.at.Milliseconds()
		if format == CastV3 { // since the event before; of whole milliseconds, so that nothing adds up
			at, last = at-last, at
		}
		if err := lines.Encode([]any{float64(at) / 1000, e.code, e.data}); err != nil {
			return err
		}
	}
	if format == CastV3 {
		return lines.Encode([]any{0, "x", "0"})
	}
	return nil
}
