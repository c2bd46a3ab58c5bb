package teacher

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/grid"
)

// exportedMsg is what came of an export.
type exportedMsg struct {
	files []string
	err   error
}

func (m exportedMsg) says() string {
	if m.err != nil {
		return m.err.Error()
	}
	return "written: " + strings.Join(m.files, ", ")
}

// export writes what the class has done into new files: a table a student and beat, and what came of the polls.
func (n *Notes) export() tea.Cmd {
	st, beats, folder, now := n.cfg.Room.State(), n.cfg.Beats, n.cfg.Folder, n.cfg.Now()
	return func() tea.Msg {
		table, err := Table(beats, st)
		if err != nil {
			return exportedMsg{err: err}
		}
		polls, err := Polls(beats, st)
		if err != nil {
			return exportedMsg{err: err}
		}
		var files []string
		name := "class-" + fileName(st.Lesson) + now.Format("20060102-1504")
		for _, one := range []struct {
			ext  string
			text []byte
		}{{".csv", table}, {".json", polls}} {
			file, err := writeNew(folder, name, one.ext, one.text)
			if err != nil {
				return exportedMsg{err: fmt.Errorf("export: %w", err)}
			}
			files = append(files, file)
		}
		return exportedMsg{files: files}
	}
}

// fileName is a lesson's name as a part of a file's.
func fileName(lesson string) string {
	id, _, _ := strings.Cut(lesson, "@")
	var b strings.Builder
	for _, r := range id {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		}
	}
	if b.Len() > 0 {
		b.WriteByte('-')
	}
	return b.String()
}

// writeNew writes a file that is not there yet, for its owner alone: it has names of students.
func writeNew(folder, name, ext string, text []byte) (string, error) {
	for i := range 100 {
		file := filepath.Join(folder, name+ext)
		if i > 0 {
			file = filepath.Join(folder, fmt.Sprintf("%s-%d%s", name, i+1, ext))
		}
		out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = out.Write(text)
		return file, errors.Join(err, out.Close())
	}
	return "", fmt.Errorf("%s: there are a hundred files of this name", filepath.Join(folder, name+ext))
}

// Table is what each student did in each beat, as CSV.
func Table(beats []Beat, st *class.State) ([]byte, error) {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	_ = out.Write([]string{"nickname", "beat", "goals", "of", "hints", "shown", "undone", "seconds", "answer", "sure", "right"}) // Error below has it
	for _, s := range st.Seats {
		for _, beat := range touched(beats, &s) {
			w := s.Work[beat]
			r := []string{
				s.Name, beat, fmt.Sprint(w.Done), fmt.Sprint(w.Of), fmt.Sprint(w.Hints), fmt.Sprint(w.Shown), fmt.Sprint(w.Undone),
				fmt.Sprint(int(w.Took.Round(time.Second) / time.Second)), "", "", "",
			}
			if a, ok := s.Answers[beat]; ok {
				r[8], r[9] = cmp.Or(s.Said[beat], inDigits(a)), []string{"", "guess", "thinks so", "sure"}[min(max(a.Sure, 0), 3)]
			}
			if right, judged := s.Right[beat]; judged {
				r[10] = map[bool]string{true: "yes", false: "no"}[right]
			}
			for i := range r {
				r[i] = cell(r[i])
			}
			_ = out.Write(r)
		}
	}
	out.Flush()
	return b.Bytes(), out.Error()
}

// inDigits is an answer that nobody has put in words.
func inDigits(a lessons.Answer) string {
	switch {
	case a.Number != nil:
		return fmt.Sprint(*a.Number)
	case a.Point != "":
		return a.Point
	}
	var all []string
	for _, n := range a.Parts {
		all = append(all, fmt.Sprint(n+1))
	}
	return strings.Join(all, " ")
}

// touched are the beats of which anything is known about a student, in the order of the lesson.
func touched(beats []Beat, s *class.Seat) (all []string) {
	add := func(beat string) {
		if !slices.Contains(all, beat) {
			all = append(all, beat)
		}
	}
	for beat := range s.Work {
		add(beat)
	}
	for beat := range s.Answers {
		add(beat)
	}
	place := func(beat string) int {
		if i := slices.IndexFunc(beats, func(b Beat) bool { return b.ID == beat }); i >= 0 {
			return i
		}
		return len(beats)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	return all
}

// mostCell is how long a cell can be.
const mostCell = 1000

// cell is a text as it may stand in a table that somebody opens: without characters that a terminal obeys, and never a
// formula.
func cell(text string) string {
	text = grid.Cut(grid.Clean(text), mostCell)
	if first := strings.TrimLeft(text, " \u00a0\u3000"); first != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(first)[0]) {
		return "'" + text
	}
	return text
}

// Polls is what the class came to, without names, as JSON: what a handout takes.
func Polls(beats []Beat, st *class.State) ([]byte, error) {
	r := result{Lesson: grid.Clean(st.Lesson), Students: len(st.Seats), Polls: []polled{}}
	for _, beat := range st.Asked {
		p := st.Polls[beat]
		one := polled{Beat: beat, Answers: []answered{}}
		for _, b := range beats {
			if b.ID == beat {
				one.Question = grid.Clean(b.Ask)
			}
		}
		for _, s := range p.Answers {
			words := grid.Cut(grid.Clean(cmp.Or(s.Words, inDigits(s.Answer))), mostAnswer)
			if len(one.Answers) == mostAnswers { // the rarest are counted together
				one.Answers[mostAnswers-1].add(s.Count)
				continue
			}
			one.Answers = append(one.Answers, answered{Text: words, Count: s.Count, Right: s.Judged && s.Right})
		}
		r.Polls = append(r.Polls, one)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// What a handout takes at most.
const (
	mostAnswers = 40
	mostAnswer  = 400
)

// result is a class as the file has it.
type result struct {
	Lesson   string   `json:"lesson"`
	Students int      `json:"students"`
	Polls    []polled `json:"polls"`
}

type polled struct {
	Beat     string     `json:"beat"`
	Question string     `json:"question"`
	Answers  []answered `json:"answers"`
}

type answered struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
	Right bool   `json:"right,omitempty"`
}

// add makes an answer one of several that were rare.
func (a *answered) add(count int) {
	a.Text, a.Right = "something else", false
	a.Count += count
}
