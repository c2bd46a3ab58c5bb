package lessons

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Progress is what a learner has done, kept in one small file.
type Progress struct {
	Version int             `json:"version"`
	Lessons map[string]Mark `json:"lessons"`

	path string
}

// Mark is how far one lesson is.
type Mark struct {
	Done  bool   `json:"done,omitempty"`
	Step  string `json:"step,omitempty"` // where it was left
	Hints int    `json:"hints,omitempty"`
}

// progressVersion is the version of the file.
const progressVersion = 1

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

// LoadProgress reads the progress at a path; a file that is not there is no
// progress yet. A file that cannot be understood is an error, and is kept: it
// is the learner's. The progress returned then is not written.
func LoadProgress(path string) (*Progress, error) {
	p := &Progress{Version: progressVersion, Lessons: map[string]Mark{}, path: path}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(b, p)
		if p.Lessons == nil {
			p.Lessons = map[string]Mark{}
		}
	}
	if err == nil && p.Version != progressVersion {
		err = fmt.Errorf("it has version %d, this kviz knows %d", p.Version, progressVersion)
	}
	if err != nil {
		p.path = ""
		return p, fmt.Errorf("lessons: progress in %s: %w", path, err)
	}
	return p, nil
}

// set changes a mark and writes the file: the old one stays whole until the
// new one is.
func (p *Progress) set(id string, m Mark) error {
	if p.Lessons[id] == m {
		return nil
	}
	p.Lessons[id] = m
	if p.path == "" {
		return nil
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("lessons: progress: %w", err)
	}
	dir := filepath.Dir(p.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("lessons: progress: %w", err)
	}
	f, err := os.CreateTemp(dir, "progress-*")
	if err != nil {
		return fmt.Errorf("lessons: progress: %w", err)
	}
	defer os.Remove(f.Name()) // nothing is left to remove when all goes well
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), p.path)
	}
	if err != nil {
		return fmt.Errorf("lessons: progress: %w", err)
	}
	return nil
}
