package teacher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/markup"
	"kviz/tui/theme"
)

// draw draws the notes: above what to say and the poll, below the class.
func (n *Notes) draw() {
	a := n.grid.Area()
	w, h := a.W(), a.H()
	n.drawTitle(a.Rows(0, 1))
	top := (h-2)/2 + max(h-24, 0)/8
	right := min(46, w*2/5)
	if w < 40 {
		right = 0
	}
	n.drawBeat(a.Sub(0, 1, w-right, top))
	n.drawPoll(a.Sub(w-right, 1, right, top))
	n.drawClass(a.Sub(0, 1+top, w, max(h-2-top, 0)))
	keys := []keymap.Binding{onKey, backKey, runKey, pollKey, peekKey, gateKey, callKey, boardKey, pinKey, blackKey, lineKey, timeKey, quitKey}
	if n.walk() != nil {
		keys = n.walkKeys()
	}
	n.drawKeys(a.Rows(h-1, 1), keys)
}

// drawTitle draws the first row: the lesson, the time of the day, how long it has lasted and whether that is as planned.
func (n *Notes) drawTitle(a grid.Area) {
	right := n.cfg.Now().Format("15:04")
	if n.clocks {
		right += "   " + n.clock()
		if late := n.late(); late != "" {
			right += "   " + late
		}
	}
	if grid.Width(right)+12 > a.W() {
		right = n.clock()
	}
	st := theme.Text | grid.Bold
	if strings.HasSuffix(right, "behind") {
		st = theme.Warn | grid.Bold
	}
	a.Sub(0, 0, a.W()-grid.Width(right)-3, 1).Text(1, 0, "notes · "+n.title(), theme.Title)
	a.Right(a.W()-1, 0, right, st)
}

func (d *desk) title() string {
	look := d.scene.Stand.Look
	return cmp.Or(d.cfg.Title, strings.TrimSpace(look.ID+" "+look.Title), "a class")
}

// drawKeys draws the last row: the keys, or what is being said or typed.
func (d *desk) drawKeys(a grid.Area, keys []keymap.Binding) {
	in := a.Sub(1, 0, a.W()-2, 1)
	switch {
	case d.leaving:
		in.Spans(0, 0, d.asksToLeave()...)
	case d.typing.on:
		in.Spans(0, 0, d.typing.spans(d.typing.prompt(), in.W())...)
	case cmp.Or(d.notice, d.scene.Around.Notice) != "":
		in.Text(0, 0, cmp.Or(d.notice, d.scene.Around.Notice), theme.Warn|grid.Bold)
	default:
		in.Styled(keymap.Line(keys, in.W()))
	}
}

// drawBeat draws what the beat has to say to the teacher, and below it what everybody sees: the picture in small where
// there is room for it, else in words.
func (n *Notes) drawBeat(a grid.Area) {
	look := n.scene.Stand.Look
	b := look.Beat
	head := []grid.Span{{Text: "before the first beat", Style: theme.Title}}
	if b != nil {
		head = []grid.Span{{Text: fmt.Sprintf("beat %d: ", look.Step), Style: theme.Muted}, {Text: b.Title, Style: theme.Title}}
		if n.walk() != nil {
			head = walkHead(&look)
		}
		if n.scene.Black {
			head = append(head, grid.Span{Text: "  (screens are black)", Style: theme.Warn})
		}
	}
	in := a.Frame(head, theme.Line)
	if b == nil {
		in.Sub(1, 1, in.W()-2, in.H()-1).Wrap(0, 0, in.W()-2, max(in.H()-1, 0), cmp.Or(look.Wrong, look.Trouble, look.Text, "The lesson has not begun."), theme.Text)
		return
	}
	w := in.W() - 2
	y := min(1, max(in.H()-4, 0))
	write := func(text string, st grid.Style) {
		if text == "" {
			return
		}
		for _, line := range markup.Lines(text, w) {
			if y < in.H() {
				in.Sub(1, y, w, 1).Spans(0, 0, markup.Line(line, st)...)
			}
			y++
		}
	}
	write(look.Notes, theme.Text|grid.Bold)
	if look.Notes != "" {
		y++
	}
	if rest := in.H() - y; w >= 56 && rest >= 11 {
		n.stage.Picture(n.grid, grid.Rect{X: in.R.X, Y: in.R.Y + y, W: in.W(), H: rest - 2}, nil)
		y = in.H() - 2
	}
	write(n.stage.Caption(), theme.Muted)
	for _, g := range look.Goals {
		mark := "○ "
		if g.Met {
			mark = "● "
		}
		write(mark+g.Say, theme.Text)
	}
	if b.Offer != "" {
		write("$ "+b.Offer, theme.Name)
	}
}

// drawPoll draws the tally of the newest poll; it is hidden until it is shown to the class, or the teacher peeks.
func (n *Notes) drawPoll(a grid.Area) {
	poll := n.newest()
	if poll == nil {
		in := a.Frame([]grid.Span{{Text: "poll", Style: theme.Title}}, theme.Line)
		in.Sub(1, 1, in.W()-2, in.H()-1).Wrap(0, 0, in.W()-2, max(in.H()-1, 0), "No question has been asked yet.", theme.Muted)
		return
	}
	in := a.Frame([]grid.Span{{Text: "poll: " + n.called(poll.Beat), Style: theme.Title}}, theme.Line)
	w := in.W() - 2
	status := fmt.Sprintf("%d of %d", poll.Given, max(n.room.Here, poll.Given))
	switch poll.State {
	case class.Open:
		status += " · open · V closes"
	case class.Closed:
		status += " · hidden · V shows"
	default:
		status += " · shown"
	}
	rows := []row{{{Text: status, Style: theme.Number | grid.Bold}}} // first: there may be many answers
	if poll.State != class.Shown {
		rows = append(rows, row{{Text: map[bool]string{true: "p hides them again", false: "p peeks at the answers"}[n.peeksAt(poll.Beat)], Style: theme.Muted}})
	}
	rows = append(rows, n.pollRows(poll, w)...)
	for _, beat := range slices.Backward(n.room.Asked[:len(n.room.Asked)-1]) {
		was := n.room.Polls[beat]
		if right, judged := rights(&was); judged > 0 && was.State == class.Shown {
			rows = append(rows, row{{Text: fmt.Sprintf("%s: %d of %d right", n.called(beat), right, judged), Style: theme.Muted}})
		}
	}
	y := min(1, max(in.H()-len(rows), 0))
	for i, r := range first(rows, max(in.H()-y, 0)) {
		in.Sub(1, y+i, w, 1).Spans(0, 0, r...)
	}
}

// rights are how many of the answers that were judged are right.
func rights(p *class.Poll) (right, judged int) {
	for _, s := range p.Answers {
		if s.Judged {
			judged += s.Count
		}
		if s.Right {
			right += s.Count
		}
	}
	return right, judged
}

// pollRows are the answers to a poll, each with its bar.
func (n *Notes) pollRows(poll *class.Poll, w int) (rows []row) {
	if poll.State != class.Shown && !n.peeksAt(poll.Beat) {
		for _, line := range grid.Lines(cmp.Or(n.asked(poll.Beat), "The answers are hidden."), w) {
			rows = append(rows, row{{Text: line, Style: theme.Text}})
		}
		return append(rows, nil)
	}
	all := n.counts(poll)
	most := 1
	for _, c := range all {
		most = max(most, c.count)
	}
	for _, c := range all {
		mark, st := "", theme.Accent
		switch {
		case c.judged && c.right:
			mark, st = "✓ ", theme.Good
		case c.judged:
			mark, st = "✗ ", theme.Bad
		}
		key := ""
		if c.key != "" {
			key = c.key + " "
		}
		rows = append(rows,
			row{{Text: mark, Style: st}, {Text: key, Style: theme.Key}, {Text: grid.Cut(grid.Clean(c.words), w-4), Style: theme.Text}},
			row{{Text: strings.Repeat("█", max(c.count*(w-5)/most, min(c.count, 1))) + " ", Style: st}, {Text: fmt.Sprint(c.count), Style: theme.Number}})
	}
	return rows
}

// asked is a beat's question.
func (d *desk) asked(beat string) string {
	if b := d.beat(); b != nil && b.ID == beat && d.scene.Stand.Look.Ask != "" {
		return d.scene.Stand.Look.Ask
	}
	if i := d.number(beat); i >= 0 {
		return d.cfg.Beats[i].Ask
	}
	return ""
}

// number is where in the lesson a beat is, from 0; -1 if it is not known.
func (d *desk) number(beat string) int {
	return slices.IndexFunc(d.cfg.Beats, func(b Beat) bool { return b.ID == beat })
}

// called is a beat by its number, else by its name.
func (d *desk) called(beat string) string {
	if i := d.number(beat); i >= 0 {
		return fmt.Sprintf("%s %d", d.step(), i+1)
	}
	return beat
}

// drawClass draws how the class is getting on.
func (n *Notes) drawClass(a grid.Area) {
	st := n.room
	here := fmt.Sprintf("class · %d here", st.Here)
	if n.cfg.Looking != nil {
		here += fmt.Sprintf(" · %d by the page", n.cfg.Looking())
	}
	head := []grid.Span{{Text: here, Style: theme.Title}}
	if st.Pinned {
		head = append(head, grid.Span{Text: " · held", Style: theme.Warn | grid.Bold})
	}
	in := a.Frame(head, theme.Line)
	if page := n.cfg.Join.Page; page != "" && grid.Width(page)+6 < a.W() {
		a.Text(2, a.H()-1, " "+page+" ", theme.Muted)
	}
	used := max(grid.Width(here)+15, 30)
	if next := n.next(); next != "" && (grid.Width(next)+used < a.W() || n.walk() != nil && a.W() > 60) {
		next = grid.Cut(next, a.W()-used-1)
		a.Right(a.W()-2, 0, " "+next+" ", theme.Muted)
	}
	w := in.W() - 2
	rows := append([]row{n.presence(w)}, n.dots(w)...)
	stuck, asks, refused := n.stuck(w), n.questions(w), n.refusals(w)
	room := in.H() - len(rows)
	for room-len(stuck)-len(asks)-len(refused) < 0 { // the longest gives way
		switch {
		case len(stuck) >= len(asks) && len(stuck) > 1:
			stuck = stuck[:len(stuck)-1]
		case len(asks) > 1:
			asks = asks[:len(asks)-1]
		case len(refused) > 0:
			refused = refused[:len(refused)-1]
		default:
			room = 1 << 10
		}
	}
	blank := room-len(stuck)-len(asks)-len(refused) >= 4
	for _, part := range [][]row{stuck, asks, refused} {
		if blank && len(part) > 0 {
			rows = append(rows, nil)
		}
		rows = append(rows, part...)
	}
	for y, r := range rows {
		if y < in.H() {
			in.Sub(1, y, w, 1).Spans(0, 0, r...)
		}
	}
}

// next is the beat that comes next: "next: 13 see  Your request".
func (d *desk) next() string {
	step := d.scene.Stand.Look.Step
	if step >= len(d.cfg.Beats) {
		return ""
	}
	b := d.cfg.Beats[step]
	if d.walk() != nil {
		return fmt.Sprintf("next: %d  %s", step+1, b.Title)
	}
	return fmt.Sprintf("next: %d %s  %s", step+1, b.Kind, b.Title)
}

// presence are the numbers: who follows, who is alone, whose hand is up, and what they think of the pace; of that nobody
// sees who.
func (n *Notes) presence(w int) row {
	alone := 0
	for _, s := range n.room.Seats {
		if s.Here > 0 && s.Alone {
			alone++
		}
	}
	r := row{
		{Text: "following ", Style: theme.Muted},
		{Text: fmt.Sprint(n.room.Here - alone), Style: theme.Number | grid.Bold},
		{Text: "   own run ", Style: theme.Muted},
		{Text: fmt.Sprint(alone), Style: theme.Number | grid.Bold},
		{Text: "   pace: ", Style: theme.Muted},
		{Text: fmt.Sprintf("%d slower, %d faster", n.room.Slower, n.room.Faster), Style: theme.Text},
	}
	if hands := n.room.Hands; len(hands) > 0 {
		r = append(r, grid.Span{Text: "   hands up ", Style: theme.Muted}, grid.Span{Text: fmt.Sprintf("%d: ", len(hands)), Style: theme.Warn | grid.Bold})
		r = append(r, grid.Span{Text: grid.Cut(grid.Clean(strings.Join(hands, ", ")), max(w-width(r), 0)), Style: theme.Warn | grid.Bold})
	}
	return r
}

// dots are a dot a student: while a gate is open who has gone through it, else who follows.
func (n *Notes) dots(w int) []row {
	b := n.beat()
	if n.room.Here == 0 || b == nil {
		return nil
	}
	gate, gated := n.room.Gates[b.ID]
	gated = gated && gate.State == class.Open
	label, full := "following ", 0
	if gated {
		label = "gate      "
	}
	for _, s := range n.room.Seats {
		if s.Here > 0 && (gated && s.Passed[b.ID] || !gated && !s.Alone) {
			full++
		}
	}
	r := row{{Text: label, Style: theme.Muted}}
	if len(label)+n.room.Here+12 <= w {
		r = append(r, grid.Span{Text: strings.Repeat("●", full), Style: theme.Good}, grid.Span{Text: strings.Repeat("○", n.room.Here-full) + " ", Style: theme.Muted})
	}
	return []row{nil, append(r, grid.Span{Text: fmt.Sprintf("%d of %d", full, n.room.Here), Style: theme.Number | grid.Bold})}
}

// stuck are those who make no progress, with what came nearest; who waits longest is first.
func (n *Notes) stuck(w int) (rows []row) {
	now := n.cfg.Now()
	var all []class.Seat
	for _, s := range n.room.Seats {
		if s.Stuck(now) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b class.Seat) int { return a.Since.Compare(b.Since) })
	label := "stuck     "
	for _, s := range all {
		what := cmp.Or(grid.Clean(s.Miss), fmt.Sprintf("%d of %d goals", s.Done, s.Of))
		if s.Miss != "" {
			what = "nearest: " + what
		}
		r := row{
			{Text: label, Style: theme.Warn},
			{Text: grid.Pad(grid.Clean(s.Name), 12) + " ", Style: theme.Text | grid.Bold},
			{Text: fmt.Sprintf("%s for %s   ", n.called(s.Beat), minutes(now.Sub(s.Since))), Style: theme.Warn},
		}
		rows = append(rows, append(r, grid.Span{Text: grid.Cut(what, max(w-width(r), 0)), Style: theme.Text}))
		label = strings.Repeat(" ", len(label))
	}
	return rows
}

// questions are what was asked, the newest first.
func (n *Notes) questions(w int) (rows []row) {
	label := "asked     "
	for _, q := range slices.Backward(n.room.Questions) {
		r := row{{Text: label, Style: theme.Accent}, {Text: grid.Cut(grid.Clean(q.Name), 12) + ": ", Style: theme.Text | grid.Bold}}
		rows = append(rows, append(r, grid.Span{Text: grid.Cut(grid.Clean(q.Text), max(w-width(r), 0)), Style: theme.Text}))
		label = strings.Repeat(" ", len(label))
	}
	return rows
}

// refusals are what the door has refused, the newest first.
func (n *Notes) refusals(w int) (rows []row) {
	label := "refused   "
	for _, r := range slices.Backward(n.refused) {
		text := grid.Clean(r.Who) + " " + grid.Clean(r.What)
		if r.Times > 1 {
			text += fmt.Sprintf(" (%d times)", r.Times)
		}
		rows = append(rows, row{{Text: label, Style: theme.Bad}, {Text: r.At.Format("15:04 "), Style: theme.Muted}, {Text: grid.Cut(text, max(w-len(label)-6, 0)), Style: theme.Text}})
		label = strings.Repeat(" ", len(label))
	}
	return rows
}

// acts reports whether students have something to do in beats of a kind.
func acts(kind string) bool {
	return kind == lessons.Do || kind == lessons.Break || kind == lessons.Free
}
