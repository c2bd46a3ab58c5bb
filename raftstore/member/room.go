package member

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// room is whether the member's disk has room for what it must write. There is none while
// [Member.FillDisk] says so, and from the moment in which the file system refuses a write
// for want of room until a file of probeSize fits again.
//
// A write that bbolt could not make for want of room has not happened: it puts the new
// pages down before the meta page that makes them count, and takes the transaction back
// (its TestFailpoint_LackOfDiskSpace). So raft gets the error, as etcd's caller of the
// WAL does. A member that must write down its term or vote goes down instead, as an etcd
// does; when there is room again it starts by itself, as an etcd that systemd or a
// kubelet starts again.
type room struct {
	mu      sync.Mutex
	filled  bool          // on purpose
	refused bool          // by the file system
	told    bool          // that the disk is full
	again   chan struct{} // closed when there is room; nil while there is
	news    []Room        // not told yet

	telling sync.Mutex // held while news is told, for its order; taken before mu and by nobody who has it

	full     atomic.Bool // filled or refused
	awaiting atomic.Bool // the member went down for want of room
}

const (
	probeSize  = 1 << 20
	probeEvery = time.Second
	probeFile  = "room" // in the member's folder, for moments only
)

// RoomAgain is why a member starts again that went down for want of room.
const RoomAgain = "its disk has room again"

// noSpace reports whether an error is that of a file system without room. bbolt
// passes some of them on as text.
func noSpace(err error) bool {
	return err != nil && slices.ContainsFunc(noSpaceErrors, func(n syscall.Errno) bool {
		return errors.Is(err, n) || strings.Contains(err.Error(), n.Error())
	})
}

// FillDisk makes the disk refuse writes (true) or take them again.
func (m *Member) FillDisk(full bool) {
	m.room.mu.Lock()
	m.room.filled = full
	m.room.mu.Unlock()
	m.roomChanged()
}

// Disk is the state of the disk: what is added to a write, and whether it is full.
func (m *Member) Disk() (slow time.Duration, full bool) {
	return time.Duration(m.slow.Load()), m.room.full.Load()
}

// hasRoom is nil if the disk takes writes, else a channel that is closed when
// it does again.
func (m *Member) hasRoom() <-chan struct{} {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	return m.room.again
}

// outOfRoom says whether the file system has refused a write.
func (m *Member) outOfRoom() bool {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	return m.room.refused
}

// roomChanged makes what follows from filled and refused true.
func (m *Member) roomChanged() {
	r := &m.room
	r.mu.Lock()
	full := r.filled || r.refused
	if r.full.Swap(full) == full {
		r.mu.Unlock()
		return
	}
	if full {
		r.again = make(chan struct{})
	} else {
		close(r.again)
		r.again = nil
	}
	if r.told && !full {
		r.news = append(r.news, Room{})
	}
	r.told = r.told && full
	r.mu.Unlock()
	m.tellRoom()
	m.cfg.Changed()
	m.comeBack()
}

// refused tells, once, that the full disk has refused a write.
func (m *Member) refused(err error) {
	m.room.mu.Lock()
	m.room.noteFull(err)
	m.room.mu.Unlock()
	m.tellRoom()
}

// tellAgain has the next refused write told, though one before was: whoever hears that the
// member is up takes its disk to be well.
func (r *room) tellAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = false
}

// noteFull makes news, once, of a full disk that has refused a write. Call with mu held.
func (r *room) noteFull(err error) {
	if !r.filled && !r.refused {
		return
	}
	if !r.told {
		r.news = append(r.news, Room{Full: true, Error: err.Error()})
	}
	r.told = true
}

// ranOut notes that the file system refused a write for want of room. Until there is
// some again no other is tried.
func (m *Member) ranOut(err error) {
	m.room.mu.Lock()
	first := !m.room.refused
	m.room.refused = true
	m.room.noteFull(err)
	m.room.mu.Unlock()
	m.tellRoom()
	if first {
		m.roomChanged()
		m.cfg.Go("room of "+m.cfg.ID, m.seekRoom)
	}
}

// tellRoom tells the news of the room, in order. What listens to events may be slow, or ask
// for the disk's state: so room.mu is not held meanwhile.
func (m *Member) tellRoom() {
	m.room.telling.Lock()
	defer m.room.telling.Unlock()
	m.room.mu.Lock()
	news := m.room.news
	m.room.news = nil
	m.room.mu.Unlock()
	if !m.wanted() {
		return
	}
	for _, r := range news {
		m.emit(Event{Kind: KindRoom, Room: &r})
	}
}

// seekRoom waits until the file system takes writes again.
func (m *Member) seekRoom() {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-m.cfg.Closing:
			return
		}
		if noSpace(probe(m.path(probeFile))) {
			continue
		}
		m.room.mu.Lock()
		m.room.refused = false
		m.room.mu.Unlock()
		m.roomChanged()
		return
	}
}

// probe writes a file and removes it. Free blocks alone say too little: a quota may
// forbid their use.
func probe(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	if _, err := io.CopyN(f, ones{}, probeSize); err != nil {
		return err
	}
	return f.Sync()
}

// ones are bytes that no file system leaves out as a hole.
type ones struct{}

func (ones) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 1
	}
	return len(p), nil
}

// wantsRoom notes that the member goes down for want of room, if that is the reason.
func (m *Member) wantsRoom(err error) {
	if noSpace(err) {
		m.room.awaiting.Store(true)
	}
}

// comeBack has a member that went down for want of room started again, once, if there
// is some now.
func (m *Member) comeBack() {
	if m.Up() || m.room.full.Load() || m.cfg.ComeBack == nil || !m.room.awaiting.CompareAndSwap(true, false) {
		return
	}
	m.cfg.ComeBack(m.cfg.ID)
}

// errFull is what a disk that was filled on purpose answers.
func errFull(path string) error { return fmt.Errorf("write %s: %w", path, syscall.ENOSPC) }
