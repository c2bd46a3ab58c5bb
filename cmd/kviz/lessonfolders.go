package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"kviz/lessons"
)

// lessonFolders are the folders of lessons beside kviz' own: those of the flag, else those of
// the variable.
type lessonFolders struct{ given []string }

// lessonsVariable names folders of lessons, separated as in PATH.
const lessonsVariable = "KVIZ_LESSONS"

func (l *lessonFolders) register(f *pflag.FlagSet) {
	f.StringArrayVar(&l.given, "lessons", nil, "a folder of lessons, or one lesson's own, beside kviz'; may be given again (default: $"+lessonsVariable+")")
}

// sources opens the folders; one that is not there is refused.
func (l *lessonFolders) sources() ([]lessons.Source, error) {
	dirs, by := l.given, "--lessons"
	if len(dirs) == 0 {
		dirs, by = filepath.SplitList(os.Getenv(lessonsVariable)), lessonsVariable
	}
	var all []lessons.Source
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s: there is no folder %q", by, dir)
		}
		all = append(all, lessons.Source{Name: dir, FS: os.DirFS(dir)})
	}
	return all, nil
}
