package lessons

import (
	"fmt"
	"slices"
	"strings"
)

// Info is one lesson in the list.
type Info struct {
	ID      string
	Title   string
	Part    string
	Teaches string
	Can     []string // what one can do afterwards, one by one
	Minutes int
	Done    bool
	From    string // the folder it was read from; "" for kviz' own
	Locked  string // what should be taken before; "" if nothing. It is advice: a lesson can be started anyway.

	Version int    // of its beats
	Beat    string // where it was left; "" where it was not begun

	Step   int    // where it was left, from 1; 0 where it was not begun
	Steps  int    // 0 where that is not known
	Due    int    // questions of it that are due
	Needs  []Need // lessons to take before
	Opens  []Need // lessons that need it
	Chosen bool   // what to take next
	Why    string // for what reason it may be taken next; "" where there is none
}

// Need is a lesson before or after another.
type Need struct {
	ID, Title string
	Done      bool
}

// List lists the lessons in the order they are meant to be taken.
func (p *Player) List() []Info {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list()
}

func (p *Player) ids() (all []string) {
	for _, l := range p.lessons {
		all = append(all, l.ID)
	}
	return all
}

// list is List. The lock is held.
func (p *Player) list() []Info { return List(p.lessons, p.progress) }

// List lists lessons as somebody sees them who has done some.
func List(all []*Lesson, progress *Progress) []Info {
	done := func(id string) bool { return progress.Lessons[id].Done }
	need := func(id string) (Need, bool) {
		i := slices.IndexFunc(all, func(l *Lesson) bool { return l.ID == id })
		if i < 0 {
			return Need{}, false
		}
		return Need{id, all[i].Title, done(id)}, true
	}
	out := make([]Info, len(all))
	for i, l := range all {
		mark := progress.Lessons[l.ID]
		out[i] = Info{
			ID: l.ID, Title: l.Title, Part: l.Part, Teaches: strings.Join(l.Teaches, ", "), Can: l.Teaches, Minutes: l.Minutes,
			Done: mark.Done, Version: l.Version, From: l.From, Steps: len(l.beats), Due: due(progress, l.ID),
		}
		if !mark.Done {
			if out[i].Step = 1 + slices.Index(l.beats, mark.Step); out[i].Step > 0 {
				out[i].Beat = mark.Step
			}
		}
		for _, id := range l.Needs {
			if n, ok := need(id); ok {
				out[i].Needs = append(out[i].Needs, n)
			}
		}
		for _, o := range all {
			if slices.Contains(o.Needs, l.ID) {
				out[i].Opens = append(out[i].Opens, Need{o.ID, o.Title, done(o.ID)})
			}
		}
	}
	for i := range out {
		out[i].Why = out[i].reason()
	}
	if i := chosen(out); i >= 0 {
		out[i].Chosen = true
	}
	return out
}

// reason says why somebody may take a lesson next: where they are in it, what it needs and they have done, and what it
// opens.
func (x *Info) reason() string {
	if x.Done {
		return ""
	}
	names := func(all []Need, done bool) string {
		var ids []string
		for _, n := range all {
			if n.Done == done {
				ids = append(ids, n.ID)
			}
		}
		if len(ids) > 3 {
			ids = append(ids[:3], fmt.Sprintf("and %d more", len(ids)-3))
		}
		return strings.Join(ids, ", ")
	}
	var why []string
	if x.Step > 1 {
		why = append(why, fmt.Sprintf("you are at beat %d of %d", x.Step, x.Steps))
	}
	missing, had := names(x.Needs, false), names(x.Needs, true)
	switch {
	case missing != "":
		why = append(why, "it needs "+missing+" first")
	case had != "":
		why = append(why, "you have done what it needs: "+had)
	case x.Step <= 1:
		why = append(why, "it needs no other lesson")
	}
	if opens := names(x.Opens, false); opens != "" {
		why = append(why, "it opens "+opens)
	}
	if x.Due == 1 {
		why = append(why, "a question of it is due")
	} else if x.Due > 1 {
		why = append(why, fmt.Sprintf("%d questions of it are due", x.Due))
	}
	return strings.Join(why, "; ")
}

func due(progress *Progress, lesson string) (n int) {
	for _, d := range progress.Due() {
		if d.Lesson == lesson {
			n++
		}
	}
	return n
}

// chosen is what to take next: what was begun, else the first that is not done and whose needs
// are; -1 where all is done.
func chosen(list []Info) int {
	if i := slices.IndexFunc(list, func(l Info) bool { return l.Step > 1 }); i >= 0 {
		return i
	}
	return slices.IndexFunc(list, func(l Info) bool {
		return !l.Done && !slices.ContainsFunc(l.Needs, func(n Need) bool { return !n.Done })
	})
}

// Beats are the beats of a lesson, and which of them are done.
func (p *Player) Beats(id string) []Need {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, err := p.whole(id)
	if err != nil {
		return nil
	}
	mark := p.progress.Lessons[id]
	at := slices.Index(l.beats, mark.Step)
	var all []Need
	for i, step := range l.Steps {
		all = append(all, Need{step.ID, step.Title, mark.Done || i < at})
	}
	return all
}
