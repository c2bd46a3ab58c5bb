package stage

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// The keys of the end card.
var (
	nextKey   = bind(1, "next lesson", "next", "The lesson that comes next.", "n", "space", "enter")
	secondKey = bind(2, "other lesson", "the other", "The other lesson that is offered.", "b")
	cardBack  = bind(3, "last beat", "play on here", "Back to the last beat, and try things.", "left", "p", "pgup")
	cardList  = bind(4, "lessons", "lessons", "The list of lessons.", "L")
)

// over reports whether nothing of a lesson is shown but what it came to.
func (s *Stage) over() bool { return s.look.Card != nil || s.look.Recall != nil && s.look.Recall.Over }

// drawCard draws what a run came to, or a sitting of questions.
func (s *Stage) drawCard(a grid.Area) {
	if s.look.Card == nil {
		s.drawRecalled(a)
		return
	}
	c := s.look.Card
	title := "Your run"
	if len(c.Events) > 1 {
		title = fmt.Sprintf("Your run in %d events", len(c.Events))
	}
	in := a.Frame([]grid.Span{{Text: title, Style: theme.Title}}, theme.Good)
	rows := cardRows(c, in.W()-18)
	for over := len(rows) - in.H(); over > 0; over-- { // what stands between the rows makes room
		if i := slices.IndexFunc(rows, func(r row) bool { return len(r) == 0 }); i >= 0 {
			rows = slices.Delete(rows, i, i+1)
		}
	}
	for y, r := range rows[:min(len(rows), in.H())] {
		in.Spans(2, y, r.cut(in.W()-4)...)
	}
}

// cardRows are the rows of a card, whose texts are as wide as w; an empty one stands between parts.
func cardRows(c *lessons.EndCard, w int) []row {
	rows := []row{nil}
	for i, e := range c.Events {
		rows = append(rows, row{
			{Text: fmt.Sprintf("%d  ", i+1), Style: theme.Key},
			{Text: fmt.Sprintf("%-10s", "#"+e.ID.String()), Style: theme.Number},
			{Text: e.Say, Style: theme.Text},
		})
	}
	rows = append(rows, nil)
	say := func(label, text string, st grid.Style) {
		for _, line := range grid.Lines(text, w) {
			rows = append(rows, row{{Text: fmt.Sprintf("%-13s", label), Style: theme.Muted}, {Text: line, Style: st}})
			label = ""
		}
	}
	if c.Predictions > 0 {
		text := fmt.Sprintf("%d of %d right", c.Right, c.Predictions)
		if len(c.SureWrong) > 0 {
			text += "; sure and wrong: " + strings.Join(c.SureWrong, ", ")
		}
		say("predictions", text, theme.Text)
	}
	if c.Goals > 0 {
		text := fmt.Sprintf("%d of %d", c.Met, c.Goals)
		for _, n := range []struct {
			n    int
			what string
		}{{c.Shown, "shown"}, {c.Hints, "hints"}, {c.Undone, "undone"}} {
			if n.n > 0 {
				text += fmt.Sprintf("   %s %d", n.what, n.n)
			}
		}
		say("goals", text, theme.Text)
	}
	if c.Planned > 0 {
		say("time", fmt.Sprintf("%s, planned for %s", words.Dur(c.Took), words.Dur(c.Planned)), theme.Text)
	}
	rows = append(rows, nil)
	for i, can := range c.Teaches {
		say([]string{"You can now", ""}[min(i, 1)], can, theme.Good)
	}
	rows = append(rows, nil)
	if c.Again != "" {
		say("Again", fmt.Sprintf("%s: %s on another run (kviz lesson recall)", c.Again, words.Count(c.Questions, "question")), theme.Number)
	}
	for i, n := range c.Next {
		say([]string{"Next", ""}[min(i, 1)], fmt.Sprintf("%s  %s %s, %d min", []string{"n", "b"}[min(i, 1)], n.ID, n.Title, n.Minutes), theme.Accent)
		if n.Why != "" {
			say("", "   "+n.Why, theme.Muted)
		}
	}
	return rows
}

// drawRecalled draws what a sitting of questions came to.
func (s *Stage) drawRecalled(a grid.Area) {
	r := s.look.Recall
	in := a.Frame([]grid.Span{{Text: "Recalled", Style: theme.Title}}, theme.Good)
	in.Text(2, 1, fmt.Sprintf("%d of %d right.", r.Right, r.Of), theme.Text|grid.Bold)
	y := 3
	say := func(text string) {
		for _, line := range grid.Lines(text, in.W()-4) {
			in.Text(2, y, line, theme.Text)
			y++
		}
	}
	say("What was right comes back later, what was wrong tomorrow.")
	if r.Next != "" {
		say("The next question is due on " + r.Next + ".")
	}
	if r.Later > 0 {
		say(words.Count(r.Later, "more question") + " wait: kviz lesson recall asks them, on the cluster that they need.")
	}
}

// cardKeys are the keys of the card that do something now.
func (s *Stage) cardKeys() []keymap.Binding {
	if s.look.Card == nil {
		return []keymap.Binding{cardList, leaveKey}
	}
	var keys []keymap.Binding
	if n := len(s.look.Card.Events); n > 0 {
		keys = append(keys, keymap.Binding{Binding: keymap.Hint(digits(n), "go there", "1")})
	}
	for i, k := range []keymap.Binding{nextKey, secondKey} {
		if i < len(s.look.Card.Next) {
			keys = append(keys, k)
		}
	}
	return append(keys, linkKey, cardBack, cardList, leaveKey)
}

// cardKey is what a key does on the card.
func (s *Stage) cardKey(k tea.KeyPressMsg) action.Action {
	name := keymap.Action(k, s.cardKeys())
	c := s.look.Card
	switch {
	case name == cardList.Action:
		return action.Lessons
	case name == leaveKey.Action:
		return action.Key(keymap.Quit)
	case name == linkKey.Action:
		return action.Link{To: s.Link()}
	case c == nil:
	case name == nextKey.Action:
		return action.Begin(c.Next[0].ID)
	case name == secondKey.Action:
		return action.Begin(c.Next[1].ID)
	case name == cardBack.Action:
		return action.Lesson("back")
	case len(k.Text) == 1 && k.Text >= "1" && int(k.Text[0]-'1') < len(c.Events):
		return s.goThere(c.Events[k.Text[0]-'1'])
	}
	return action.Redraw{}
}

// goThere explores the run at an event of the card.
func (s *Stage) goThere(e lessons.CardEvent) action.Action {
	s.Leave()
	return action.All{action.Goto{ID: e.ID}, action.Notice{Text: "L comes back to the lesson"}}
}
