package lead

import (
	"fmt"
	"strings"

	"kviz/lessons"
	"kviz/tui/class"
)

// A question opens a poll by itself as the class comes to it. The teacher closes it, or goes on, which closes it too; the
// lesson then goes on with the answer that most have given. What came is known when the run has shown it.

// keepsUp has the room know where the class is, opens the poll of a question that is asked, and judges answers once the run has.
func (l *Lead) keepsUp() {
	b := l.stage.Stand().Look.Beat
	if b == nil {
		return
	}
	if !b.Past && b.ID != l.beat {
		l.beat = b.ID
		l.cfg.Room.GoTo(b.ID)
	}
	if l.open() {
		l.cfg.Room.Poll(b.ID, class.Open)
	}
	st := l.cfg.Room.State()
	for _, beat := range st.Asked {
		if p := st.Polls[beat]; p.State != class.Open && p.Given > 0 {
			l.cfg.Room.Judge(beat, func(a lessons.Answer) (bool, bool) { return l.cfg.Player.Right(beat, a) })
		}
	}
}

// open reports whether the beat under way asks a question that has no answer yet.
func (l *Lead) open() bool {
	look := l.stage.Stand().Look
	b := look.Beat
	return b != nil && !b.Past && look.Ask != "" && !look.Answered && b.Answers == ""
}

// ShowPoll goes on with the poll of the question that was asked last: it is closed, then its answers are shown.
func (l *Lead) ShowPoll() error {
	return l.in(func() {
		st := l.cfg.Room.State()
		if len(st.Asked) == 0 {
			l.notice = "no question has been asked yet"
			return
		}
		beat := st.Asked[len(st.Asked)-1]
		if st.Polls[beat].State == class.Open {
			l.closePoll(beat)
			return
		}
		l.cfg.Room.Poll(beat, class.Shown)
	})
}

// closePoll freezes the answers to a question and has the lesson go on with the one that most gave. Where nobody gave a whole
// one, it goes on without when it is asked to go on again, or at once where nobody is there.
func (l *Lead) closePoll(beat string) {
	st := l.cfg.Room.State()
	again := st.Polls[beat].State == class.Closed
	l.cfg.Room.Poll(beat, class.Closed)
	shares := l.cfg.Room.State().Polls[beat].Answers
	for _, s := range shares {
		if !l.cfg.Player.Whole(beat, s.Answer) {
			continue
		}
		for _, what := range Actions(s.Answer) {
			if err := l.cfg.Player.Do(what); err != nil {
				l.notice = err.Error()
				return
			}
		}
		return
	}
	if !again && st.Here > 0 {
		l.notice = "nobody has answered: space goes on without an answer"
		return
	}
	if err := l.cfg.Player.Do("skip"); err != nil {
		l.notice = err.Error()
	}
}

// Actions are what a learner does to give an answer, who does not say how sure they are.
func Actions(a lessons.Answer) (all []string) {
	switch {
	case a.Number != nil:
		all = append(all, "number "+strings.TrimSuffix(fmt.Sprintf("%g", *a.Number), ".0"))
	case a.Point != "":
		all = append(all, "point "+a.Point+" "+strings.Join(a.Among, " "))
	default:
		for _, n := range a.Parts {
			all = append(all, fmt.Sprintf("answer %d", n+1))
		}
	}
	return append(all, "sure 0")
}

// advance does an action of the lesson. An answer of the teacher's own closes the poll: the class has seen it. Going on
// while a poll is open closes it.
func (l *Lead) advance(what string) error {
	word, _, _ := strings.Cut(what, " ")
	if l.open() {
		switch beat := l.stage.Stand().Look.Beat.ID; word {
		case "next":
			l.closePoll(beat)
			return nil
		case "answer", "number", "point":
			l.cfg.Room.Poll(beat, class.Closed)
		}
	}
	return l.cfg.Player.Do(what)
}
