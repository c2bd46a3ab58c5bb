package lessons

import "fmt"

// WalkLook is what a [Look] has at a walk of a teacher's own through a run, in the place of a lesson: its beats are the
// marks that were set in the run.
type WalkLook struct {
	Live  bool // the run goes on, and takes commands
	Here  bool // it stands at a mark, not between two
	Marks []MarkLook
}

// MarkLook is a mark of a walk.
type MarkLook struct{ ID, Title string }

// Place says where a lesson or a walk is: "beat 3 of 12", "mark 3 of 12"; "" where that says nothing.
func (l Look) Place() string {
	switch {
	case l.Walk != nil && l.Walk.Live && l.Beat != nil && l.Beat.Acts:
		return "now"
	case l.Steps == 0 || l.Step == 0:
		return ""
	case l.Walk == nil:
		return fmt.Sprintf("beat %d of %d", l.Step, l.Steps)
	case !l.Walk.Here:
		return fmt.Sprintf("after mark %d of %d", l.Step, l.Steps)
	}
	return fmt.Sprintf("mark %d of %d", l.Step, l.Steps)
}

// Called is what is taken by its name: a lesson with its ID.
func (l Look) Called() string {
	if l.Walk != nil {
		return l.Title
	}
	return l.ID + " " + l.Title
}

// Points refuses a pane to show and cells to ring that no picture has; show may be "" for whatever is shown already.
func Points(pictures []Picture, show string, spots []string) error {
	var stage *Picture
	if show != "" {
		var err error
		if stage, err = shows(pictures, show); err != nil {
			return err
		}
	}
	for _, name := range spots {
		if err := pointsOn(pictures, stage, "spot", name, name); err != nil {
			return err
		}
	}
	return nil
}
