package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kviz/lessons"
	"kviz/lessons/convert"
)

// convertLesson writes a draft in beats beside a lesson of format 1.
func convertLesson(w io.Writer, args []string) error {
	if len(args) != 1 {
		return &usageError{text: "name the folder of a lesson of format 1", command: "lesson"}
	}
	dir := filepath.Clean(args[0])
	fsys := os.DirFS(dir)
	names, err := lessons.Files(fsys, ".")
	if err != nil {
		return err
	}
	old := convert.Files{}
	for _, name := range names {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		old[name] = string(b)
	}
	draft, err := convert.Draft(old)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	to := dir + "-in-beats"
	if err := os.Mkdir(to, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already, and is left as it is", to)
		}
		return err
	}
	var written []string
	for name := range draft {
		written = append(written, name)
	}
	slices.Sort(written)
	for _, name := range written {
		at := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(draft[name]), 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%s has a draft in beats; %d places in it say %s what is for you to decide\n", to, strings.Count(draft["lesson.md"], convert.Mark), convert.Mark)
	return err
}
