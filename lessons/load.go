package lessons

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
)

// Load reads every lesson under fsys and proves what can be proven without a cluster: its
// expressions compile, and it shows no panes but those that the explorer has. A mistake
// is reported with its place; the other lessons are still returned.
func Load(fsys fs.FS, panes []string) ([]*Lesson, error) {
	return readAll(fsys, reader{prove: true, panes: panes})
}

// Read is Load for somebody who first wants a list: of each lesson it reads what stands
// before its steps. [Lesson.Whole] reads the rest, once the lesson is begun; nothing is
// proven, and an expression is compiled when it is first asked for.
func Read(fsys fs.FS) ([]*Lesson, error) { return readAll(fsys, reader{}) }

// readAll reads the lessons: one folder each, with lesson.md,
// setup.sh, solution.sh and, if there are any, cleanup.sh, accepted/*.sh and
// near-miss/*.sh. Lessons come in the order of their folders' names.
//
// What scripts have in common stands once: words.sh beside the folders holds
// functions for all of them, words.sh in a folder those of its lesson.
func readAll(fsys fs.FS, r reader) ([]*Lesson, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("lessons: %w", err)
	}
	words, err := ifThere(fsys, wordsFile)
	if err != nil {
		return nil, fmt.Errorf("lessons: %w", err)
	}
	var all []*Lesson
	var wrong []error
	ids := map[string]string{}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		l, err := r.read(fsys, e.Name(), words)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if other, twice := ids[l.ID]; twice {
			wrong = append(wrong, fmt.Errorf("lessons %s and %s have the same id %q", other, l.dir, l.ID))
			continue
		}
		ids[l.ID] = l.dir
		all = append(all, l)
	}
	return all, errors.Join(wrong...)
}

// wordsFile holds the functions that scripts share.
const wordsFile = "words.sh"

// ifThere reads a file that need not be there.
func ifThere(fsys fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// read reads a lesson, or the head of one that nothing is to be proven of.
func (r reader) read(fsys fs.FS, dir, words string) (*Lesson, error) {
	if r.prove {
		return r.lesson(fsys, dir, words)
	}
	name := path.Join(dir, "lesson.md")
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", dir, err)
	}
	l, err := r.parser(name, text).head()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l.dir = dir
	l.rest = sync.OnceValues(func() (*Lesson, error) { return r.lesson(fsys, dir, words) })
	return l, nil
}

func (r reader) lesson(fsys fs.FS, dir, words string) (*Lesson, error) {
	text, err := fs.ReadFile(fsys, path.Join(dir, "lesson.md"))
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", dir, err)
	}
	l, err := r.parse(path.Join(dir, "lesson.md"), text)
	if err != nil {
		return nil, err
	}
	l.dir = dir
	own, err := ifThere(fsys, path.Join(dir, wordsFile))
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", dir, err)
	}
	l.Words = words + own
	for name, into := range map[string]*string{"setup.sh": &l.Setup, "solution.sh": &l.Solution, "cleanup.sh": &l.Cleanup} {
		if *into, err = ifThere(fsys, path.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("lesson %s: %w", dir, err)
		}
	}
	if l.Solution == "" {
		return nil, fmt.Errorf("lesson %s has no solution.sh", dir)
	}
	if l.Accepted, err = scripts(fsys, path.Join(dir, "accepted")); err != nil {
		return nil, err
	}
	l.Near, err = scripts(fsys, path.Join(dir, "near-miss"))
	return l, err
}

func scripts(fsys fs.FS, dir string) (map[string]string, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.sh"))
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, n := range names {
		b, err := fs.ReadFile(fsys, n)
		if err != nil {
			return nil, err
		}
		all[path.Base(n)] = string(b)
	}
	return all, nil
}
