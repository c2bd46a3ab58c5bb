package walk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kviz/cluster/trace"
	"kviz/lessons"
)

// A file of marks is text. Each mark begins with its event, or with the first and the last of several, and has a line for each
// thing that it says; a note may have several:
//
//	kviz marks 1
//
//	#8830..#8841
//	show: store/logs
//	spot: store:member/b
//	big: TERM 3
//	say: b has two votes of three. It is the leader of term 3.
//	note: Ask: could c have won? Point at its log.
//
// Marks may stand in any order; they are shown in that of their events.

// heading is the first line of a file.
const heading = "kviz marks 1"

// Ending is what the name of a recording's file of marks has behind that of the recording.
const Ending = ".marks"

// Beside is the file of the marks of a recording.
func Beside(recording string) string { return recording + Ending }

// Open reads the marks of a recording from the file beside it; where there is none, there are no marks yet.
func Open(recording string, pictures []lessons.Picture) (*Marks, error) {
	m := &Marks{pictures: pictures, path: Beside(recording)}
	f, err := os.Open(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err != nil {
		return nil, err
	}
	if m.all, err = Parse(text, pictures); err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return m, nil
}

// Fresh are the marks of a recording that is being written: there are none yet, whatever an earlier one of this name had.
func Fresh(recording string, pictures []lessons.Picture) *Marks {
	return &Marks{pictures: pictures, path: Beside(recording)}
}

// Save keeps the marks beside a recording from now on.
func (m *Marks) Save(recording string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) > 0 {
		if err := write(Beside(recording), m.all); err != nil {
			return err
		}
	}
	m.path = Beside(recording)
	return nil
}

// mostWrong is how many lines are refused at a time.
const mostWrong = 10

// Parse reads a file of marks. What is wrong is said with the number of its line.
func Parse(text []byte, pictures []lessons.Picture) ([]Mark, error) {
	if len(text) > mostFile {
		return nil, fmt.Errorf("the file has more than %d bytes, which is no file of marks", mostFile)
	}
	p := parser{pictures: pictures}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		p.no = i + 1
		if p.read(strings.TrimSpace(line)); p.over || len(p.wrong) >= mostWrong {
			break
		}
	}
	p.ends()
	switch {
	case len(p.wrong) > 0:
		return nil, errors.Join(p.wrong...)
	case !p.headed:
		return nil, fmt.Errorf("line 1: want %q", heading)
	}
	return inOrder(p.all), nil
}

// parser reads a file, a line at a time.
type parser struct {
	pictures []lessons.Picture
	all      []Mark
	wrong    []error
	no       int // of the line
	headed   bool
	over     bool  // nothing more is read
	now      *Mark // the mark that is being read
	begun    int   // in which line
	said     map[string]bool
}

func (p *parser) refuse(line int, format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...)))
}

func (p *parser) read(line string) {
	switch {
	case line == "":
	case !p.headed:
		if p.headed = true; line != heading {
			p.refuse(p.no, "want %q: this is no file of marks, or one of a newer kviz", heading)
			p.over = true // all else would be wrong too
		}
	case strings.HasPrefix(line, "#"):
		p.ends()
		if len(p.all) >= mostMarks {
			p.refuse(p.no, "a file has at most %d marks", mostMarks)
			p.over = true
			return
		}
		p.now, p.begun, p.said = &Mark{}, p.no, map[string]bool{}
		from, at, err := Span(line)
		if err != nil {
			p.refuse(p.no, "%w", err)
			p.now.At = trace.ID{Seq: 1} // so that its other lines are looked at
			return
		}
		p.now.From, p.now.At = from, at
	case p.now == nil:
		p.refuse(p.no, "%s belongs to no mark: want an event first, such as #8841", short(line))
	default:
		p.field(line)
	}
}

// field reads what a mark says in one line.
func (p *parser) field(line string) {
	what, text, ok := strings.Cut(line, ":")
	text = strings.TrimSpace(text)
	into := map[string]*string{"show": &p.now.Show, "big": &p.now.Big, "say": &p.now.Say, "note": &p.now.Note}[what]
	switch {
	case !ok || into == nil && what != "spot":
		p.refuse(p.no, "%s: want show, spot, big, say or note, and a colon behind it", short(line))
	case what == "spot":
		if p.now.Spots = append(p.now.Spots, text); len(p.now.Spots) > mostSpots {
			p.refuse(p.no, "spot: at most %d places: three rings point at nothing", mostSpots)
			p.now.Spots = p.now.Spots[:mostSpots]
		}
	case what == "note" && p.said[what]:
		*into += "\n" + text
		if len(*into) > 8*mostNote { // ends refuses it
			*into = (*into)[:4*mostNote]
		}
	case p.said[what]:
		p.refuse(p.no, "%s is said twice of one mark", what)
	default:
		p.said[what], *into = true, text
	}
}

// ends takes the mark that was read.
func (p *parser) ends() {
	if p.now == nil {
		return
	}
	p.now.Note = strings.TrimSpace(p.now.Note)
	if err := p.now.Check(p.pictures); err != nil {
		p.refuse(p.begun, "the mark %s: %w", p.now.where(), err)
	}
	p.all, p.now = append(p.all, *p.now), nil
}

// short is a line for a refusal.
func short(line string) string {
	if all := []rune(line); len(all) > 40 {
		line = string(all[:39]) + "…"
	}
	return fmt.Sprintf("%q", line)
}

// Span reads an event, "#8841", or the first and the last of several, "#8830..#8841".
func Span(text string) (from, at trace.ID, err error) {
	a, b, several := strings.Cut(text, "..")
	if several {
		if from, err = trace.ParseID(strings.TrimSpace(a)); err != nil {
			return from, at, err
		}
		a = b
	}
	if at, err = trace.ParseID(strings.TrimSpace(a)); err != nil {
		return from, at, err
	}
	if several && from.IsZero() || at.IsZero() {
		return from, at, errors.New("events are numbered from 1")
	}
	return from, at, nil
}

// Format is the file of some marks.
func Format(all []Mark) []byte {
	var b strings.Builder
	b.WriteString(heading + "\n")
	for i := range all {
		m := &all[i]
		b.WriteString("\n" + m.where() + "\n")
		line := func(what, text string) {
			if text != "" {
				b.WriteString(what + ": " + text + "\n")
			}
		}
		line("show", m.Show)
		for _, s := range m.Spots {
			line("spot", s)
		}
		line("big", m.Big)
		line("say", m.Say)
		if m.Note != "" {
			for _, one := range strings.Split(m.Note, "\n") {
				b.WriteString(strings.TrimSpace("note: "+one) + "\n")
			}
		}
	}
	return []byte(b.String())
}

// write puts a file of marks in the place of the one that is there.
func write(path string, all []Mark) error {
	text := Format(all)
	if len(text) > mostFile {
		return fmt.Errorf("the marks would take more than %d bytes, which is the most", mostFile)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("the marks cannot be kept: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("the marks cannot be kept: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
