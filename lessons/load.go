package lessons

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"kviz/cluster/nearest"
)

// Source is a folder of lessons beside kviz' own.
type Source struct {
	Name string // the folder, as whoever named it writes it
	FS   fs.FS

	Bundled bool // it is one file, from somebody whom the learner need not know
}

// Load reads every lesson under fsys, which has kviz' own, and then those of more folders, and
// proves what can be proven without a cluster: its
// expressions compile, and it shows no panes but those that the explorer has. A mistake
// is reported with its place; the other lessons are still returned.
//
// A lesson of a later folder stands in the place of one that has the same id; the scripts of all
// may use the functions of fsys. A folder holds lessons, or is one.
func Load(fsys fs.FS, panes []string, more ...Source) ([]*Lesson, error) {
	return readAll(fsys, more, reader{prove: true, panes: panes})
}

// Read is Load for somebody who first wants a list: of each lesson it reads what stands
// before its beats. [Lesson.Whole] reads the rest, once the lesson is begun; nothing is
// proven, and an expression is compiled when it is first asked for.
func Read(fsys fs.FS, more ...Source) ([]*Lesson, error) { return readAll(fsys, more, reader{}) }

// readAll reads the lessons: one folder each, with lesson.md,
// setup.sh and, if there are any, cleanup.sh, accepted/*.sh and
// near-miss/*.sh. Lessons come in the order of their folders' names.
//
// What scripts have in common stands once: words.sh beside the folders holds
// functions for all of them, words.sh in a folder those of its lesson.
func readAll(own fs.FS, more []Source, r reader) ([]*Lesson, error) {
	words, err := ifThere(own, wordsFile)
	if err != nil {
		return nil, fmt.Errorf("lessons: %w", err)
	}
	all, err := r.source(Source{FS: own}, words)
	wrong := []error{err}
	for _, from := range more {
		words, err := sharedWords(own, from)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		found, err := r.source(from, words)
		wrong = append(wrong, err)
		for _, l := range found {
			if i := slices.IndexFunc(all, func(o *Lesson) bool { return o.ID == l.ID }); i >= 0 {
				l.Replaces = true
				all[i] = l
			} else {
				all = append(all, l)
			}
		}
	}
	if r.prove {
		wrong = append(wrong, needs(all, errors.Join(wrong...) == nil))
	}
	return all, errors.Join(wrong...)
}

// sharedWords are the functions that the scripts of a folder may use: those of kviz' own lessons, and its own.
func sharedWords(own fs.FS, from Source) (string, error) {
	words, err := ifThere(own, wordsFile)
	if err != nil {
		return "", fmt.Errorf("lessons: %w", err)
	}
	theirs, err := ifThere(from.FS, wordsFile)
	if err != nil {
		return "", fmt.Errorf("lessons of %s: %w", from.Name, err)
	}
	return words + theirs, nil
}

// needs refuses lessons that need each other in a ring, and, where all could be read, one that
// needs what there is not.
func needs(all []*Lesson, whole bool) error {
	byID := map[string]*Lesson{}
	var known []string
	for _, l := range all {
		byID[l.ID] = l
		known = append(known, l.ID)
	}
	var wrong []error
	done := map[string]bool{}
	var walk func(l *Lesson, way []string)
	walk = func(l *Lesson, way []string) {
		if i := slices.Index(way, l.ID); i >= 0 {
			wrong = append(wrong, fmt.Errorf("lessons need each other in a ring: %s", strings.Join(append(way[i:], l.ID), ", ")))
			return
		}
		if done[l.ID] {
			return
		}
		for _, id := range l.Needs {
			need := byID[id]
			switch {
			case need != nil:
				walk(need, append(slices.Clone(way), l.ID))
			case whole:
				text := fmt.Sprintf("lesson %s needs %q, which there is not", l.ID, id)
				if near := nearest.To(id, known); near != "" {
					text += fmt.Sprintf("; did you mean %q?", near)
				}
				wrong = append(wrong, errors.New(text))
			}
		}
		done[l.ID] = true
	}
	for _, l := range all {
		walk(l, nil)
	}
	return errors.Join(wrong...)
}

// source reads the lessons of one folder.
func (r reader) source(from Source, words string) ([]*Lesson, error) {
	dirs, err := from.folders()
	if err != nil {
		return nil, err
	}
	var all []*Lesson
	var wrong []error
	ids := map[string]string{}
	for _, dir := range dirs {
		l, err := r.read(from, dir, words)
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

// folders are those of a source that hold a lesson each; "." where it is one itself.
func (from Source) folders() ([]string, error) {
	if _, err := fs.Stat(from.FS, lessonFile); err == nil {
		return []string{"."}, nil
	}
	entries, err := fs.ReadDir(from.FS, ".")
	if err != nil {
		return nil, fmt.Errorf("lessons: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		if _, err := fs.Stat(from.FS, path.Join(e.Name(), lessonFile)); err == nil || from.Name == "" && e.IsDir() {
			dirs = append(dirs, e.Name())
		}
	}
	if len(dirs) == 0 && from.Name != "" {
		return nil, fmt.Errorf("there is no lesson in %s: a lesson is a folder with %s; kviz lesson new makes one", from.Name, lessonFile)
	}
	return dirs, nil
}

// file is the name of a file of a lesson as its author knows it.
func (from Source) file(dir, name string) string {
	if from.Name == "" {
		return path.Join(dir, name)
	}
	return filepath.Join(from.Name, filepath.FromSlash(dir), name)
}

// lessonFile is the text of a lesson.
const lessonFile = "lesson.md"

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
func (r reader) read(from Source, dir, words string) (*Lesson, error) {
	if r.prove {
		return r.lesson(from, dir, words)
	}
	name := from.file(dir, lessonFile)
	text, err := fs.ReadFile(from.FS, path.Join(dir, lessonFile))
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", dir, err)
	}
	l, err := r.parser(name, text).head()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l.dir, l.From, l.Bundled, l.beats = from.file(dir, ""), from.Name, from.Bundled, beatIDs(text)
	l.files, l.in = from.FS, dir
	l.rest = sync.OnceValues(func() (*Lesson, error) { return r.lesson(from, dir, words) })
	return l, nil
}

func (r reader) lesson(from Source, dir, words string) (*Lesson, error) {
	fsys, name := from.FS, from.file(dir, "")
	text, err := fs.ReadFile(fsys, path.Join(dir, lessonFile))
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", name, err)
	}
	l, err := r.parse(from.file(dir, lessonFile), text)
	if err != nil {
		return nil, err
	}
	l.dir, l.From, l.Bundled, l.beats = name, from.Name, from.Bundled, beatIDs(text)
	l.files, l.in = fsys, dir
	own := "" // of a folder that is a lesson itself they are among words already
	if dir != "." {
		if own, err = ifThere(fsys, path.Join(dir, wordsFile)); err != nil {
			return nil, fmt.Errorf("lesson %s: %w", name, err)
		}
	}
	l.Words = words + own
	for script, into := range map[string]*string{"setup.sh": &l.Setup, "cleanup.sh": &l.Cleanup} {
		if *into, err = ifThere(fsys, path.Join(dir, script)); err != nil {
			return nil, fmt.Errorf("lesson %s: %w", name, err)
		}
	}
	if l.Accepted, err = scripts(fsys, path.Join(dir, "accepted")); err != nil {
		return nil, err
	}
	if l.Near, err = scripts(fsys, path.Join(dir, "near-miss")); err != nil || !r.prove {
		return l, err
	}
	return l, l.checkScripts()
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

var headForm = regexp.MustCompile(`(?m)^### .*\{#([a-z0-9-]+)\} (?:see|predict|do|break|free)\b`)

// beatIDs are the beats of a lesson, in their order, without reading them.
func beatIDs(text []byte) (all []string) {
	for _, m := range headForm.FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	return all
}
