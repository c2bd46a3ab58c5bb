package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"kviz/cluster/fault"
	"kviz/cluster/secrets"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/lessons"
)

// recordings of lessons are kept in the user's cache: one folder for each lesson as it is written, kviz and seed.
func recordingFolder(digest string, seed uint64) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", digest, version(), seed))
	return filepath.Join(cache, "kviz", "lessons", hex.EncodeToString(sum[:12])), nil
}

// keepRecording writes what a check has gone through into the cache.
func keepRecording(m *lessons.Marking) error {
	dir, err := recordingFolder(m.Marks.Digest, m.Marks.Seed)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := writeStream(&out, m.Stream, trace.Header{Version: version(), Seed: m.Marks.Seed, Epoch: sim.DefaultEpoch, Store: "raft"}); err != nil {
		return err
	}
	marks, err := json.Marshal(m.Marks)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(writeWhole(filepath.Join(dir, lessons.RecordingFile), out.Bytes()), writeWhole(filepath.Join(dir, lessons.MarksFile), marks))
}

// writeStream writes a run as a recording; one that has left memory in part is refused.
func writeStream(w io.Writer, s *trace.Stream, h trace.Header) error {
	r, err := trace.NewRecorder(w, h)
	if err != nil {
		return err
	}
	hide := secrets.New()
	for at, end := uint64(0), s.Len(); at < end; {
		events, next, lost := s.Read(at, 4096)
		if lost > 0 {
			return errors.Join(r.Close(), fmt.Errorf("%d events have left memory", lost))
		}
		for _, e := range events {
			r.Append(hide.Hide(e))
		}
		at = next
		r.Flush()
	}
	return r.Close()
}

// recordedFiles are the recording and the marks of the lesson in a folder, of which all was proven, for a bundle.
func recordedFiles(fsys fs.FS, seed uint64) (map[string][]byte, error) {
	digest, err := lessons.Digest(fsys, ".")
	if err != nil {
		return nil, err
	}
	recording, text, marks, err := cachedRecording(digest, seed)
	if err == nil && !marks.Whole {
		err = fs.ErrNotExist
	}
	return map[string][]byte{lessons.RecordingFile: recording, lessons.MarksFile: text}, err
}

func cachedRecording(digest string, seed uint64) (recording, text []byte, marks *lessons.Marks, err error) {
	dir, err := recordingFolder(digest, seed)
	if err != nil {
		return nil, nil, nil, err
	}
	recording, err = os.ReadFile(filepath.Join(dir, lessons.RecordingFile))
	if err == nil {
		text, err = os.ReadFile(filepath.Join(dir, lessons.MarksFile))
	}
	if err == nil {
		marks, err = lessons.ReadMarks(text, digest, version(), seed)
	}
	return recording, text, marks, err
}

// recordings are those of the lessons on one seed.
type recordings struct{ seed uint64 }

// Recording implements [lessons.Recordings].
func (r recordings) Recording(l *lessons.Lesson, beat int) ([]*trace.Event, *lessons.Marks, error) {
	recording, marks, err := recordingOf(l, r.seed)
	if err != nil {
		return nil, nil, err
	}
	if beat >= len(marks.Beats) {
		return nil, nil, fs.ErrNotExist
	}
	events, err := eventsOf(recording, marks.Beats[beat].At)
	return events, marks, err
}

// Keep implements [lessons.Recordings]. What was proven, or goes further, stays.
func (r recordings) Keep(l *lessons.Lesson, m lessons.Marks, run *trace.Stream) error {
	digest, err := lessons.Digest(l.Folder())
	if err != nil || run.Len() > mostEvents {
		return err
	}
	if _, _, was, err := cachedRecording(digest, r.seed); err == nil && (!was.Played || len(was.Beats) > len(m.Beats)) {
		return nil
	}
	m.Digest, m.Kviz, m.Seed, m.Played = digest, version(), r.seed, true
	return keepRecording(&lessons.Marking{Marks: m, Stream: run})
}

// recordingOf is the recording that came with a lesson, else the one in the cache.
func recordingOf(l *lessons.Lesson, seed uint64) (recording []byte, marks *lessons.Marks, err error) {
	digest, err := lessons.Digest(l.Folder())
	if err != nil {
		return nil, nil, err
	}
	recording, text, err := l.Shipped()
	if err == nil {
		marks, err = lessons.ReadMarks(text, digest, version(), seed)
	}
	if err != nil {
		recording, _, marks, err = cachedRecording(digest, seed)
	}
	return recording, marks, err
}

// throughBeats has screen look at each beat of a lesson where it stands.
func throughBeats(ctx context.Context, l *lessons.Lesson, seed uint64, screen lessons.Screen) error {
	return withRecording(ctx, l, seed, func(events []*trace.Event, marks *lessons.Marks) error { return l.Replay(events, marks, screen) })
}

// withRecording goes through a lesson by its recording, where there is one; else by that of a cluster of its own,
// which is taken through the lesson first. Either way there are no secrets in it, for what it shows may be written down.
func withRecording(ctx context.Context, l *lessons.Lesson, seed uint64, through func([]*trace.Event, *lessons.Marks) error) error {
	recording, marks, err := recordingOf(l, seed)
	if err == nil && marks.Played { // nothing of it was proven
		err = fs.ErrNotExist
	}
	if err == nil {
		var events []*trace.Event
		if events, err = allEvents(recording); err == nil {
			return through(events, marks)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	trials := lessons.NewTrials(1)
	trials.Fast = true
	marking := &lessons.Marking{}
	if err := trials.Check(ctx, l, func() (lessons.Cluster, io.Closer, error) { return bootForLesson(ctx, seed, l) }, marking); err != nil {
		return err
	}
	var made bytes.Buffer
	if err := writeStream(&made, marking.Stream, trace.Header{}); err != nil {
		return err
	}
	events, err := allEvents(made.Bytes())
	if err != nil {
		return err
	}
	return through(events, &marking.Marks)
}

// mostEvents is how many a cluster keeps; a lesson's recording has no more.
const mostEvents = 200_000

// allEvents are those of a recording.
func allEvents(recording []byte) ([]*trace.Event, error) { return eventsOf(recording, mostEvents+1) }

// eventsOf are the first events of a recording, so many at most.
func eventsOf(recording []byte, most uint64) ([]*trace.Event, error) {
	r, err := trace.NewReader(bytes.NewReader(recording))
	if err != nil {
		return nil, err
	}
	var events []*trace.Event
	for uint64(len(events)) < most {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the lesson's recording: %w", err)
		}
		if events = append(events, e); len(events) > mostEvents {
			return nil, fmt.Errorf("the lesson's recording has more than %d events", mostEvents)
		}
	}
	fault.Complete(events)
	return events, nil
}
