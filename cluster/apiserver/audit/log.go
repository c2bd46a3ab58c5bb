package audit

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	upstream "k8s.io/apiserver/pkg/audit"
)

// LogFile is kube-apiserver's --audit-log-path.
const LogFile = "/var/log/kubernetes/audit.log"

// Log is the log backend: a file of JSON lines, rotated by size
// (plugin/pkg/audit/log/backend.go, over lumberjack). The zero value is empty
// and has [MaxSize] and [MaxBackups].
type Log struct {
	Size    int // --audit-log-maxsize in bytes; 0 means MaxSize
	Backups int // --audit-log-maxbackup; 0 means MaxBackups

	now       []byte
	rotated   []rotated // the oldest first
	full      bool
	events    uint64
	failures  uint64
	rotations int
	requests  map[auditapi.Level]uint64
}

// What a log holds at most: bytes a file, and files beside the one written to.
const (
	MaxSize    = 1 << 20
	MaxBackups = 3
)

// rotated is a file that was written to before.
type rotated struct {
	name string
	data []byte
}

var encoder = upstream.Codecs.LegacyCodec(auditv1.SchemeGroupVersion)

// Write appends an event. Every event is counted, and every failure
// (apiserver_audit_event_total, apiserver_audit_error_total).
func (l *Log) Write(ev *auditapi.Event, now time.Time) error {
	l.events++
	line, err := runtime.Encode(encoder, ev)
	if err == nil {
		err = l.append(line, now)
	}
	if err != nil {
		l.failures++
	}
	return err
}

// append writes a line, which ends with a newline, into a file that has room for
// it.
func (l *Log) append(line []byte, now time.Time) error {
	size := l.Size
	if size == 0 {
		size = MaxSize
	}
	switch {
	case l.full:
		return &fs.PathError{Op: "write", Path: LogFile, Err: syscall.ENOSPC}
	case len(line) > size:
		return fmt.Errorf("write length %d exceeds maximum file size %d", len(line), size)
	case len(l.now)+len(line) > size:
		l.rotate(now)
	}
	l.now = append(l.now, line...)
	return nil
}

// rotate gives the file a name of its own, with the time, and begins a new one.
func (l *Log) rotate(now time.Time) {
	ext := path.Ext(LogFile)
	name := strings.TrimSuffix(LogFile, ext) + "-" + now.UTC().Format("2006-01-02T15-04-05.000") + ext
	l.rotated = append(l.rotated, rotated{name, l.now})
	l.now = nil
	l.rotations++
	most := l.Backups
	if most == 0 {
		most = MaxBackups
	}
	if n := len(l.rotated) - most; n > 0 {
		l.rotated = append([]rotated(nil), l.rotated[n:]...)
	}
}

// Fill takes the room on the log's disk away, or gives it back.
func (l *Log) Fill(full bool) { l.full = full }

// Full reports whether the log's disk has no room.
func (l *Log) Full() bool { return l.full }

// Judged counts a request by the level that the policy gave it
// (apiserver_audit_level_total).
func (l *Log) Judged(level auditapi.Level) {
	if l.requests == nil {
		l.requests = map[auditapi.Level]uint64{}
	}
	l.requests[level]++
}

// Levels tells how many requests got a level.
func (l *Log) Levels(level auditapi.Level) uint64 { return l.requests[level] }

// Counts are the events that were to be written, and those that could not be.
func (l *Log) Counts() (events, failures uint64) { return l.events, l.failures }

// Rotations is how often the log has begun a new file, and the name that the
// newest of its old ones got.
func (l *Log) Rotations() (n int, name string) {
	if len(l.rotated) > 0 {
		name = l.rotated[len(l.rotated)-1].name
	}
	return l.rotations, name
}

// Files names the log's files, the oldest first; none before the first event.
func (l *Log) Files() []string {
	var names []string
	for _, r := range l.rotated {
		names = append(names, r.name)
	}
	if l.now != nil {
		names = append(names, LogFile)
	}
	return names
}

// Read is what a file of the log holds; it is not to be changed. Appending to
// the log does not change it either.
func (l *Log) Read(name string) ([]byte, error) {
	if name == LogFile && l.now != nil {
		return l.now[:len(l.now):len(l.now)], nil
	}
	for _, r := range l.rotated {
		if r.name == name {
			return r.data, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}
