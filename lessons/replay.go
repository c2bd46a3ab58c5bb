package lessons

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Marks say where in the recording of a lesson's own way its beats are. The recording is for looking at:
// a cluster that stands where a beat begins cannot be made from it.
type Marks struct {
	Digest string     `json:"digest"` // of the lesson's files
	Kviz   string     `json:"kviz"`
	Seed   uint64     `json:"seed"`
	Whole  bool       `json:"whole"` // the whole check has passed, not this way alone
	Start  uint64     `json:"start"` // how many events there are before the first beat
	Beats  []BeatMade `json:"beats"`
}

// BeatMade is where one beat was over.
type BeatMade struct {
	ID string `json:"id"`
	At uint64 `json:"at"` // how many events there were
}

// A lesson's recording and its marks, beside each other in the cache or in a bundle.
const (
	RecordingFile = "beats.kvrun"
	MarksFile     = "beats.json"
)

// Folder is where the lesson's files are.
func (l *Lesson) Folder() (fs.FS, string) { return l.files, l.in }

// Shipped is a recording that came with the lesson in a bundle, and its marks; [fs.ErrNotExist] where
// there is none.
func (l *Lesson) Shipped() (recording []byte, marks []byte, err error) {
	if !l.Bundled {
		return nil, nil, fs.ErrNotExist
	}
	recording, err = fs.ReadFile(l.files, path.Join(l.in, beside+RecordingFile))
	if err == nil {
		marks, err = fs.ReadFile(l.files, path.Join(l.in, beside+MarksFile))
	}
	return recording, marks, err
}

// Marking is a [Screen] that takes marks for another one, which may be nil.
type Marking struct {
	Screen Screen
	Marks  Marks
	Stream *trace.Stream // of the run that was marked last
}

// Prove implements [Screen].
func (m *Marking) Prove(look Look, h *view.History) error {
	if look.Step == 1 { // also where a trial is made once more
		m.Marks.Start, m.Marks.Beats, m.Stream = look.Beat.From, nil, h.Stream()
	}
	m.Marks.Beats = append(m.Marks.Beats, BeatMade{look.Beat.ID, h.Stream().Len()})
	if m.Screen == nil {
		return nil
	}
	return m.Screen.Prove(look, h)
}

// Cells implements [Screen].
func (m *Marking) Cells(look Look, h *view.History) []string {
	if m.Screen == nil {
		return nil
	}
	return m.Screen.Cells(look, h)
}

// ReadMarks reads marks, and refuses those of another lesson, kviz or seed.
func ReadMarks(text []byte, digest, kviz string, seed uint64) (*Marks, error) {
	var m Marks
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", MarksFile, err)
	}
	if m.Digest != digest || m.Kviz != kviz || m.Seed != seed {
		return nil, fmt.Errorf("the recording is of another lesson, kviz or seed: %w", fs.ErrNotExist)
	}
	return &m, nil
}

// Replay goes through a lesson by its recording, and has screen look at each beat where it stood.
func (l *Lesson) Replay(events []*trace.Event, marks *Marks, screen Screen) error {
	if len(marks.Beats) != len(l.Steps) {
		return errors.New("the recording has other beats than the lesson")
	}
	stream := trace.NewStream(len(events) + 1)
	feed := func(to uint64) error {
		if to > uint64(len(events)) || to < stream.Len() {
			return errors.New("the marks of the recording are not in it")
		}
		for _, e := range events[stream.Len():to] {
			stream.Append(e)
		}
		return nil
	}
	if err := feed(marks.Start); err != nil {
		return err
	}
	h := view.NewHistory(stream)
	h.CatchUp(0)
	a := NewAttempt(l, h.Latest(), stream, h.Len())
	var wrong []error
	revealed := map[string]bool{}
	for i, step := range l.Steps {
		if marks.Beats[i].ID != step.ID {
			return fmt.Errorf("the recording has the beat %q where the lesson has %q", marks.Beats[i].ID, step.ID)
		}
		if err := feed(marks.Beats[i].At); err != nil {
			return err
		}
		for a.Look() {
		}
		if a.Err() != nil {
			return fmt.Errorf("beat %q: %w", step.ID, a.Err())
		}
		h.CatchUp(0)
		if err := screen.Prove(a.shows(i, revealed), h); err != nil {
			wrong = append(wrong, fmt.Errorf("beat %q: %w", step.ID, err))
		}
		if i+1 < len(l.Steps) {
			a.Enter(i + 1)
		}
	}
	return errors.Join(wrong...)
}

// shows is what the beat under way shows now, to somebody who looks at it alone and has answered nothing; of what
// is revealed for the first time every answer stands there.
func (a *Attempt) shows(beat int, revealed map[string]bool) (look Look) {
	p := begins(a, 1, uint64(beat))
	p.look(&look, 0)
	p.everyGhost(look.Beat, a.reveals(revealed))
	look.Active, look.ID, look.Title = true, a.Lesson.ID, a.Lesson.Title
	return look
}
