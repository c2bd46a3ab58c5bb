package lessons

import (
	"io/fs"
	"slices"
)

// Reread reads the lessons of one folder anew and proves them as [Load] does; of all others there are
// those of all, of which nothing is proven again. What comes of it is all with the new ones in their places.
func Reread(own fs.FS, panes []string, all []*Lesson, from Source) ([]*Lesson, error) {
	words, err := sharedWords(own, from)
	if err != nil {
		return nil, err
	}
	found, err := reader{prove: true, panes: panes}.source(from, words)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for _, l := range found {
		if i := slices.IndexFunc(all, func(o *Lesson) bool { return o.ID == l.ID }); i >= 0 {
			l.Replaces = all[i].From != from.Name || all[i].Replaces
			all[i] = l
		} else {
			all = append(all, l)
		}
	}
	return all, needs(all, true)
}

// Reload takes other lessons in the place of those that there are, as their author has saved them:
// the one under way begins again at its beat, on the cluster that there is. wrong is what is the matter with
// what was saved; then all stays as it was, and the stage says so.
func (p *Player) Reload(all []*Lesson, wrong error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wrong = ""; wrong != nil {
		p.wrong = wrong.Error()
		return
	}
	p.lessons = all
	if p.lesson == nil {
		return
	}
	l, err := p.whole(p.lesson.ID)
	if err != nil {
		p.wrong = err.Error()
		return
	}
	at := p.step
	if p.beats != nil {
		at = p.beats.shown
	}
	step := slices.Index(l.beats, p.lesson.beats[at])
	if step < 0 { // it is called something else now, or has gone
		step = min(at, len(l.Steps)-1)
	}
	p.recalling, p.ahead = nil, true // what an author does is no progress of theirs
	p.begin(l, step)
}
