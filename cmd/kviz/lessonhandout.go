package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kviz/cluster/nearest"
	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/class/result"
	"kviz/tui/handout"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// handoutFormats are what a handout is written as.
var handoutFormats = []string{"html", "md", "txt"}

// handoutFormat is what is asked for: by name, else by how the file is called, else a page.
func (p *proving) handoutFormat() (string, error) {
	format := p.format
	if format == "" {
		format = strings.TrimPrefix(filepath.Ext(p.output), ".")
		if !slices.Contains(handoutFormats, format) {
			return handoutFormats[0], nil
		}
	}
	if !slices.Contains(handoutFormats, format) {
		return "", &usageError{text: unknownFormat(format, handoutFormats), command: "lesson"}
	}
	return format, nil
}

func unknownFormat(format string, known []string) string {
	text := fmt.Sprintf("--format %s: one of %s", format, strings.Join(known, ", "))
	if near := nearest.To(format, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// handout writes a lesson for taking home, with the pictures and values of one run.
func (p *proving) handout(ctx context.Context, w io.Writer, l *lessons.Lesson, notes bool, seed uint64) error {
	format, err := p.handoutFormat()
	if err != nil {
		return err
	}
	cols, rows, err := p.columns()
	if err != nil {
		return err
	}
	h := &handout.Handout{Lesson: l, Notes: notes, Kviz: version(), Seed: seed}
	if p.class != "" {
		if h.Class, err = readClass(p.class, l); err != nil {
			return err
		}
	}
	stills := stage.NewStills(panes.All, cols, rows)
	var sheets []lessons.Sheet
	err = withRecording(ctx, l, seed, func(events []*trace.Event, marks *lessons.Marks) error {
		sheets, err = l.Sheets(events, marks, stills)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range sheets {
		h.Beats = append(h.Beats, handout.Beat{Sheet: s, Picture: stills.Of(s.ID)})
	}
	var out bytes.Buffer
	write := map[string]func(io.Writer) error{"html": h.HTML, "md": h.Markdown, "txt": h.Text}[format]
	if err := write(&out); err != nil {
		return err
	}
	if p.output == "" {
		_, err := w.Write(out.Bytes())
		return err
	}
	if err := writeWhole(p.output, out.Bytes()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s has %s, %d beats (%d KiB)\n", p.output, l.ID, len(h.Beats), (out.Len()+1023)/1024)
	return err
}

// handoutOf writes a lesson for taking home as a page into a new file of the working directory, and gives its name.
func handoutOf(ctx context.Context, all []*lessons.Lesson, id string) (string, error) {
	l, err := oneLesson(all, []string{id})
	if err == nil {
		l, err = l.Whole()
	}
	if err != nil {
		return "", err
	}
	p := proving{size: "80x24", output: strings.ToLower(l.ID) + ".html"}
	for n := 2; ; n++ {
		if _, err := os.Lstat(p.output); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil || n > 100 {
			return "", errors.Join(err, fmt.Errorf("%s is there already", p.output))
		}
		p.output = fmt.Sprintf("%s-%d.html", strings.ToLower(l.ID), n)
	}
	return p.output, p.handout(ctx, io.Discard, l, false, 1)
}

// readClass reads what a class came to, which must have taken the lesson.
func readClass(name string, l *lessons.Lesson) (*result.Class, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--class: %w", err)
	}
	defer f.Close()
	c, err := result.Read(f)
	if err != nil {
		return nil, fmt.Errorf("--class %s: %w", name, err)
	}
	if id, _, _ := strings.Cut(c.Lesson, "@"); !strings.EqualFold(id, l.ID) {
		return nil, fmt.Errorf("--class %s: it is of a class that took %s, not %s", name, c.Lesson, l.ID)
	}
	return c, nil
}
