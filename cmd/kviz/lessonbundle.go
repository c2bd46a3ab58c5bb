package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kviz/assets"
	"kviz/lessons"
)

// bundleLesson puts a lesson's folder into one file for others. A lesson whose text is wrong is refused; that
// all of it was proven is said where its recording is there (kviz lesson check --record).
func bundleLesson(w io.Writer, args []string, to string, seed uint64) error {
	if len(args) != 1 {
		return &usageError{text: "name the folder of a lesson", command: "lesson"}
	}
	if to == "" || !lessons.IsBundle(to) {
		return &usageError{text: "say into which file: -o NAME" + lessons.BundleNames, command: "lesson"}
	}
	own, err := lessons.Read(assets.Lessons())
	if err != nil {
		return err
	}
	dir := args[0]
	_, l, err := (&watchedLesson{dir: dir, own: own}).read()
	if err != nil {
		return err
	}
	fsys := os.DirFS(dir)
	if err := onlyFiles(fsys, dir); err != nil {
		return err
	}
	about := lessons.Bundle{ID: l.ID, Title: l.Title, Version: l.Version, Kviz: version()}
	more, err := recordedFiles(fsys, seed)
	switch {
	case err == nil:
		about.Whole = true
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var out bytes.Buffer
	if err := lessons.WriteBundle(&out, fsys, about, more); err != nil {
		return err
	}
	if _, _, err := lessons.OpenBundle(to, out.Bytes()); err != nil {
		return err // whoever gets it could not open it either
	}
	if err := writeWhole(to, out.Bytes()); err != nil {
		return err
	}
	proven := "proven whole, with its recording"
	if !about.Whole {
		proven = fmt.Sprintf("its text is proven, its beats are not: first kviz lesson check %s --record --lessons %s", l.ID, dir)
	}
	_, err = fmt.Fprintf(w, "%s has %s %s (%d KiB); %s\n  kviz lesson start %s --lessons %[1]s\n", to, l.ID, l.Title, (out.Len()+1023)/1024, proven, l.ID)
	return err
}

// onlyFiles refuses a folder with anything that a bundle cannot have.
func onlyFiles(fsys fs.FS, dir string) error {
	names, err := lessons.Files(fsys, ".")
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file; a bundle has files only", filepath.Join(dir, name))
		}
	}
	return nil
}

// openBundle opens the bundle in a file, which is not read where it is too large for one.
func openBundle(name string, size int64) (lessons.Source, error) {
	if size > lessons.MostBundle {
		return lessons.Source{}, fmt.Errorf("bundle %s: it has %d MiB; a lesson has %d at most", name, size>>20, lessons.MostBundle>>20)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return lessons.Source{}, err
	}
	from, _, err := lessons.OpenBundle(strings.TrimPrefix(name, "./"), b)
	return from, err
}
