package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"kviz/lessons"
)

// lessonFolders are the folders of lessons beside kviz' own: those of the flag, else those of
// the variable; and the language of the texts.
type lessonFolders struct {
	given []string
	lang  string // "" is the one that a lesson was written in
}

// lessonsVariable names folders of lessons, separated as in PATH.
const lessonsVariable = "KVIZ_LESSONS"

func (l *lessonFolders) register(f *pflag.FlagSet) {
	f.StringArrayVar(&l.given, "lessons", nil, "a folder of lessons, one lesson's own, or a bundle (*.kvlesson), beside kviz'; may be given again (default: $"+lessonsVariable+")")
	f.StringVar(&l.lang, "lang", "", "the language of the lessons' texts, as far as they are there in it: de")
}

// translate puts the texts of the language in the place of those that lessons were written with.
func (l *lessonFolders) translate(all []*lessons.Lesson) error {
	if l.lang == "" {
		return nil
	}
	return lessons.In(l.lang, all)
}

// sources opens the folders; one that is not there is refused.
func (l *lessonFolders) sources() ([]lessons.Source, error) {
	dirs, by := l.given, "--lessons"
	if len(dirs) == 0 {
		dirs, by = filepath.SplitList(os.Getenv(lessonsVariable)), lessonsVariable
	}
	var all []lessons.Source
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err == nil && info.Mode().IsRegular() && lessons.IsBundle(dir) {
			from, err := openBundle(dir, info.Size())
			if err != nil {
				return nil, err
			}
			all = append(all, from)
			continue
		}
		if err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s: there is no folder %q, and no bundle (*%s)", by, dir, lessons.BundleNames)
		}
		all = append(all, lessons.Source{Name: dir, FS: os.DirFS(dir)})
	}
	return all, nil
}
