package lead

import (
	"cmp"
	"slices"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/stage"
)

// mostVoices is how many different answers are looked for on the picture.
const mostVoices = 6

// Voices are what the answers to a poll say of the picture's cells in a beat, and how many say it: nothing until the poll is
// shown. Each of the most frequent answers has the lesson looked at as those saw it who gave it.
func Voices(looks func(map[string]lessons.Answer) lessons.Look, b *lessons.BeatLook, poll *class.Poll) (all []stage.Expected) {
	if poll.State != class.Shown {
		return nil
	}
	for _, s := range poll.Answers[:min(len(poll.Answers), mostVoices)] {
		as := looks(map[string]lessons.Answer{poll.Beat: s.Answer}).Beat
		if as == nil || as.Version != b.Version { // the lesson has gone on; the next scene will show it
			continue
		}
		for _, g := range as.Ghosts {
			all = voice(all, stage.Expected{At: g.At, Says: g.Says, Count: s.Count, Of: poll.Given})
		}
	}
	slices.SortStableFunc(all, func(a, b stage.Expected) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// voice adds to what was said of cells.
func voice(all []stage.Expected, e stage.Expected) []stage.Expected {
	for i := range all {
		if one := &all[i]; one.At == e.At && one.Says == e.Says {
			one.Count += e.Count
			return all
		}
	}
	return append(all, e)
}
