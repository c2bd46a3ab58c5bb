package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/pflag"

	"kviz/assets"
	"kviz/cluster/glossary"
	"kviz/lessons"
	"kviz/tui"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// watchLesson plays a lesson while its author writes it: whenever a file of its folder is saved, it begins
// again at its beat, or the stage says what is wrong with what was saved.
func watchLesson(ctx context.Context, io streams, args []string, s *shape, flags *pflag.FlagSet, look tui.Config) error {
	if len(args) != 1 {
		return &usageError{text: "name the folder of a lesson, and the beat to begin at if you like: L50-my-topic#why", command: "lesson"}
	}
	dir, beat, _ := strings.Cut(args[0], "#")
	own, err := lessons.Read(assets.Lessons())
	if err != nil {
		return err
	}
	w := &watchedLesson{dir: dir, own: own}
	all, l, err := w.read()
	if err != nil {
		return err
	}
	if beat != "" {
		if err := hasBeat(l, beat); err != nil {
			return err
		}
	}
	s.sceneOf(l.Scene, flags)
	look.Lesson = l.ID + "#" + beat
	return screenOf(ctx, io, s, &endpoints{etcdPort: noPort}, taught{all: all, beside: w.watch}, look)
}

// watchedLesson is a folder with a lesson that somebody writes.
type watchedLesson struct {
	dir    string
	own    []*lessons.Lesson // kviz' own, among which it stands
	digest string            // of what was read last
}

// read reads it, and proves what can be proven without a cluster.
func (w *watchedLesson) read() ([]*lessons.Lesson, *lessons.Lesson, error) {
	if info, err := os.Stat(filepath.Join(w.dir, "lesson.md")); err != nil || !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("there is no lesson in %s: a lesson is a folder with lesson.md; kviz lesson new makes one", w.dir)
	}
	from := lessons.Source{Name: w.dir, FS: os.DirFS(w.dir)}
	var err error
	if w.digest, err = lessons.Digest(from.FS, "."); err != nil {
		return nil, nil, err
	}
	all, err := lessons.Reread(assets.Lessons(), panes.Names(), w.own, from)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range all {
		if l.From == w.dir {
			return all, l, errors.Join(l.Terms(all, glossary.Words()), l.Points(stage.Pictures(panes.All)))
		}
	}
	return nil, nil, fmt.Errorf("there is no lesson in %s", w.dir)
}

// settled is how long a folder rests before it is read: an editor saves by several changes.
const settled = 40 * time.Millisecond

// watch gives a player the lesson anew whenever it is saved. It watches folders, not files: an editor
// may put a new file in the place of the old one.
func (w *watchedLesson) watch(ctx context.Context, p *lessons.Player, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("%s cannot be watched: %w", w.dir, err)
	}
	defer watcher.Close()
	add := func(dir string) error {
		return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return nil // what has gone since is not watched
			}
			return watcher.Add(name)
		})
	}
	if err := add(w.dir); err != nil {
		return fmt.Errorf("%s cannot be watched: %w", w.dir, err)
	}
	rest := time.NewTimer(0) // what was saved since it was read is read at once
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-watcher.Events:
			if !ok {
				return nil
			}
			if info, err := os.Stat(e.Name); err == nil && info.IsDir() {
				_ = add(e.Name) // one that cannot be watched is noticed with the next file
			}
			rest.Reset(settled)
		case err, ok := <-watcher.Errors:
			if !ok {
				return nil
			}
			p.Reload(nil, fmt.Errorf("%s: %w", w.dir, err))
			changed()
		case <-rest.C:
			if now, err := lessons.Digest(os.DirFS(w.dir), "."); err == nil && now == w.digest {
				continue // nothing of the lesson is another
			}
			all, _, err := w.read()
			p.Reload(all, err)
			changed()
		}
	}
}
