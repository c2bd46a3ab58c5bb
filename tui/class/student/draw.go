package student

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/grid"
	"kviz/tui/stage"
	"kviz/tui/theme"
)

// View implements [tea.Model].
func (m *Model) View() tea.View { return m.canvas.View(m.draw) }

// Drawn is what View has drawn last.
func (m *Model) Drawn() *grid.Grid { return m.canvas.Planes() }

func (m *Model) draw(g *grid.Grid) (x, y int, cursor bool) {
	a := g.Area()
	switch {
	case m.scene.Black:
		a.Clear()
		a.Center(a.H()/2, m.cfg.Teacher+" has made the screens dark", theme.Muted)
		return 0, 0, false
	case m.scene.Stand.History == nil:
		a.Clear()
		a.Center(a.H()/2, "The class has not begun.", theme.Text)
		return 0, 0, false
	case m.away != nil:
		m.drawAway(g)
	default:
		m.stage.Draw(g, stage.Around{Speed: m.scene.Around.Speed, Console: m.scene.Around.Console, Below: m.below()})
	}
	if m.asks != nil {
		return m.drawAsking(a)
	}
	return 0, 0, false
}

// drawAsking draws the line in which a question is typed, in the place of the drawer.
func (m *Model) drawAsking(a grid.Area) (x, y int, cursor bool) {
	y = a.H() - 2
	a.Rows(y, 1).Clear()
	x = a.Text(1, y, "your question: ", theme.Key)
	return m.asks.Draw(a, x, y, a.W()-x-1, theme.Text), y, true
}

// below is what stands below the caption.
func (m *Model) below() *stage.Below {
	left, right := "following "+m.cfg.Teacher, fmt.Sprintf("%d here", m.room.Here)
	if m.notice != "" {
		right = m.notice
	}
	if m.room.Pinned {
		left = m.cfg.Teacher + " holds everybody here"
	}
	switch p := m.poll(); {
	case p.State == class.Open && !m.whole():
		left = "the poll is open: your answer"
		if m.look.Kind == lessons.Predict {
			left = "the poll is open: your prediction"
		}
	case p.State == class.Open:
		left = "you have answered: it counts when " + m.cfg.Teacher + " closes the poll"
	case p.State == class.Closed:
		left = "the poll is closed"
	}
	if g := m.gate(); g.State == class.Open && !m.room.Pinned {
		left = fmt.Sprintf("your turn: F goes into a cluster of your own (%d of %d have done it)", g.Done, g.Of)
	}
	if w, _ := m.canvas.Size(); m.notice != "" && grid.Width(left)+grid.Width(right)+7 > w { // it is read, whatever else
		left, right = m.notice, ""
	}
	return &stage.Below{Left: left, Right: right, Rows: m.rows, Drawer: m.drawer(), Keys: m.keys()}
}

// rows are those of the strip: the question and what came of it first, then what the class said.
func (m *Model) rows(w, h int) [][]grid.Span {
	rows := m.stage.Question(w, h)
	if len(rows) == 0 {
		rows = m.stage.Strip(w, h)
	}
	if hint := m.seat().Hint; hint != "" {
		rows = append([][]grid.Span{{{Text: m.cfg.Teacher + " to you: ", Style: theme.Key}, {Text: grid.Clean(hint), Style: theme.Warn}}}, rows...)
	}
	said := m.shares(w, h)
	if len(said) > 0 && len(rows) >= h && h > 1 { // a row of it is seen on every screen
		rows = rows[:h-1]
		last := len(rows) - 1
		rows[last] = append(slices.Clip(rows[last]), grid.Span{Text: " …", Style: theme.Muted})
	}
	return append(rows, said[:min(len(said), max(h-len(rows), 0))]...)
}

// shares are what the class answered, once that is shown: a bar for each answer.
func (m *Model) shares(w, h int) (rows [][]grid.Span) {
	for _, beat := range m.room.Asked {
		p := m.room.Polls[beat]
		if p.State != class.Shown || m.look.Beat == nil || beat != m.look.Beat.ID && beat != m.answered() {
			continue
		}
		for i, s := range p.Answers {
			if i == h {
				break
			}
			bar := int(float64(s.Count) / float64(max(p.Given, 1)) * 12)
			st := theme.Accent
			if s.Judged && s.Right {
				st = theme.Good
			}
			text := fmt.Sprintf(" %d  ", s.Count)
			rows = append(rows, []grid.Span{{Text: bars[:bar*len("█")], Style: st}, {Text: text, Style: theme.Number}, {Text: grid.Cut(s.Words, max(w-bar-len(text), 1)), Style: theme.Text}})
		}
	}
	return rows
}

const bars = "████████████"

// answered is the beat whose question the beat on the stage answers; "" for none.
func (m *Model) answered() string {
	for i := len(m.room.Asked) - 1; i >= 0; i-- {
		if _, judged := m.seat().Right[m.room.Asked[i]]; judged {
			return m.room.Asked[i]
		}
	}
	return ""
}

// drawer is the teacher's newest command; nil where the question takes the row.
func (m *Model) drawer() []grid.Span {
	if b := m.look.Beat; m.open() && b != nil && (b.Typed || b.AskSure) {
		return nil
	}
	last := m.scene.Around.Console.Last
	w, _ := m.canvas.Size()
	if last.Line == "" {
		if m.cfg.Word == "" {
			return []grid.Span{}
		}
		return []grid.Span{{Text: "you are " + m.cfg.Name + "; should you be cut off, come again with the word ", Style: theme.Muted}, {Text: m.cfg.Word, Style: theme.Key}}
	}
	became := "runs …"
	if !last.Running {
		became = fmt.Sprintf("exit %d", last.Exit)
	}
	who := m.cfg.Teacher + " $ "
	return []grid.Span{
		{Text: who, Style: theme.Key},
		{Text: grid.Cut(last.Line, max(w-grid.Width(who)-grid.Width(became)-5, 1)), Style: theme.Text},
		{Text: "  " + became, Style: theme.Muted},
	}
}
