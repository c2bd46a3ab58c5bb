package member

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// snapshots is the member's snapshot files as raft sees them.
type snapshots struct {
	*raft.FileSnapshotStore
	inc *incarnation

	mu     sync.Mutex // raft opens them on one goroutine for each follower
	damage error      // why a snapshot cannot be read, if one cannot
	named  int64      // the millisecond in the name of the last one
}

// List gives raft the newest snapshot only. Where that cannot be read raft would go
// on with an older one, which the log does not continue, and panic over the gap.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	list, err := s.all()
	return list[:min(len(list), 1)], err
}

// all lists the snapshots, newest first.
func (s *snapshots) all() ([]*raft.SnapshotMeta, error) { return s.FileSnapshotStore.List() }

// last is the last index that a snapshot covers, 0 if there is none.
func (s *snapshots) last() (index uint64) {
	// A folder that cannot be read holds none; the log says what is missing then.
	list, _ := s.List()
	for _, meta := range list {
		index = max(index, meta.Index)
	}
	return index
}

// size is how many bytes the last snapshot has, 0 if there is none.
func (s *snapshots) size() int64 {
	list, _ := s.List()
	if len(list) == 0 {
		return 0
	}
	return list[0].Size
}

// Open gives a snapshot's contents after a look at its checksum.
func (s *snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, contents, err := s.FileSnapshotStore.Open(id)
	if err != nil && !s.overtaken(id) {
		s.damaged(fmt.Errorf("snapshot %s in %s is damaged: %w", id, s.inc.m.cfg.Dir, err))
	}
	return meta, contents, err
}

// overtaken says that newer snapshots have taken the place of one.
func (s *snapshots) overtaken(id string) bool {
	list, err := s.all()
	return err == nil && len(list) > 0 && !slices.ContainsFunc(list, func(m *raft.SnapshotMeta) bool { return m.ID == id })
}

// damaged notes why a snapshot cannot be used: raft says only that it has none. A member
// that runs goes down, as with a log that cannot be read: it would never bring up
// anybody who needs the snapshot, and nobody would know why.
func (s *snapshots) damaged(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damage == nil {
		s.damage = &DiskError{fmt.Errorf("member %s: %w", s.inc.m.cfg.ID, why)}
	}
	if s.inc.live.Load() {
		s.inc.fail(s.damage.Error())
	}
}

// why is why a snapshot cannot be read, nil if none was found damaged.
func (s *snapshots) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damage
}

// snapshotDir is raft's folder for snapshots in a member's.
const snapshotDir = "snapshots"

// openSnapshots opens the member's snapshots. A snapshot holds every Secret, as the log
// does: nobody but the owner may read it. Raft would make files for everybody, in
// folders for everybody.
func openSnapshots(inc *incarnation) (*snapshots, error) {
	dir := inc.m.path(snapshotDir)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = private(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", inc.m.cfg.ID, err)
	}
	files, err := raft.NewFileSnapshotStoreWithLogger(inc.m.cfg.Dir, 2, inc.m.cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("member %s: snapshots in %s: %w", inc.m.cfg.ID, inc.m.cfg.Dir, err)
	}
	return &snapshots{FileSnapshotStore: files, inc: inc}, nil
}

// private takes a folder and all in it from everybody but the owner. On Windows, where
// files have no such bits, the folder around it decides who may read them.
func private(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if e.IsDir() {
			mode = 0o700
		}
		return os.Chmod(path, mode)
	})
}

// Create begins a snapshot file: one the member takes of its own state, or one
// that the leader sends.
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, trans raft.Transport,
) (raft.SnapshotSink, error) {
	if s.inc.m.room.full.Load() {
		return nil, errFull(s.inc.m.cfg.Dir)
	}
	if !s.inc.live.Load() && !s.inc.offline {
		return nil, fmt.Errorf("member %s is starting", s.inc.m.cfg.ID) // of its raft nothing can be asked, as forgetLog must
	}
	s.newName()
	sink, err := s.FileSnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	if err := private(s.inc.m.path(filepath.Join(snapshotDir, sink.ID()+".tmp"))); err != nil {
		return nil, errors.Join(err, sink.Cancel())
	}
	return &snapshotSink{SnapshotSink: sink, inc: s.inc, among: s, index: index, term: term}, nil
}

// newName waits until the next snapshot has a name of its own: raft takes it from the
// term, the index and the millisecond, and a second one of the same state would end
// with "file exists".
func (s *snapshots) newName() {
	for !s.takeName(time.Now().UnixMilli()) {
		time.Sleep(100 * time.Microsecond)
	}
}

func (s *snapshots) takeName(millisecond int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if millisecond == s.named {
		return false
	}
	s.named = millisecond
	return true
}

// snapshotSink tells when a snapshot is whole.
type snapshotSink struct {
	raft.SnapshotSink
	inc         *incarnation
	among       *snapshots
	index, term uint64
}

func (s *snapshotSink) Close() error {
	if err := s.SnapshotSink.Close(); err != nil {
		return err
	}
	s.inc.snapshotted.Store(s.index)
	s.inc.unsnapped.Store(0)
	s.inc.written.Store(s.among.size())
	what := "taken"
	if s.index > s.inc.machine.applied.get() && !s.inc.offline && s.index > s.inc.raft.AppliedIndex() {
		what = "installed"
	}
	if s.inc.m.wanted() {
		s.inc.m.emit(Event{Kind: KindSnapshot, Snapshot: &Snapshot{Index: s.index, Term: s.term, What: what}})
	}
	return nil
}
