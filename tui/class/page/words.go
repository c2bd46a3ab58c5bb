package page

import (
	"bytes"
	"fmt"
	"strings"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/lead"
	"kviz/tui/stage"
	"kviz/tui/web"
)

// said is what the class has said, as far as it may be seen.
type said struct {
	scene    *lead.Scene
	room     *class.State
	state    string // of the newest poll
	revealed string // the beat in which it was shown
}

// hears takes a scene and a state of the room, and notes in which beat the newest poll is shown.
func (s *said) hears(scene *lead.Scene, room *class.State) {
	s.scene, s.room = scene, room
	poll, b := s.newest(), scene.Stand.Look.Beat
	if poll == nil || b == nil || s.state == poll.Beat+" "+poll.State {
		return
	}
	if s.state = poll.Beat + " " + poll.State; poll.State == class.Shown {
		s.revealed = b.ID
	}
}

// newest is the poll that was opened last, nil for none.
func (s *said) newest() *class.Poll {
	if len(s.room.Asked) == 0 {
		return nil
	}
	p := s.room.Polls[s.room.Asked[len(s.room.Asked)-1]]
	return &p
}

// ofPicture is what the class said of the picture's cells.
func (s *said) ofPicture(l Lead) []stage.Expected {
	poll, b := s.newest(), s.scene.Stand.Look.Beat
	if poll == nil || b == nil {
		return nil
	}
	return lead.Voices(l.LookAs, b, poll)
}

// tells reports whether the answers to the newest question are seen: in the beat in which they were shown, in the question's
// own, and in the one that reveals what came.
func (s *said) tells() bool {
	poll, b := s.newest(), s.scene.Stand.Look.Beat
	return poll != nil && poll.State == class.Shown && poll.Given > 0 && (b.ID == s.revealed || b.ID == poll.Beat || b.Answers != "")
}

// reading is what is read below the picture.
type reading struct {
	Lesson, Beat string // "L09 Kill the leader"; "beat 3 of 14: Three members"
	Caption      []string
	Wrong        string // what is the matter with the lesson
	Ask, How     string
	Items        []string
	Choices      []string
	Status       string // how many have answered
	Bars         []bar
	Came         []string // what was right, where no bars say so
	Why          string
	Goals        []lessons.GoalLook
	Gate, Hint   string
	Ran          string // the teacher's newest command in this beat
	Became       string
	Printed      []string
	Offer        string // the command that is offered
	Teacher      string
}

// bar is an answer, and how many gave it.
type bar struct {
	Words         string
	Count, Share  int // Share is in percent
	Right, Judged bool
}

// words are the words of the page, by the element that they stand in.
func (b *board) words() map[string]string {
	r := b.reads()
	all := map[string]string{}
	for _, id := range []string{"where", "caption", "below"} {
		var out bytes.Buffer
		if err := wordsOf.ExecuteTemplate(&out, id, r); err != nil { // the template and its values are ours
			continue
		}
		all[id] = out.String()
	}
	all["alt"], all["plain"] = b.describes(), web.Plain(b.grid)
	return all
}

// reads gathers what is read.
func (b *board) reads() *reading {
	look := b.scene.Stand.Look
	r := &reading{Lesson: b.cfg.Title, Teacher: b.cfg.Teacher}
	beat := look.Beat
	switch {
	case b.scene.Black:
		r.Caption = []string{b.cfg.Teacher + " has made the screens dark."}
		return r
	case b.scene.Stand.History == nil:
		r.Caption = []string{"The class has not begun."}
		return r
	case beat == nil:
		if look.Wrong != "" || look.Trouble != "" {
			r.Wrong = look.Wrong + look.Trouble
		}
		r.Caption = []string{"The scene is being set."}
		return r
	}
	if r.Beat = look.Place(); r.Beat != "" && beat.Title != "" {
		r.Beat += ": "
	}
	r.Beat += beat.Title
	if look.Card != nil {
		r.Beat = "the end"
		return r
	}
	r.Caption = append(r.Caption, b.stage.Caption())
	if beat.Still && beat.After != "" && beat.After != r.Caption[0] {
		r.Caption = append(r.Caption, beat.After)
	}
	switch {
	case look.Wrong != "" || look.Trouble != "":
		r.Wrong = look.Wrong + look.Trouble
	case beat.Mistake != "":
		r.Wrong = beat.Mistake
	case b.stage.Playing():
	case b.said.tells():
		r.Bars, r.Why = b.bars(), why(beat)
	case look.Ask != "" && beat.Answers == "":
		b.asks(r)
	case beat.Answers != "":
		r.Came, r.Why = came(beat), why(beat)
	}
	b.does(r)
	return r
}

// asks adds the question that is open, and how many have answered; what they have answered is not among it.
func (b *board) asks(r *reading) {
	look, beat := b.scene.Stand.Look, b.scene.Stand.Look.Beat
	r.Ask = look.Ask
	for _, it := range look.Items {
		r.Items = append(r.Items, it.Text)
	}
	switch {
	case beat.Point != "":
		r.How = "Point at it."
	case look.Form == lessons.Count || beat.Typed:
		r.How = "A number."
	default:
		for _, c := range look.Choices {
			r.Choices = append(r.Choices, c.Text)
		}
	}
	if poll, ok := b.room.Polls[beat.ID]; ok && b.room.Here > 0 {
		r.Status = fmt.Sprintf("%d of %d have answered", poll.Given, max(b.room.Here, poll.Given))
		if poll.State == class.Closed {
			r.Status = "The poll is closed: " + strings.Replace(r.Status, " have", "", 1) + "."
		}
	}
}

// bars are the answers of the newest poll, which is shown: of a question with choices in their order, also what nobody chose.
func (b *board) bars() (all []bar) {
	look, beat, poll := b.scene.Stand.Look, b.scene.Stand.Look.Beat, b.said.newest()
	var choices []lessons.ChoiceLook
	switch {
	case beat.Told != nil && len(beat.Told.Choices) > 0:
		choices = beat.Told.Choices
	case beat.ID == poll.Beat && look.Form == lessons.OneOf:
		choices = look.Choices
	}
	for _, c := range choices {
		all = append(all, bar{Words: c.Text, Right: c.Right && beat.Told != nil, Judged: beat.Told != nil})
	}
	for _, s := range poll.Answers {
		n := -1
		if a := s.Answer; a.Number == nil && a.Point == "" && len(a.Parts) == 1 {
			n = a.Parts[0]
		}
		if n < 0 || n >= len(choices) {
			all = append(all, bar{Words: s.Words})
			n = len(all) - 1
		}
		one := &all[n]
		one.Count, one.Right, one.Judged = one.Count+s.Count, one.Right || s.Right, one.Judged || s.Judged
	}
	for i := range all {
		all[i].Share = (all[i].Count*200 + poll.Given) / max(2*poll.Given, 1)
	}
	if len(all) > mostBars {
		all = all[:mostBars]
	}
	return all
}

// mostBars is how many answers stand on the page: of a question that is answered by typing there may be one a student.
const mostBars = 12

// came is what was right, of a question whose answers are not shown.
func came(beat *lessons.BeatLook) (all []string) {
	if beat.Told == nil {
		return nil
	}
	for _, c := range beat.Told.Choices {
		if c.Right {
			all = append(all, c.Text)
		}
	}
	for _, part := range beat.Told.Parts {
		text := part.Text
		if part.Label != "" {
			text += " → " + part.Label
		}
		if part.Place > 0 {
			text = fmt.Sprintf("%d. %s", part.Place, text)
		}
		all = append(all, text)
	}
	return all
}

// why is why it came so.
func why(beat *lessons.BeatLook) string {
	t := beat.Told
	switch {
	case t == nil || beat.Answers == "":
		return ""
	case !t.Right && t.More != "":
		return t.More
	}
	return t.Why
}

// does adds what is to be done, and what the teacher has run.
func (b *board) does(r *reading) {
	look, beat := b.scene.Stand.Look, b.scene.Stand.Look.Beat
	r.Goals, r.Hint = look.Goals, look.Hint
	if g, ok := b.room.Gates[beat.ID]; ok && g.State == class.Open {
		r.Gate = fmt.Sprintf("%d of %d have done it on a cluster of their own.", g.Done, g.Of)
	}
	last := b.scene.Around.Console.Last
	if b.scene.Ran == beat.ID && last.Line != "" {
		r.Ran = last.Line
		switch {
		case last.Running:
			r.Became = "runs …"
		case last.Exit != 0:
			r.Became = fmt.Sprintf("exit status %d", last.Exit)
		}
		if text := strings.TrimRight(last.Said, "\n"); text != "" {
			r.Printed = strings.Split(text, "\n")
		}
	}
	if beat.Mistake == "" && !last.Running {
		r.Offer = beat.Offer
	}
}

// describes is the picture in a sentence, for those who do not see it.
func (b *board) describes() string {
	name := strings.Trim(b.grid.Area().Row(0), " ─╭╮┌┐│")
	text := "A picture"
	if name != "" {
		text += ": " + name
	}
	for _, ring := range b.stage.Ringed(b.grid) {
		if ring != "" {
			text += ". In a ring: " + ring
		}
	}
	return web.Escape(text + ".")
}
