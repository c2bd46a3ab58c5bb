package stage

import (
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"

	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/markup"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Around is what stands around the picture that is not the lesson's.
type Around struct {
	Speed   float64 // of the cluster's clock
	Notice  string  // said in the rule
	Undo    string  // what an undo does, and how long it takes
	Console Console
	Below   *Below // stands in the place of rule, strip, drawer and keys; nil: those of a learner of their own do
}

// Console is the console as the stage shows it.
type Console struct {
	Open bool                         // its output is read, over the strip
	Draw func(a grid.Area) (x, y int) // draws it so; nil where it is shut
	Keys []key.Binding
	Last Command // the newest command; no line for none
}

// Command is a command that was run.
type Command struct {
	Line    string
	Running bool
	Exit    int
	Said    string // the last lines it printed
}

// regions are the rows of the screen, from above: title, stage, caption, rule, strip, drawer, keys.
type regions struct{ title, stage, caption, rule, strip, drawer, keys grid.Area }

// divide divides the screen. Rows are as for 80x24 and 120x40; what there is more is the
// picture's.
func divide(a grid.Area) regions {
	caption, strip := 2, 4
	switch h := a.H(); {
	case h >= 36:
		caption, strip = 3, 7
	case h < 24:
		strip = 3
	}
	stage := max(a.H()-4-caption-strip, 3)
	var r regions
	y := 0
	for _, one := range []struct {
		into *grid.Area
		rows int
	}{{&r.title, 1}, {&r.stage, stage}, {&r.caption, caption}, {&r.rule, 1}, {&r.strip, strip}, {&r.drawer, 1}, {&r.keys, 1}} {
		*one.into = a.Rows(y, one.rows)
		y += one.rows
	}
	return r
}

// roomFor gives a question that has no room in the strip the row that the caption does not need.
func (s *Stage) roomFor(r regions, a grid.Area) regions {
	w := min(a.W()-4, captionWidth)
	s.above = false
	if s.look.Kind != lessons.Predict || s.look.Beat.Answers != "" || !s.asked() {
		return r
	}
	asks, answers := s.questionRows(w)
	spare := r.caption.H() - max(len(markup.Lines(s.caption(), w)), 1)
	s.above = s.asksAbove(w, r.strip.H())
	if over := len(asks) + len(answers) - r.strip.H(); !s.above && over > 0 && over <= spare {
		y, kept := r.caption.R.Y, r.caption.H()-over
		r.caption, r.rule, r.strip = a.Rows(y, kept), a.Rows(y+kept, 1), a.Rows(y+kept+1, r.strip.H()+over)
	}
	return r
}

// captionWidth is the most columns that a caption takes: longer lines are hard to read.
const captionWidth = 96

// Draw draws the whole screen and gives the cursor's place on the grid, where there is one.
func (s *Stage) Draw(g *grid.Grid, around Around) (x, y int, cursor bool) {
	a := g.Area()
	a.Clear()
	r := divide(a)
	s.undo = around.Undo
	s.hearsOf(around.Console.Last)
	if s.look.Beat == nil {
		s.drawTitle(r.title, around)
		in := r.stage.Frame([]grid.Span{{Text: s.look.Title, Style: theme.Title}}, theme.Line)
		in.Wrap(2, 1, in.W()-4, in.H()-1, s.look.Text, theme.Text)
		if s.look.Wrong != "" {
			s.drawStrip(r.strip)
		}
		s.drawKeys(r.keys)
		return 0, 0, false
	}
	if s.over() {
		s.drawTitle(r.title, around)
		s.drawCard(a.Rows(1, a.H()-2))
		s.drawKeys(r.keys)
		return 0, 0, false
	}
	s.set()
	s.rehearse(r.stage.W(), r.stage.H())
	s.drawTitle(r.title, around)
	s.drawPicture(g, r.stage)
	r = s.roomFor(r, a)
	s.drawCaption(r.caption)
	if around.Below != nil {
		s.drawBelow(r, around.Below)
		return 0, 0, false
	}
	s.drawRule(r.rule, around.Notice)
	if around.Console.Open && around.Console.Draw != nil {
		below := a.Sub(0, a.H()-1-r.strip.H()-2, a.W(), r.strip.H()+2)
		below.Clear()
		x, y = around.Console.Draw(below)
		r.keys.Sub(1, 0, r.keys.W()-2, 1).Styled(keymap.Line(keymap.Hints(around.Console.Keys...), r.keys.W()-2))
		return x, y, true
	}
	s.drawStrip(r.strip)
	s.drawDrawer(r.drawer, around)
	s.drawKeys(r.keys)
	return 0, 0, false
}

// drawTitle draws the first row: the lesson, the beat, with its name where there is room, and
// whether the clock runs.
func (s *Stage) drawTitle(a grid.Area, around Around) {
	b := s.look.Beat
	x := a.Text(1, 0, strings.TrimSpace(s.look.Called()), theme.Title)
	if r := s.look.Recall; r != nil {
		x = a.Text(x+2, 0, fmt.Sprintf("recall %d of %d", r.No, r.Of), theme.Number)
	} else if s.look.Finished {
		x = a.Text(x+2, 0, "done ✓", theme.Good|grid.Bold)
	} else {
		x = a.Text(x+2, 0, s.look.Place(), theme.Muted)
	}
	if b == nil || s.over() {
		return
	}
	clock, st := "⏸ stands at #"+s.Event().String(), theme.Past
	switch {
	case s.look.Recorded != nil:
		clock, st = fmt.Sprintf("a recording, #%s", s.Event()), theme.Accent
	case s.playing():
		clock, st = fmt.Sprintf("↻ shows #%s", s.Event()), theme.Accent
	case b.Runs:
		clock, st = "▶ runs  #"+s.Event().String(), theme.Good
	}
	room := a.W() - 1 - grid.Width(clock) - 2
	if x > room { // which beat it is comes first
		return
	}
	a.Right(a.W()-1, 0, clock, st)
	if x += 2; s.look.Recall == nil && !s.look.Finished && x+grid.Width(b.Title) <= room {
		a.Text(x, 0, b.Title, theme.Text)
	}
}

// drawPicture draws the stage: the picture of the beat at the position, with its rings.
func (s *Stage) drawPicture(g *grid.Grid, a grid.Area) {
	if s.picture == nil {
		a.Frame(nil, theme.Line).Text(1, 0, "There is no picture called "+s.look.Beat.Show+".", theme.Bad)
		return
	}
	b := s.look.Beat
	_, st := s.Where()
	s.picture.room = nil
	s.picture.Dirty()
	s.picture.Draw(g, a.R, s.frame(st))
	if s.reveal(s.picture) {
		s.picture.Dirty()
		s.picture.Draw(g, a.R, s.frame(st))
	}
	s.picture.room = makeRoom(a, s.ringed())
	s.missing = s.rings(a)
	if s.projected {
		s.expectations(a)
		s.drawPointer(a)
		return
	}
	s.homeless = s.ghosts(a, b.Ghosts)
	s.drawPointer(a)
	note, style := s.pace()
	if note == "" {
		return
	}
	a.Right(a.W()-3, 0, " "+note+" ", style)
}

// pace says how fast the stage is.
func (s *Stage) pace() (string, grid.Style) {
	b := s.look.Beat
	switch {
	case s.playing():
		f, part := s.play.Frame()
		if f.Skips > 0 {
			return fmt.Sprintf("%s nothing changes for %s", bar(part), words.Dur(f.Skips)), theme.Warn
		}
		text := fmt.Sprintf("change %d of %d", s.play.Change(), s.play.Changes)
		if slower := s.slower(); slower != "" {
			text += ", " + slower
		}
		return text, theme.Accent
	case b.Stopped && !b.Acts && s.play.Changes > 0:
		if s.play.Span < time.Millisecond {
			return changes(s.play.Changes), theme.Muted
		}
		return fmt.Sprintf("%s of the cluster's time, in %s", words.Dur(s.play.Span), changes(s.play.Changes)), theme.Muted
	case b.Runs && !b.Acts:
		return "the cluster runs until it happens", theme.Good
	case b.Runs:
		return "live", theme.Good
	}
	return "", theme.Muted
}

func changes(n int) string {
	if n == 1 {
		return "1 change"
	}
	return fmt.Sprintf("%d changes", n)
}

// slower says how many times slower than the cluster the plan is shown.
func (s *Stage) slower() string {
	span, lasts := s.play.Span, s.play.Lasts()
	if span <= 0 || lasts < 2*span {
		return ""
	}
	return fmt.Sprintf("slowed %d times", (lasts+span/2)/span)
}

// bar is a bar of eight cells.
func bar(part float64) string {
	out := make([]rune, 8)
	for i := range out {
		out[i] = '░'
		if float64(i) < part*8 {
			out[i] = '▓'
		}
	}
	return string(out)
}

// drawCaption draws what is said: before the change the first paragraph, after it the second.
// Where nothing changes the second stands in the strip, or nobody would have read the first.
func (s *Stage) drawCaption(a grid.Area) {
	w := min(a.W()-4, captionWidth)
	for i, line := range markup.Lines(s.caption(), w) {
		if i == a.H() {
			a.Put(a.W()-1, i-1, '…', theme.Warn)
			break
		}
		a.Spans(2, i, markup.Line(line, theme.Text)...)
	}
}

// caption is what is said now.
func (s *Stage) caption() string {
	b := s.look.Beat
	text := b.Before
	if b.After != "" && !s.playing() && (!b.Still || s.verdict() != nil) { // which takes the strip
		text = b.After
	}
	if len(s.missing) > 0 && !s.playing() && b.Stopped {
		text += " (not on this screen: " + s.missing[0] + ")"
	}
	return text
}

// drawRule draws the rule above the strip: what kind of beat it is, and what there is to it.
func (s *Stage) drawRule(a grid.Area, notice string) {
	a.HLine(0, 0, a.W(), theme.Line)
	left, right := s.kind()
	if w := a.W() - grid.Width(right) - 8; grid.Width(left) > w { // what was said may be long
		left = grid.Cut(left, max(w, 40))
	}
	x := a.Text(2, 0, left, theme.Key|grid.Bold)
	a.Put(1, 0, ' ', theme.Line)
	a.Put(x, 0, ' ', theme.Line)
	if notice != "" {
		notice = " " + grid.Cut(notice, a.W()-x-6) + " "
		a.Right(a.W()-2, 0, notice, theme.Warn)
		return
	}
	if right != "" && x+grid.Width(right)+5 <= a.W() {
		a.Right(a.W()-2, 0, " "+right+" ", theme.Muted)
	}
}

// kind is the kind of the beat in words, and what there is to say about it.
func (s *Stage) kind() (left, right string) {
	b := s.look.Beat
	if t := b.Told; t != nil && !s.playing() {
		left = "your prediction: " + t.Said
		if b.Sure > 0 {
			left += "   (" + surely[b.Sure] + ")"
		}
		return left, "answered by #" + t.By.String()
	}
	if b.Answers != "" && !s.playing() {
		return "your prediction: " + b.Answers, sureness[b.Sure]
	}
	switch s.look.Kind {
	case lessons.See:
		if e := s.history.Event(s.Event()); e != nil && b.Stopped && !b.Still && !s.playing() {
			right = "what stopped the clock: " + string(e.Kind)
		}
		return "look", right
	case lessons.Predict:
		if s.above {
			return asking + s.look.Ask, ""
		}
		return "predict", sureness[b.Sure]
	case lessons.Free:
		return "your turn", s.hints()
	}
	if b.Mistake != "" {
		return "not what the beat needs", "noticed at #" + b.Noticed.String()
	}
	return map[string]string{lessons.Do: "do", lessons.Break: "break"}[s.look.Kind], s.hints()
}

var surely = [4]string{"", "a guess", "thought so", "sure"}

var sureness = [4]string{"", "a guess", "you think so", "you are sure"}

func (s *Stage) hints() string {
	if s.look.HintsOf == 0 {
		return ""
	}
	return fmt.Sprintf("hint %d of %d", s.look.HintNo, s.look.HintsOf)
}

// onItsWay is said while a recording shows the beat.
const onItsWay = "A recording shows this beat. A cluster of yours is on its way to it …"

// drawDrawer draws the one line of the console: the command that is offered, else what became
// of the last one.
func (s *Stage) drawDrawer(a grid.Area, around Around) {
	b, last := s.look.Beat, around.Console.Last
	x := a.Text(1, 0, "$ ", theme.Key)
	switch {
	case s.look.Recorded != nil:
		a.Sub(1, 0, a.W()-2, 1).Clear()
		a.Text(1, 0, grid.Cut(onItsWay, a.W()-2), theme.Busy)
	case b.Typed:
		x = a.Text(x, 0, s.hands.typed, theme.Text|grid.Bold)
		a.Text(x, 0, "▏", theme.Accent)
		a.Right(a.W()-1, 0, "type a number, then enter", theme.Muted)
	case b.AskSure:
		a.Sub(1, 0, a.W()-2, 1).Clear()
		a.Spans(2, 0, row{
			{Text: "How sure are you?  ", Style: theme.Text | grid.Bold},
			{Text: "1 ", Style: theme.Key},
			{Text: "guess   ", Style: theme.Text},
			{Text: "2 ", Style: theme.Key},
			{Text: "think so   ", Style: theme.Text},
			{Text: "3 ", Style: theme.Key},
			{Text: "sure   ", Style: theme.Text},
			{Text: "enter ", Style: theme.Key},
			{Text: "does not say", Style: theme.Text},
		}...)
	case s.show.on && b.Offer != "" && !last.Running:
		x = a.Text(x, 0, grid.Cut(s.show.typed(b.Offer), a.W()-4), theme.Name|grid.Bold)
		a.Text(x, 0, "▏", theme.Accent)
		if says := "kviz types it"; x+grid.Width(says)+3 < a.W() {
			a.Right(a.W()-1, 0, says, theme.Muted)
		}
	case last.Running:
		a.Text(x, 0, grid.Cut(last.Line, a.W()-20), theme.Text)
		a.Right(a.W()-1, 0, "runs …", theme.Busy)
	case b.Offer != "" && b.Mistake == "":
		x = a.Text(x, 0, grid.Cut(b.Offer, a.W()-4), theme.Name|grid.Bold)
		a.Text(x, 0, "▏", theme.Accent)
		which := "Enter runs it"
		if b.Offers > 1 {
			which = fmt.Sprintf("%d of %d · Enter runs it", b.OfferNo, b.Offers)
		}
		if full := which + " · : for your own"; x+grid.Width(full)+4 < a.W() {
			which = full
		}
		if x+grid.Width(which)+3 >= a.W() {
			which = "Enter"
		}
		if x+grid.Width(which)+2 < a.W() {
			a.Right(a.W()-1, 0, which, theme.Muted)
		}
	case last.Line != "":
		x = a.Text(x, 0, grid.Cut(last.Line, a.W()-14), theme.Muted)
		if said := last.Said[strings.LastIndex(last.Said, "\n")+1:]; said != "" && s.unsaid && x+12 < a.W()-8 { // the strip has no room for it
			a.Text(x, 0, grid.Cut(" │ "+said, a.W()-9-x), theme.Text)
		}
		st := theme.Good
		if last.Exit != 0 {
			st = theme.Bad
		}
		a.Right(a.W()-1, 0, fmt.Sprintf("exit %d", last.Exit), st)
	}
}

// drawKeys draws the last row.
func (s *Stage) drawKeys(a grid.Area) {
	a.Sub(1, 0, a.W()-2, 1).Styled(keymap.Line(s.Keys(), a.W()-2))
}
