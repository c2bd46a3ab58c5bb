package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"kviz/assets"
	"kviz/cluster/nearest"
)

// folderForm is the name of a lesson's folder: its id, then its title's words.
var folderForm = regexp.MustCompile(`^([A-Z][0-9]+[a-z]?)((?:-[a-z0-9]+)+)$`)

// newLesson writes a small lesson that passes the check into a new folder.
func newLesson(w io.Writer, args []string) error {
	if len(args) != 1 {
		return &usageError{text: "say what the lesson is called, such as L50-my-topic", command: "lesson"}
	}
	dir := args[0]
	m := folderForm.FindStringSubmatch(filepath.Base(dir))
	if m == nil {
		return fmt.Errorf("%q is no name for a lesson: want an id and words, such as L50-my-topic", filepath.Base(dir))
	}
	words := strings.ReplaceAll(strings.TrimPrefix(m[2], "-"), "-", " ")
	data := struct{ ID, Title string }{m[1], strings.ToUpper(words[:1]) + words[1:]}
	err := copyLesson(assets.NewLesson(), ".", dir, func(text []byte) ([]byte, error) {
		t, err := template.New("").Parse(string(text))
		if err != nil {
			return nil, err
		}
		var out strings.Builder
		err = t.Execute(&out, data)
		return []byte(out.String()), err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s has a lesson that passes; change it, then\n  kviz lesson check %s --lessons %s\n  kviz lesson start %[2]s --lessons %[3]s\n", dir, data.ID, dir)
	return nil
}

// editLesson copies one of kviz' own lessons into a new folder of the working directory.
func editLesson(w io.Writer, args []string) error {
	if len(args) != 1 {
		return &usageError{text: "name one lesson", command: "lesson"}
	}
	entries, err := fs.ReadDir(assets.Lessons(), ".")
	if err != nil {
		return err
	}
	var known []string
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), "-")
		if !e.IsDir() {
			continue
		}
		if !strings.EqualFold(id, args[0]) {
			known = append(known, id)
			continue
		}
		if err := copyLesson(assets.Lessons(), e.Name(), e.Name(), nil); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s has a copy of it, which is shown in its place with\n  kviz lesson start %s --lessons %[1]s\n", e.Name(), id)
		return nil
	}
	text := fmt.Sprintf("kviz has no lesson %q: one of %s", args[0], strings.Join(known, ", "))
	if near := nearest.To(args[0], known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return errors.New(text)
}

// copyLesson copies the files under from in fsys into a folder that is not there yet, through
// change where it is given.
func copyLesson(fsys fs.FS, from, dir string, change func([]byte) ([]byte, error)) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already, and is left as it is", dir)
		}
		return err
	}
	return fs.WalkDir(fsys, from, func(name string, e fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, from), "/")
		if err != nil || rel == "" || name == "." {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(rel))
		if e.IsDir() {
			return os.Mkdir(to, 0o755)
		}
		text, err := fs.ReadFile(fsys, name)
		if err == nil && change != nil && path.Ext(name) == ".md" {
			text, err = change(text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return os.WriteFile(to, text, 0o644)
	})
}
