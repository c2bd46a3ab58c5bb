package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/stage"
	"kviz/tui/theme"
)

// cast goes through a lesson by what it offers, and writes what its beats show, or those between two
// of them (crash..write), as a recording for asciinema.
func (p *proving) cast(ctx context.Context, w io.Writer, l *lessons.Lesson, beats, to, name string, seed uint64) error {
	if to == "" {
		return &usageError{text: "say into which file: -o FILE.cast", command: "lesson"}
	}
	format := cmp.Or(p.format, stage.CastFormats[0])
	if !slices.Contains(stage.CastFormats, format) {
		return &usageError{text: unknownFormat(format, stage.CastFormats), command: "lesson"}
	}
	cols, rows, err := p.columns()
	if err != nil {
		return err
	}
	from, until, ranged := strings.Cut(beats, "..")
	if !ranged {
		until = from
	}
	for _, beat := range []string{from, until} {
		if beat == "" {
			continue
		}
		if err := hasBeat(l, beat); err != nil {
			return err
		}
	}
	if order := indexOf(l, from) > indexOf(l, until); from != "" && until != "" && order {
		return fmt.Errorf("beat %q comes after %q: name the first one first", from, until)
	}
	cast := stage.NewCast(panes.All, cols, rows, theme.Named(name), from, until)
	if err := throughBeats(ctx, l, seed, cast); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := cast.Write(&out, format); err != nil {
		return err
	}
	if err := writeWhole(to, out.Bytes()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s shows %s (%d KiB): asciinema play %s\n", to, l.ID, (out.Len()+1023)/1024, to)
	return err
}

func indexOf(l *lessons.Lesson, beat string) int {
	return slices.IndexFunc(l.Steps, func(s *lessons.Step) bool { return s.ID == beat })
}

// writeWhole writes a file as a whole or not at all, for its owner alone: a run is in it.
func writeWhole(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
