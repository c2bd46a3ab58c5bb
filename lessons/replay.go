package lessons

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Marks say where in the recording of a lesson's own way its beats are. The recording is for looking at:
// a cluster that stands where a beat begins cannot be made from it.
type Marks struct {
	Digest string     `json:"digest"` // of the lesson's files
	Kviz   string     `json:"kviz"`
	Seed   uint64     `json:"seed"`
	Whole  bool       `json:"whole"`  // the whole check has passed, not this way alone
	Played bool       `json:"played"` // it is a learner's run, of which nothing was proven, as far as the last of the beats
	Start  uint64     `json:"start"`  // how many events there are before the first beat
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
func (m *Marking) Prove(look Look, h *view.History) (time.Duration, error) {
	if look.Step == 1 { // also where a trial is made once more
		m.Marks.Start, m.Marks.Beats, m.Stream = look.Beat.From, nil, h.Stream()
	}
	m.Marks.Beats = append(m.Marks.Beats, BeatMade{look.Beat.ID, h.Stream().Len()})
	if m.Screen == nil {
		return 0, nil
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

// rerun goes through a lesson by its recording.
type rerun struct {
	*Attempt
	events  []*trace.Event
	marks   *Marks
	history *view.History
}

func (l *Lesson) rerun(events []*trace.Event, marks *Marks) (*rerun, error) {
	stream := trace.NewStream(len(events) + 1)
	r := &rerun{events: events, marks: marks, history: view.NewHistory(stream)}
	if err := r.feed(stream, marks.Start); err != nil {
		return nil, err
	}
	r.history.CatchUp(0)
	r.Attempt = NewAttempt(l, r.history.Latest(), stream, r.history.Len())
	return r, nil
}

func (r *rerun) feed(stream *trace.Stream, to uint64) error {
	if to > uint64(len(r.events)) || to < stream.Len() {
		return errors.New("the marks of the recording are not in it")
	}
	for _, e := range r.events[stream.Len():to] {
		stream.Append(e)
	}
	return nil
}

// through brings the beat under way to where it was over.
func (r *rerun) through() error {
	step, at := r.Beat()
	if at >= len(r.marks.Beats) || r.marks.Beats[at].ID != step.ID {
		return fmt.Errorf("the recording does not have the beat %q where the lesson has it", step.ID)
	}
	if err := r.feed(r.stream, r.marks.Beats[at].At); err != nil {
		return err
	}
	for r.Look() {
	}
	if r.Err() != nil {
		return fmt.Errorf("beat %q: %w", step.ID, r.Err())
	}
	return nil
}

// Replay goes through a lesson by its recording, and has screen look at each beat where it stood.
func (l *Lesson) Replay(events []*trace.Event, marks *Marks, screen Screen) error {
	_, err := l.replay(events, marks, screen)
	return err
}

// replay is [Lesson.Replay], with the attempt as it is at the end: what came of every question is known then.
func (l *Lesson) replay(events []*trace.Event, marks *Marks, screen Screen) (*Attempt, error) {
	if len(marks.Beats) != len(l.Steps) {
		return nil, errors.New("the recording has other beats than the lesson")
	}
	r, err := l.rerun(events, marks)
	if err != nil {
		return nil, err
	}
	var wrong []error
	revealed := map[string]bool{}
	for i, step := range l.Steps {
		if err := r.through(); err != nil {
			return nil, err
		}
		r.history.CatchUp(0)
		look := r.shows(i, revealed)
		if _, err := screen.Prove(look, r.history); err != nil {
			wrong = append(wrong, fmt.Errorf("beat %q: %w", step.ID, err))
		}
		if look.Beat.Point != "" {
			r.pointAmong(step, screen.Cells(look, r.history))
		}
		if i+1 < len(l.Steps) {
			r.Enter(i + 1)
		}
	}
	return r.Attempt, errors.Join(wrong...)
}

// shows is what the beat under way shows now, to somebody who looks at it alone and has answered nothing; of what
// is revealed for the first time every answer stands there.
func (a *Attempt) shows(beat int, revealed map[string]bool) (look Look) {
	p := begins(a, 1, uint64(beat))
	p.look(&look, 0)
	p.everyGhost(look.Beat, a.reveals(revealed))
	look.Active, look.ID, look.Title, look.Version = true, a.Lesson.ID, a.Lesson.Title, a.Lesson.Version
	return look
}
