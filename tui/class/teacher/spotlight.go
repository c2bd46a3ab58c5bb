package teacher

import (
	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
	"kviz/tui/stage"
	"kviz/tui/theme"
)

// spotlight is the choice of a place of the picture that gets a ring: letters stand at all that can have one.
type spotlight struct {
	on     bool
	typed  string
	places []stage.Place // as they were drawn
}

// spotLetters are those that choose a place: all but the one that ends the choice.
const spotLetters = "abcdefghijklmnopqrtuvwxyz"

// label are the letters of the n-th of so many places: one, or two where one is not enough.
func label(n, of int) string {
	if of <= len(spotLetters) {
		return spotLetters[n : n+1]
	}
	first, second := n/len(spotLetters), n%len(spotLetters)
	return spotLetters[first:first+1] + spotLetters[second:second+1]
}

// mostPlaces is how many can have letters.
const mostPlaces = len(spotLetters) * len(spotLetters)

// draw puts the letters on the picture.
func (s *spotlight) draw(g *grid.Grid, places []stage.Place) {
	s.places = places[:min(len(places), mostPlaces)]
	for i, p := range s.places {
		text := label(i, len(s.places))
		if len(s.typed) > 0 && text[:1] != s.typed {
			continue
		}
		g.Area().Text(p.At.X, p.At.Y, text, theme.Key|grid.Bold|grid.Reverse)
	}
}

// key is a key while a place is chosen; it gives the place once there is one.
func (s *spotlight) key(k tea.KeyPressMsg) (name string) {
	if k.String() == "backspace" {
		s.typed = ""
		return ""
	}
	typed := s.typed + k.Text
	for i, p := range s.places {
		switch text := label(i, len(s.places)); {
		case k.Text == "":
		case text == typed:
			*s = spotlight{}
			return p.Name
		case text[:1] == typed:
			s.typed = typed
			return ""
		}
	}
	*s = spotlight{} // any other key ends it
	return ""
}
