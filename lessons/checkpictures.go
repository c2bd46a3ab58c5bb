package lessons

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/nearest"
)

// Picture is a pane as a lesson shows it and points at it.
type Picture struct {
	Name    string
	Views   []string
	Kinds   []string // of what it can point at: "member" of member/a
	Objects bool     // it shows an object by its kind, namespace and name
}

// Points refuses what no picture has: a pane, a view, or a kind of cells in a ring, in a ghost, among what is
// hidden or among what is asked for. Whether such a cell is there when the beat stands, the [Screen] sees.
func (l *Lesson) Points(pictures []Picture) error {
	var wrong []error
	var stage *Picture
	for _, s := range l.Steps {
		bad := func(err error) {
			if err != nil {
				wrong = append(wrong, l.wrong(s, err))
			}
		}
		if s.Stage.Show != nil {
			var err error
			stage, err = shows(pictures, s.Stage.Show.instead(inRun))
			bad(err)
		}
		for what, names := range map[string][]*Text{"spot": s.Stage.Spots, "hide": s.Stage.Hide, "point": s.pointsAt()} {
			for _, name := range names {
				bad(pointsOn(pictures, stage, what, name.instead(inRun), name.src))
			}
		}
		for _, name := range s.ghostsAt() {
			bad(pointsOn(pictures, nil, "ghost", name.instead(inRun), name.src))
		}
	}
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}

// inRun stands in a name for what is known in a run only.
const inRun = "\x00"

// shows is the picture that a beat shows.
func shows(pictures []Picture, show string) (*Picture, error) {
	name, rest, _ := strings.Cut(show, "/")
	i := slices.IndexFunc(pictures, func(p Picture) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("show: there is no pane %q%s", name, meant(name, names(pictures)))
	}
	p := &pictures[i]
	view, _, _ := strings.Cut(rest, "/")
	switch {
	case rest == "" || strings.Contains(view, inRun) || slices.Contains(p.Views, view):
		return p, nil
	case p.Objects && strings.Count(rest, "/") == 2:
		return p, nil
	case p.Objects:
		return p, fmt.Errorf("show: %s shows kind/namespace/name, or one of its views%s; not %q", name, meant(view, p.Views), rest)
	}
	return p, fmt.Errorf("show: the pane %s has no view %q%s", name, view, meant(view, p.Views))
}

// pointsOn refuses a name of cells that no picture has, or not the one on the stage, if one is. Src is the name as it is
// written.
func pointsOn(pictures []Picture, stage *Picture, what, cells, src string) error {
	of, name, _ := strings.Cut(cells, ":")
	i := slices.IndexFunc(pictures, func(p Picture) bool { return p.Name == of })
	switch {
	case i < 0:
		return fmt.Errorf("%s %q: there is no pane %q%s", what, src, of, meant(of, names(pictures)))
	case stage != nil && stage.Name != of:
		return fmt.Errorf("%s %q: %s is on the stage; want %s:NAME", what, src, stage.Name, stage.Name)
	}
	p := pictures[i]
	name, _, _ = strings.Cut(name, "#")
	kind, path, _ := strings.Cut(name, "/")
	if strings.ContainsAny(kind, inRun+"*") || slices.Contains(p.Kinds, kind) {
		return nil
	}
	if nearest.To(kind, p.Kinds) == "" && strings.Contains(path, "/") {
		return nil // any object is found by kind/namespace/name where it is drawn
	}
	return fmt.Errorf("%s %q: the pane %s has no %q to point at%s", what, src, of, kind, meant(kind, p.Kinds))
}

// meant is the nearest of the names that there are, and all of them.
func meant(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	all := ": one of " + strings.Join(known, ", ")
	if near := nearest.To(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near) + strings.Replace(all, ": one", " One", 1)
	}
	return all
}

func names(pictures []Picture) (all []string) {
	for _, p := range pictures {
		all = append(all, p.Name)
	}
	return all
}

// pointsAt are the cells that the beat's question asks for.
func (s *Step) pointsAt() []*Text {
	if s.Question == nil || s.Question.Point == nil {
		return nil
	}
	return []*Text{s.Question.Point.At}
}

// ghostsAt are the cells of which answers say something. They may be on another beat's picture.
func (s *Step) ghostsAt() (all []*Text) {
	q := s.Question
	if q == nil {
		return nil
	}
	var ghosts []*Ghost
	for _, c := range q.Choices {
		ghosts = append(ghosts, c.Ghosts...)
	}
	if q.Number != nil {
		ghosts = append(ghosts, q.Number.Ghosts...)
	}
	for _, g := range ghosts {
		all = append(all, g.At)
	}
	return all
}
