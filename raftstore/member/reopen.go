package member

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"kviz/raftstore/durable"
)

// logFile is the member's log and vote file, in its folder.
const logFile = "raft.db"

// Exists reports whether a member's folder holds a log.
func Exists(dir string) (bool, error) {
	_, err := os.Stat(dir + "/" + logFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// DiskError is why a member cannot start from its log: it is missing, empty or
// damaged. The member must not come back under its name.
type DiskError struct{ err error }

func (e *DiskError) Error() string { return e.err.Error() }
func (e *DiskError) Unwrap() error { return e.err }

// openDisk opens the log file, or makes one. A file that is not what a
// member has written is refused: losing an entry or a vote silently would
// break what raft promises. snapshot is the last index that a snapshot covers.
func openDisk(inc *incarnation, fresh bool, snapshot uint64) (*disk, error) {
	m := inc.m
	path := m.path(logFile)
	if fresh {
		if err := os.MkdirAll(m.cfg.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("member %s: %w", m.cfg.ID, err)
		}
	} else if err := inspect(path); err != nil {
		return nil, &DiskError{fmt.Errorf("member %s: %s %w", m.cfg.ID, path, err)}
	}
	d := &disk{inc: inc, urgent: make(chan struct{})}
	d.queue.init()
	err := d.contain(func() error {
		store, err := raftboltdb.New(raftboltdb.Options{
			Path:                    path,
			NoSync:                  m.cfg.NoSync,
			BoltOptions:             &bbolt.Options{Timeout: time.Second, NoGrowSync: m.cfg.NoSync},
			MsgpackUseNewTimeFormat: true,
		})
		d.bolt = &boltLog{BoltStore: store}
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("member %s: %s is in use by another process", m.cfg.ID, path)
	}
	if err != nil {
		return nil, &DiskError{fmt.Errorf("member %s: %s cannot be opened: %w", m.cfg.ID, path, err)}
	}
	if err := d.contain(func() error { return d.verify(fresh, snapshot) }); err != nil {
		d.bolt.Close()
		return nil, &DiskError{fmt.Errorf("member %s: %s is damaged: %w", m.cfg.ID, path, err)}
	}
	// The cache cannot fail with a size above zero.
	d.cache, _ = raft.NewLogCache(logCacheEntries, d.bolt)
	if err := d.contain(d.readThrough); err != nil {
		d.bolt.Close()
		return nil, &DiskError{fmt.Errorf("member %s: %s is damaged: %w", m.cfg.ID, path, err)}
	}
	if fresh {
		if err := m.syncDirs(); err != nil {
			d.bolt.Close()
			return nil, fmt.Errorf("member %s: %w", m.cfg.ID, err)
		}
	}
	d.returnPages()
	return d, nil
}

// contents says what is on the disk: which entries, of those how many are applied again.
func (d *disk) contents(snapshot uint64) string {
	// A log that cannot be read would have been refused.
	first, _ := d.FirstIndex()
	last, _ := d.LastIndex()
	switch {
	case last == 0 && snapshot == 0:
		return ""
	case snapshot == 0:
		return fmt.Sprintf("entries %d to %d", first, last)
	}
	return fmt.Sprintf("a snapshot up to entry %d, and %d entries after it", snapshot, max(last, snapshot)-snapshot)
}

// syncDirs makes the names of the member's files durable, and that of its folder:
// an fsync of a file keeps its bytes only.
func (m *Member) syncDirs() error {
	if m.cfg.NoSync {
		return nil
	}
	return durable.Dir(m.cfg.Dir, filepath.Dir(m.cfg.Dir))
}

func (d *disk) verify(fresh bool, snapshot uint64) error {
	if fresh {
		return d.bolt.create()
	}
	return d.bolt.verify(snapshot)
}

// readThrough reads the whole log once, so that damage shows now, where it
// can be told, and remembers where the last leader began.
func (d *disk) readThrough() error {
	// A new disk has no term.
	d.bootTerm, _ = d.GetUint64([]byte(keyCurrentTerm))
	return boltOf(d.bolt.BoltStore).View(func(tx *bbolt.Tx) error {
		return tx.Bucket(logsBucket).ForEach(func(key, value []byte) error {
			var l raft.Log
			if !decodeEntry(value, &l) {
				if err := d.bolt.GetLog(binary.BigEndian.Uint64(key), &l); err != nil {
					return fmt.Errorf("entry %d: %w", binary.BigEndian.Uint64(key), err)
				}
			}
			if l.Type != raft.LogCommand {
				l.Data = cloned(l.Data)
				d.noteNoop([]*raft.Log{&l})
			}
			return nil
		})
	})
}
