// Package walk is a teacher's own way through a run, live or recorded, in the place of a lesson: marks that were set beforehand,
// each an event, a pane, a place that is ringed, and a sentence; and a [Player] that steps through them for package lead. So the
// projector, the notes and the students who follow draw a walk as they draw a lesson: each mark is a beat to see.
//
// Marks are kept in a text file beside the recording ([Marks], file.go), which can be read and edited by hand.
//
// Simplified: a mark names its pane and its places literally, without the expressions that a lesson has, for a run that is
// recorded has its names; and marks stand in the order of their events, so a walk goes on in time only.
//
// Start reading at [Mark], then [Player.Do].
package walk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"kviz/cluster/trace"
	"kviz/lessons"
)

// Mark is a moment of a run that is worth showing. All but the event may be left out.
type Mark struct {
	From  trace.ID // the first event of those that are played; zero: from where the class stands
	At    trace.ID // the event at which it stands
	Show  string   // pane/view, as lessons have it: "store/logs"; "" is what the mark before shows
	Spots []string // one or two places with a ring: "store:member/a"
	Big   string   // a word or two for the projector, in the large
	Say   string   // a sentence; "" is what the event says of itself
	Note  string   // lines for the teacher alone
}

// What a mark, and a file of them, has at most.
const (
	mostMarks = 1000
	mostFile  = 1 << 20 // bytes
	mostSay   = 400     // characters
	mostNote  = 4000
	mostBig   = 24
	mostName  = 200 // of a pane and of a place
	mostSpots = 2   // three rings point at nothing
)

// where is the mark's event as it is written: "#8841", "#8830..#8841".
func (m *Mark) where() string {
	if m.From.IsZero() {
		return "#" + m.At.String()
	}
	return "#" + m.From.String() + "..#" + m.At.String()
}

// Title is the mark in a few words, for a list.
func (m *Mark) Title() string {
	text := strings.NewReplacer("**", "", "`", "").Replace(cmp.Or(m.Big, m.Say, "event "+m.At.String()))
	if all := []rune(text); len(all) > 60 {
		return string(all[:59]) + "…"
	}
	return text
}

// Check refuses a mark that could not be shown, or not be written into a file.
func (m *Mark) Check(pictures []lessons.Picture) error {
	switch {
	case m.At.IsZero():
		return errors.New("a mark needs an event, such as #8841")
	case !m.From.IsZero() && m.From.Compare(m.At) > 0:
		return fmt.Errorf("%s goes back in time: want the earlier event first", m.where())
	case len(m.Spots) > mostSpots:
		return fmt.Errorf("spot: at most %d places: three rings point at nothing", mostSpots)
	}
	for _, one := range []struct {
		what, text string
		most       int
	}{{"show", m.Show, mostName}, {"big", m.Big, mostBig}, {"say", m.Say, mostSay}, {"note", m.Note, mostNote}} {
		if err := fits(one.what, one.text, one.most, one.what == "note"); err != nil {
			return err
		}
	}
	for _, s := range m.Spots {
		if err := fits("spot", s, mostName, false); err != nil {
			return err
		}
		if s == "" {
			return errors.New("spot: want a place, such as store:member/a")
		}
	}
	return lessons.Points(pictures, m.Show, m.Spots)
}

// fits refuses a text that is too long, or has what a line of a file cannot have.
func fits(what, text string, most int, lines bool) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("%s: it is not UTF-8", what)
	case utf8.RuneCountInString(text) > most:
		return fmt.Errorf("%s: it has %d characters; at most %d are read from a screen", what, utf8.RuneCountInString(text), most)
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !(lines && r == '\n') }):
		return fmt.Errorf("%s: it has a sign that nobody sees", what)
	case strings.TrimSpace(text) != text:
		return fmt.Errorf("%s: it begins or ends with a blank", what)
	}
	return nil
}

// Marks are the marks of a run, in the order of their events. All methods may be called from any goroutine.
type Marks struct {
	pictures []lessons.Picture

	mu   sync.Mutex
	path string // "": they are in memory only
	all  []Mark
}

// New makes marks of a run that is in no file: there are none yet.
func New(pictures []lessons.Picture) *Marks { return &Marks{pictures: pictures} }

// All are the marks. Nobody may change them.
func (m *Marks) All() []Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all
}

// Path is the file in which they are kept; "" for none.
func (m *Marks) Path() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.path
}

// Set adds a mark, behind those of the same event, and writes the file.
func (m *Marks) Set(one Mark) error {
	one.Say, one.Big, one.Note = strings.TrimSpace(one.Say), strings.TrimSpace(one.Big), trimmed(one.Note)
	if err := one.Check(m.pictures); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) >= mostMarks {
		return fmt.Errorf("there are %d marks already, which is the most", mostMarks)
	}
	return m.become(inOrder(append(slices.Clone(m.all), one)))
}

// trimmed is a text without blanks around its lines.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Remove takes a mark away, by its place from 0, and writes the file.
func (m *Marks) Remove(n int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < 0 || n >= len(m.all) {
		return errors.New("there is no such mark any more")
	}
	return m.become(slices.Delete(slices.Clone(m.all), n, n+1))
}

// become takes other marks, once they are written. The lock is held.
func (m *Marks) become(all []Mark) error {
	if m.path != "" {
		if err := write(m.path, all); err != nil {
			return err
		}
	}
	m.all = all
	return nil
}

func inOrder(all []Mark) []Mark {
	slices.SortStableFunc(all, func(a, b Mark) int { return a.At.Compare(b.At) })
	return all
}
