package stage

import (
	"fmt"
	"time"

	"kviz/lessons"
	"kviz/tui/grid"
)

// glance is the shortest time that a change stands and is still noticed.
const glance = 500 * time.Millisecond

// noticed plays a see beat as somebody who waits for its end watches it, on the screen itself, and refuses one in whose
// rings nothing differs from the beginning for long enough. A plan has changes where a pane drew something else; here
// the rings are looked at as they stand on the screen, moved, cut and dimmed. It ends at the end of the plan.
func (s *Stage) noticed(g *grid.Grid) error {
	if b := s.look.Beat; s.look.Kind != lessons.See || b.Still || s.play.Changes == 0 {
		return nil
	}
	s.play.Again()
	before := s.inRings(g)
	stands, longest := time.Duration(0), time.Duration(0)
	playing := s.play.Plan
	s.play = endOf(s.play)
	if s.inRings(g) != before { // it stands there until a key
		return nil
	}
	for i, f := range playing.Frames {
		s.play.Again()
		for range i {
			s.play.Step()
		}
		if s.inRings(g) == before {
			stands = 0
			continue
		}
		if f.For == 0 {
			longest = glance
			break
		}
		stands += f.For
		longest = max(longest, stands)
	}
	s.play = endOf(s.play)
	s.Draw(g, Around{})
	if longest >= glance {
		return nil
	}
	return fmt.Errorf("what changes in its ring stands for %s, and then it is as before; at least %s: choose another stop, or a slower tempo", longest, glance)
}

// inRings draws the screen and is what stands in the rings, with its looks.
func (s *Stage) inRings(g *grid.Grid) string {
	s.Draw(g, Around{})
	text := ""
	for _, r := range s.ringed() {
		for y := r.Y; y < r.Y+r.H; y++ {
			for x := r.X; x < r.X+r.W; x++ {
				c := g.At(x, y)
				text += fmt.Sprintf("%d %d;", c.R, c.S&^grid.Fresh)
			}
		}
		text += "|"
	}
	return text
}
