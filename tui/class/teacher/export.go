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
	"kviz/tui/class/result"
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
	c := result.Class{Lesson: grid.Clean(st.Lesson), Students: len(st.Seats), Polls: []result.Poll{}}
	for _, beat := range st.Asked {
		one := result.Poll{Beat: beat, Answers: []result.Answer{}}
		for _, b := range beats {
			if b.ID == beat {
				one.Question = grid.Clean(b.Ask)
			}
		}
		for _, s := range st.Polls[beat].Answers {
			one.Add(result.Answer{Text: cmp.Or(s.Words, inDigits(s.Answer)), Count: s.Count, Right: s.Judged && s.Right})
		}
		c.Polls = append(c.Polls, one)
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}
