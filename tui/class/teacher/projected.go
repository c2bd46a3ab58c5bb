package teacher

import (
	"cmp"
	"fmt"
	"strings"

	"kviz/tui/class"
	"kviz/tui/grid"
	"kviz/tui/markup"
	"kviz/tui/theme"
)

// row is one row of text.
type row = []grid.Span

// The fewest rows that the picture keeps, and the most columns of a line that is read.
const (
	leastPicture = 8
	widest       = 96
)

// draw draws the projector's screen: the headline, the picture, the caption, what is asked or to be done, and how to come in.
func (p *Projector) draw() {
	a := p.grid.Area()
	foot := min(2, a.H()/4)
	defer p.drawFoot(a.Rows(a.H()-foot, foot))
	body := a.Rows(0, a.H()-foot)
	if p.scene.Black {
		return
	}
	look := p.scene.Stand.Look
	if look.Beat == nil {
		p.drawDoor(body)
		return
	}
	if p.stage.Card(body) {
		return
	}
	w := min(a.W()-4, widest)
	caption := p.captionRows(w)
	strip := p.stripRows(w, max(body.H()-len(caption)-leastPicture, 0))
	left := body.H() - len(caption) - len(strip)
	if len(strip) > 0 && left > leastPicture {
		left--
	}
	top := 0
	if look.Beat.Big != "" && left-bigRows-1 >= leastPicture {
		top = bigRows + 1
		drawBig(a.Rows(1, bigRows), look.Beat.Big, theme.Title|grid.Bold)
	}
	picture := left - top
	if picture < 3 { // the words come first
		picture = 0
	}
	p.drawPicture(grid.Rect{Y: top, W: a.W(), H: picture})
	if again := p.stripRows(w, max(body.H()-len(caption)-leastPicture, 0)); len(again) == len(strip) { // now it is known what is pointed at
		strip = again
	}
	if again := p.captionRows(w); len(again) <= len(caption) { // now it is known what is not on the picture
		caption = again
	}
	y := top + picture
	y += drawBlock(body.Rows(y, max(body.H()-y, 0)), caption)
	if left > leastPicture && len(strip) > 0 {
		y++
	}
	drawBlock(body.Rows(y, max(body.H()-y, 0)), strip)
}

// drawBlock draws rows in the middle, all from the same column on, and gives how many there are.
func drawBlock(a grid.Area, rows []row) int {
	widest := 0
	for _, r := range rows {
		widest = max(widest, width(r))
	}
	x := max((a.W()-widest)/2, min(2, a.W()/8))
	for y, r := range rows {
		if y < a.H() {
			a.Sub(0, y, a.W()-1, 1).Spans(x, 0, r...)
		}
	}
	return len(rows)
}

// width is how many columns a row takes.
func width(r row) (w int) {
	for _, span := range r {
		w += grid.Width(span.Text)
	}
	return w
}

// drawPicture draws the picture, what the class said of it, and the letters of the spotlight.
func (p *Projector) drawPicture(at grid.Rect) {
	p.expect()
	p.stage.Picture(p.grid, at, p.expected)
	if !p.spot.on {
		return
	}
	p.spot.draw(p.grid, p.stage.Places())
}

// captionRows are the caption: never cut, so that nobody misses a word. Where nothing changes both paragraphs are said.
func (p *Projector) captionRows(w int) (rows []row) {
	text := p.stage.Caption()
	if b := p.beat(); b.Still && b.After != "" && text != b.After {
		text += "\n" + b.After
	}
	for _, line := range markup.Lines(text, w) {
		rows = append(rows, markup.Line(line, theme.Title|grid.Bold))
	}
	return rows
}

// stripRows are what stands below the caption: what came of a question, or the question, or what is to be done.
func (p *Projector) stripRows(w, h int) []row {
	b, look := p.beat(), p.scene.Stand.Look
	switch {
	case h == 0:
		return nil
	case look.Wrong != "", look.Trouble != "", b.Mistake != "", b.Late:
		return first(p.stage.Strip(w, h), h)
	case p.tells():
		rows := first(p.tally(w, h), h)
		return append(rows, p.doRows(w, h-len(rows))...)
	case p.asks():
		return p.questionRows(w, h)
	case b.Answers != "" && !p.stage.Playing():
		rows := p.verdictRows(w)
		return first(append(rows, p.doRows(w, max(h-len(rows), 0))...), h)
	}
	return p.doRows(w, h)
}

// first are the first rows, a last one marked where others follow.
func first(rows []row, h int) []row {
	if len(rows) <= h {
		return rows
	}
	if h <= 0 {
		return nil
	}
	rows = rows[:h]
	rows[h-1] = append(rows[h-1], grid.Span{Text: " …", Style: theme.Warn})
	return rows
}

// doRows are what is to be done: the goals, how many have done it, and the command with what it printed.
func (p *Projector) doRows(w, h int) (rows []row) {
	look, b := p.scene.Stand.Look, p.beat()
	for _, g := range look.Goals {
		mark, st := "○ ", theme.Warn
		if g.Met {
			mark, st = "● ", theme.Good
		}
		for i, line := range grid.Lines(g.Say, w-2) {
			if i > 0 {
				mark = "  "
			}
			rows = append(rows, row{{Text: mark, Style: st | grid.Bold}, {Text: line, Style: theme.Text | grid.Bold}})
		}
	}
	if g, ok := p.room.Gates[b.ID]; ok && g.State == class.Open {
		rows = append(rows, row{{Text: fmt.Sprintf("%d of %d", g.Done, g.Of), Style: theme.Number | grid.Bold}, {Text: " have done it on a cluster of their own", Style: theme.Text}})
	}
	if look.Hint != "" {
		for _, line := range markup.Lines("Hint: "+look.Hint, w) {
			rows = append(rows, markup.Line(line, theme.Warn))
		}
	}
	rows = append(rows, p.commandRows(w, h-len(rows))...)
	if over := len(rows) - h; over > 0 {
		rows = rows[over:]
	}
	return rows
}

// commandRows are the command that is offered, or the newest one with what it printed.
func (p *Projector) commandRows(w, h int) (rows []row) {
	b, last := p.beat(), p.scene.Around.Console.Last
	mine := last.Line != "" && p.scene.Ran == b.ID
	if mine {
		says, st := "", theme.Good
		switch {
		case last.Running:
			says, st = "  runs …", theme.Busy
		case last.Exit != 0:
			says, st = fmt.Sprintf("  exit %d", last.Exit), theme.Bad
		}
		rows = append(rows, row{{Text: "$ ", Style: theme.Key}, {Text: grid.Cut(last.Line, w-2-len(says)), Style: theme.Name | grid.Bold}, {Text: says, Style: st}})
		var said []string
		for _, line := range strings.Split(strings.TrimRight(last.Said, "\n"), "\n") {
			if line != "" {
				said = append(said, line)
			}
		}
		if most := min(4, max(h-2, 1)); len(said) > most {
			said = said[len(said)-most:]
		}
		for _, line := range said {
			rows = append(rows, row{{Text: "│ ", Style: theme.Line}, {Text: grid.Cut(line, w-2), Style: theme.Text}})
		}
	}
	if b.Offer != "" && b.Mistake == "" && !(mine && last.Running) {
		rows = append(rows, row{{Text: "$ ", Style: theme.Key}, {Text: grid.Cut(b.Offer, w-4), Style: theme.Name | grid.Bold}, {Text: " ⏎", Style: theme.Muted}})
	}
	return rows
}

// drawDoor stands where there is no beat: how to come in, in the large.
func (p *Projector) drawDoor(a grid.Area) {
	look, j := p.scene.Stand.Look, p.cfg.Join
	y := max(a.H()/2-6, 0)
	a.Rows(y, 1).Center(0, cmp.Or(p.cfg.Title, look.Title, "kviz"), theme.Title|grid.Bold)
	y += 2
	if j.Address != "" {
		a.Rows(y, 1).Center(0, j.Address, theme.Key|grid.Bold)
		y += 2
	}
	if j.Page != "" {
		a.Rows(y-1, 1).Center(0, "or "+j.Page, theme.Key|grid.Bold)
		y++
	}
	if j.Code != "" {
		drawBig(a.Rows(y, bigRows), j.Code, theme.Accent|grid.Bold)
		y += bigRows + 1
	}
	if p.room.Here > 0 || j.Address != "" {
		a.Rows(y, 1).Center(0, fmt.Sprintf("%d are here", p.room.Here), theme.Text|grid.Bold)
		y += 2
	}
	if look.Setting {
		for _, line := range grid.Lines(cmp.Or(look.Text, "The scene is being set."), min(a.W()-4, widest)) {
			a.Rows(y, 1).Center(0, line, theme.Text)
			y++
		}
	}
	if look.Wrong != "" || look.Trouble != "" {
		a.Sub(2, y, a.W()-4, a.H()-y).Wrap(0, 0, a.W()-4, max(a.H()-y, 0), cmp.Or(look.Wrong, look.Trouble), theme.Bad)
	}
}

// drawFoot draws the last rows: how to come in and which beat it is, and above that what is said for a moment.
func (p *Projector) drawFoot(a grid.Area) {
	if a.H() == 0 {
		return
	}
	last := a.Rows(a.H()-1, 1)
	if a.H() > 1 && !p.scene.Black {
		a.HLine(0, 0, a.W(), theme.Line)
	}
	says := last
	if a.H() > 1 {
		says = a.Rows(0, 1)
	}
	page := ""
	switch {
	case p.leaving:
		last.Sub(0, 0, a.W()-1, 1).Spans(2, 0, p.asksToLeave()...)
	case p.typing.on:
		last.Sub(0, 0, a.W()-1, 1).Spans(2, 0, p.typing.spans(p.typing.prompt(), a.W()-4)...)
	case !p.scene.Black:
		page = p.drawJoin(last)
	}
	right := a.W() - 1
	if p.echo != "" {
		says.Right(right, 0, " "+p.echo+" ", theme.Key|grid.Bold|grid.Reverse)
		right -= grid.Width(p.echo) + 4
	}
	if p.scene.Black || a.H() < 2 {
		return
	}
	if p.clocks {
		says.Right(right, 0, " "+p.clock()+" ", theme.Text|grid.Bold)
		right -= grid.Width(p.clock()) + 4
	}
	if p.numbers && p.beat() != nil {
		event := " #" + p.stage.Event().String() + " "
		says.Right(right, 0, event, theme.Number)
		right -= grid.Width(event) + 2
	}
	if text := cmp.Or(p.notice, p.spotSays(), p.scene.Around.Notice); text != "" && right > 6 {
		says.Text(2, 0, " "+grid.Cut(text, right-6)+" ", theme.Warn|grid.Bold)
	} else if page != "" && grid.Width(page)+10 < right {
		says.Text(1, 0, " or  ", theme.Muted)
		says.Text(6, 0, page+" ", theme.Key|grid.Bold)
	}
}

func (p *Projector) spotSays() string {
	if !p.spot.on {
		return ""
	}
	if len(p.spot.places) == 0 {
		return "nothing here can have a ring"
	}
	return "press the letters of a place; esc ends it"
}

// drawJoin draws how to come in on the left, and the beat on the right. What has no room is given: the page's address.
func (p *Projector) drawJoin(a grid.Area) (left string) {
	look, j := p.scene.Stand.Look, p.cfg.Join
	beat := ""
	if look.Beat != nil {
		beat = look.Place()
	}
	room := a.W() - 4
	if beat != "" {
		a.Right(a.W()-2, 0, beat, theme.Text|grid.Bold)
		room -= grid.Width(beat) + 2
	}
	x := 2
	for _, part := range []struct {
		label, text string
		st          grid.Style
	}{{"join", j.Address, theme.Key | grid.Bold}, {"code", j.Code, theme.Accent | grid.Bold}, {"or", j.Page, theme.Key | grid.Bold}, {"key", short(j.Fingerprint), theme.Muted}} {
		w := grid.Width(part.label) + 2 + grid.Width(part.text)
		if part.text == "" || x+w > room+2 {
			if part.text == j.Page {
				left = j.Page
			}
			continue
		}
		x = a.Text(x, 0, part.label+"  ", theme.Muted)
		x = a.Text(x, 0, part.text, part.st) + 4
	}
	return left
}

// short is the beginning of a fingerprint: enough to be read aloud.
func short(fingerprint string) string {
	const most = 19
	if len(fingerprint) <= most {
		return fingerprint
	}
	return grid.Cut(fingerprint, most)
}
