package lessons

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// Progress is what a learner has done, kept in one small file. Nothing of it is sent anywhere.
type Progress struct {
	Version int             `json:"version"`
	Lessons map[string]Mark `json:"lessons"`
	Recall  []Due           `json:"recall,omitempty"`
	Seed    uint64          `json:"seed,omitempty"` // by which answers are laid out for this learner

	path string
	old  []byte // what the file was in version 1, until it is written anew
	now  func() time.Time
}

// Mark is how far one lesson is.
type Mark struct {
	Done     bool                `json:"done,omitempty"`
	Finished *time.Time          `json:"finished,omitempty"` // when it was done first
	Of       int                 `json:"lesson_version,omitempty"`
	Step     string              `json:"beat,omitempty"` // where it was left
	Hints    int                 `json:"hints,omitempty"`
	Beats    map[string]BeatMark `json:"beats,omitempty"`
}

// BeatMark is what a learner did in one beat.
type BeatMark struct {
	Goals   map[string]string `json:"goals,omitempty"` // done or shown, by goal
	Hints   int               `json:"hints,omitempty"`
	Shown   bool              `json:"shown,omitempty"` // kviz did it
	Undone  int               `json:"undone,omitempty"`
	Seconds int               `json:"seconds,omitempty"`
	Right   *bool             `json:"right,omitempty"` // of a prediction; nil until it is answered
	Sure    int               `json:"sure,omitempty"`  // 1 guess, 2 thinks so, 3 sure; 0 not said
	Said    *Said             `json:"said,omitempty"`  // the answer; it stands when the beat is entered once more
}

// progressVersion is the version of the file. Version 1 had a lesson's step and no beats.
const progressVersion = 2

// ProgressPath is where the progress of this user lies:
// $XDG_STATE_HOME/kviz/progress.json, by default under ~/.local/state.
func ProgressPath() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("lessons: where to keep progress: %w", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "kviz", "progress.json"), nil
}

// NewProgress is that of somebody who has done nothing, and is written nowhere. now tells the time
// by which questions come back.
func NewProgress(now func() time.Time) *Progress {
	return &Progress{Version: progressVersion, Lessons: map[string]Mark{}, now: now}
}

// LoadProgress reads the progress at a path; a file that is not there is no
// progress yet. A file that cannot be understood is an error, and is kept: it
// is the learner's. The progress returned then is not written. A file of version 1 is kept
// beside the new one, as progress.v1.json.
func LoadProgress(path string) (*Progress, error) {
	p := NewProgress(time.Now)
	p.path = path
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = p.read(b)
	}
	if err != nil {
		p.path = ""
		return p, fmt.Errorf("lessons: progress in %s: %w", path, err)
	}
	return p, nil
}

func (p *Progress) read(b []byte) error {
	if err := json.Unmarshal(b, p); err != nil {
		return err
	}
	if p.Lessons == nil {
		p.Lessons = map[string]Mark{}
	}
	switch p.Version {
	case progressVersion:
		return nil
	case 1:
		var first struct {
			Lessons map[string]struct {
				Step string `json:"step"`
			} `json:"lessons"`
		}
		if err := json.Unmarshal(b, &first); err != nil {
			return err
		}
		for id, m := range p.Lessons {
			m.Step = first.Lessons[id].Step
			p.Lessons[id] = m
		}
		p.Version, p.old = progressVersion, b
		return nil
	}
	return fmt.Errorf("it has version %d, this kviz knows %d", p.Version, progressVersion)
}

// left notes where a lesson was left.
func (p *Progress) left(id, step string) error {
	m := p.Lessons[id]
	if m.Step == step {
		return nil
	}
	m.Step = step
	p.Lessons[id] = m
	return p.write()
}

// done notes that a lesson is done.
func (p *Progress) done(l *Lesson) error {
	m := p.Lessons[l.ID]
	if m.Done && m.Finished != nil {
		return nil
	}
	at := p.now().UTC().Truncate(time.Second)
	m.Done, m.Finished, m.Of = true, &at, l.Version
	p.Lessons[l.ID] = m
	p.plan(l, at)
	return p.write()
}

// anew forgets what was done in the beats of a lesson that is taken once more.
func (p *Progress) anew(id string) error {
	m := p.Lessons[id]
	if len(m.Beats) == 0 {
		return nil
	}
	m.Beats, m.Hints = nil, 0
	p.Lessons[id] = m
	return p.write()
}

// beat changes what is kept of a beat.
func (p *Progress) beat(lesson, beat string, change func(*BeatMark)) error {
	m := p.Lessons[lesson]
	m.Beats = maps.Clone(m.Beats)
	if m.Beats == nil {
		m.Beats = map[string]BeatMark{}
	}
	b := m.Beats[beat]
	change(&b)
	m.Beats[beat] = b
	p.Lessons[lesson] = m
	return p.write()
}

// hint counts a hint that was given.
func (p *Progress) hint(lesson, step string) error {
	m := p.Lessons[lesson]
	m.Hints++
	p.Lessons[lesson] = m
	return p.beat(lesson, step, func(b *BeatMark) { b.Hints++ })
}

// shuffles gives a learner whose progress is kept an order of answers of their own, once.
func (p *Progress) shuffles() error {
	if p.path == "" || p.Seed != 0 {
		return nil
	}
	p.Seed = rand.Uint64N(1<<32) + 1
	return p.write()
}

// write replaces the file: the old one stays whole until the new one is.
func (p *Progress) write() error {
	if p.path == "" {
		return nil
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("lessons: progress: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return fmt.Errorf("lessons: progress: %w", err)
	}
	if p.old != nil {
		if err := replace(filepath.Join(filepath.Dir(p.path), "progress.v1.json"), p.old); err != nil {
			return err
		}
		p.old = nil
	}
	return replace(p.path, append(b, '\n'))
}

// replace puts a file in place of another as a whole.
func replace(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "progress-*")
	if err != nil {
		return fmt.Errorf("lessons: progress: %w", err)
	}
	defer os.Remove(f.Name()) // nothing is left to remove when all goes well
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("lessons: progress: %w", err)
	}
	return nil
}
