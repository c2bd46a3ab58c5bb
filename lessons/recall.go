package lessons

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Due is a question of a lesson that comes back some days after it, on another run.
type Due struct {
	Lesson string `json:"lesson"`
	Beat   string `json:"beat"`   // the one with the question
	On     string `json:"due"`    // a day, "2026-11-25"
	Streak int    `json:"streak"` // how often it was answered right in turn
	Days   int    `json:"days,omitempty"`
	Sure   bool   `json:"sure,omitempty"` // the last answer was sure and wrong: it comes first
}

// day is how a day is written.
const day = "2006-01-02"

// usual is when questions come back, in days after the one before.
var usual = []int{1, 3, 7, 21}

// plan has the questions of a lesson come back that was done on a day: those that it names, and
// the predictions that were wrong or a guess, which come the next day.
func (p *Progress) plan(l *Lesson, on time.Time) {
	for _, step := range l.Steps {
		if step.Question == nil || step.Kind != Predict {
			continue
		}
		b := p.Lessons[l.ID].Beats[step.ID]
		wrong := b.Right != nil && !*b.Right
		named := slices.ContainsFunc(l.Recalls, func(r Recall) bool { return r.Beat == step.ID })
		if !named && !wrong && b.Sure != 1 {
			continue
		}
		days := l.waits(step.ID)[0]
		if wrong || b.Sure == 1 {
			days = 1
		}
		p.put(Due{Lesson: l.ID, Beat: step.ID, On: on.AddDate(0, 0, days).Format(day), Days: days, Sure: wrong && b.Sure == 3})
	}
}

// waits are the days after which a question comes back.
func (l *Lesson) waits(beat string) []int {
	for _, r := range l.Recalls {
		if r.Beat == beat && len(r.After) > 0 {
			var all []int
			for _, text := range r.After {
				n, _ := days(text) // it was read when the lesson was
				all = append(all, n)
			}
			return all
		}
	}
	return usual
}

// days reads "7d".
func days(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
	if err != nil || n < 1 || !strings.HasSuffix(text, "d") {
		return 0, fmt.Errorf("after %q: want a number of days, such as 7d", text)
	}
	return n, nil
}

// put adds a question, in place of an older one about the same.
func (p *Progress) put(d Due) {
	p.drop(d.Lesson, d.Beat)
	p.Recall = append(p.Recall, d)
}

func (p *Progress) drop(lesson, beat string) {
	p.Recall = slices.DeleteFunc(p.Recall, func(o Due) bool { return o.Lesson == lesson && o.Beat == beat })
}

// Due are the questions that are due now, what was sure and wrong first, then those that wait
// longest.
func (p *Progress) Due() []Due {
	today := p.now().UTC().Format(day)
	var all []Due
	for _, d := range p.Recall {
		if d.On <= today {
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(a, b Due) int {
		switch {
		case a.Sure != b.Sure && a.Sure:
			return -1
		case a.Sure != b.Sure:
			return 1
		}
		return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Lesson, b.Lesson))
	})
	return all
}

// recalled notes how a question was answered that had come back. Right, it comes back after the
// next of its times, sure after twice the last one if that is longer, and no more after the last;
// wrong, tomorrow.
func (p *Progress) recalled(d Due, waits []int, right bool, sure int) error {
	p.drop(d.Lesson, d.Beat)
	last := max(d.Days, 1)
	switch {
	case !right:
		d.Streak, d.Days = 0, 1
	case d.Streak+1 >= len(waits):
		return p.write()
	default:
		d.Streak++
		d.Days = waits[d.Streak]
		if sure == 3 {
			d.Days = max(d.Days, 2*last)
		}
	}
	d.Sure = !right && sure == 3
	d.On = p.now().UTC().AddDate(0, 0, d.Days).Format(day)
	p.put(d)
	return p.write()
}
