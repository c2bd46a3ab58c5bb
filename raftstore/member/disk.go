package member

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"kviz/raftstore/wire"
)

// disk is the member's log and vote file as raft sees it: every write is an event,
// and can be slow or refused.
//
// Raft panics when it cannot write its term or read its log, and would take
// the process with it. So the disk ends the calling goroutine instead
// (runtime.Goexit): deferred clean-up runs, and the member's watcher takes the
// member down.
type disk struct {
	inc    *incarnation
	bolt   *boltLog
	cache  *raft.LogCache
	gone   atomic.Bool   // crashed: nothing reaches the file any more
	urgent chan struct{} // closed when slow writes must not wait any longer
	closed atomic.Bool

	bootTerm uint64 // the term on the disk when it was opened
	queue    flushQueue

	unreturned atomic.Int64 // bytes written since the log's pages were given back

	torn     atomic.Bool // the log's tail was removed and nothing has followed yet
	noopTerm atomic.Uint64
	noop     atomic.Uint64 // index of the entry with which noopTerm's leader began

	found      foundGroups
	groupIndex atomic.Uint64 // of the last change of the group in the log
}

var (
	_ raft.LogStore          = (*disk)(nil)
	_ raft.MonotonicLogStore = (*disk)(nil)
	_ raft.StableStore       = (*disk)(nil)
)

// crash makes the disk lose whatever is written from now on.
func (d *disk) crash() { d.gone.Store(true) }

// hurry ends the waiting of slow writes: the member goes down.
func (d *disk) hurry() {
	if !d.closed.Swap(true) {
		close(d.urgent)
	}
}

func (d *disk) close() {
	d.hurry()
	d.queue.end()
	d.bolt.Close()
}

// StoreLogs writes entries. They are durable when it returns, but on a leader
// that may write while it already replicates (see [flushQueue]).
func (d *disk) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	told := d.tellAppend(logs)
	if d.mayOverlap(logs) {
		d.queue.push(logs)
		d.noteNoop(logs)
		return nil
	}
	d.settle()
	err := d.store(logs, told)
	if err != nil && d.torn.Load() {
		d.inc.m.wantsRoom(err)
		// Raft still believes in the tail that it has just removed, and would
		// stand for election with a log that it does not have.
		d.die("its disk took the old end of the log away and then refused the new one: " + err.Error())
	}
	if err != nil {
		return err
	}
	d.torn.Store(false)
	d.noteNoop(logs)
	return nil
}

// store writes entries and tells how it went; entries describes them, if it was
// done already.
func (d *disk) store(logs []*raft.Log, entries []wire.Entry) error {
	start := time.Now()
	err := d.admit()
	if err == nil {
		err = d.write(func() error { return d.cache.StoreLogs(logs) })
	}
	if err == nil {
		d.wrote(logs)
	}
	if d.inc.m.wanted() {
		if entries == nil {
			entries = wire.Describe(logs)
		}
		l := &Log{Entries: entries, First: logs[0].Index, Last: logs[len(logs)-1].Index, Took: time.Since(start)}
		if err != nil {
			l.Error = err.Error()
		}
		d.inc.m.emit(Event{Kind: KindDurable, Log: l})
	}
	return err
}

// settle waits until what was queued is written. If it never will be, nothing
// may follow it.
func (d *disk) settle() {
	if !d.queue.drained(math.MaxUint64) {
		d.die(brokenPromise)
	}
}

const brokenPromise = "its disk refused entries that it had promised to write"

// tellAppend tells that a write begins and gives what it said of the entries.
func (d *disk) tellAppend(logs []*raft.Log) []wire.Entry {
	if !d.inc.m.wanted() {
		return nil
	}
	entries := wire.Describe(logs)
	d.inc.m.emit(Event{Kind: KindAppend, Log: &Log{Entries: entries, First: logs[0].Index, Last: logs[len(logs)-1].Index}})
	return entries
}

// noteNoop remembers where the latest term's leader began, and who belongs to the
// group.
func (d *disk) noteNoop(logs []*raft.Log) {
	for _, l := range logs {
		switch l.Type {
		case raft.LogNoop:
			d.noop.Store(l.Index)
			d.noopTerm.Store(l.Term)
		case raft.LogConfiguration:
			d.noteGroup(l)
		}
	}
}

// IsMonotonic has raft delete the old log when a snapshot is installed, instead of
// leaving a gap between it and what follows.
func (d *disk) IsMonotonic() bool { return true }

// StoreLog writes one entry.
func (d *disk) StoreLog(log *raft.Log) error { return d.StoreLogs([]*raft.Log{log}) }

// DeleteRange removes entries: a tail that another leader has overruled, or
// what a snapshot covers. It waits for the entries in question only: what a busy
// leader queues behind them meanwhile may never come to an end.
//
// Who asks for it can live with an error, and somebody waits for the answer of raft's
// goroutine that takes snapshots. So it gives one instead of ending the goroutine; the
// member goes down all the same.
func (d *disk) DeleteRange(min, max uint64) error {
	if !d.queue.drained(max) {
		d.inc.fail(brokenPromise)
		return errors.New(brokenPromise)
	}
	if err := d.admit(); err != nil {
		return err
	}
	first, _ := d.FirstIndex()
	last, _ := d.LastIndex()
	if err := d.contain(func() error { return d.cache.DeleteRange(min, max) }); noSpace(err) {
		d.inc.m.ranOut(err)
		return err
	} else if err != nil {
		d.inc.fail("its disk failed: " + err.Error())
		return err
	}
	if max >= last {
		d.torn.Store(true)
		if min <= first && d.inc.live.Load() {
			forgetLog(d.inc.raft, max)
		}
		if d.groupIndex.Load() >= min {
			d.groupIndex.Store(0) // an earlier one counts again, which is committed
		}
	}
	if d.inc.m.wanted() {
		d.inc.m.emit(Event{Kind: KindTruncate, Log: &Log{First: min, Last: max}})
	}
	return nil
}

// slowStart is how long a slow disk keeps each write of a member that starts: whoever
// starts it waits for that, and cannot make the disk fast meanwhile.
const slowStart = time.Second

// admit waits as long as the disk is slow and says whether it takes a write.
func (d *disk) admit() error {
	for start, waited := time.Now(), false; !waited; {
		slow, changed := d.inc.m.slowness()
		if !d.inc.live.Load() {
			slow = min(slow, slowStart)
		}
		left := slow - time.Since(start)
		if left <= 0 {
			break
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
			waited = true
		case <-changed:
		case <-d.urgent:
			waited = true
		}
		timer.Stop()
	}
	if d.gone.Load() {
		return errors.New("the machine has no power")
	}
	if d.inc.m.room.full.Load() {
		err := errFull(d.inc.m.path(logFile))
		d.inc.m.refused(err)
		return err
	}
	return nil
}

// write runs a write of the file. What a file system without room refuses has not
// happened; after any other error nobody knows what is on the disk, so the member goes
// down.
func (d *disk) write(fn func() error) error {
	err := d.contain(fn)
	if noSpace(err) {
		d.inc.m.ranOut(err)
		return err
	}
	if err != nil {
		d.die("its disk failed: " + err.Error())
	}
	return nil
}

// contain turns a panic of bbolt, which is its answer to a damaged page, into
// an error. A page number that points behind the end of a file cut short makes
// bbolt read memory that is not there; that fault too becomes a panic here
// instead of the end of the process.
func (d *disk) contain(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s is damaged: %v", d.inc.m.path(logFile), p)
		}
	}()
	return fn()
}

// die ends the calling goroutine, which is one of raft's, and the member.
func (d *disk) die(reason string) {
	d.inc.fail(reason)
	runtime.Goexit()
}

// GetLog reads an entry.
func (d *disk) GetLog(index uint64, log *raft.Log) error {
	err := d.read(index, log)
	if err != nil && !errors.Is(err, raft.ErrLogNotFound) {
		d.die("its log cannot be read: " + err.Error())
	}
	return err
}

// read is GetLog for those who can live with an error.
func (d *disk) read(index uint64, log *raft.Log) error {
	if d.queue.get(index, log) {
		return nil
	}
	return d.contain(func() error { return d.cache.GetLog(index, log) })
}

// FirstIndex is the first index in the log, 0 if it is empty.
func (d *disk) FirstIndex() (uint64, error) { return d.cache.FirstIndex() }

// LastIndex is the last index in the log, 0 if it is empty.
func (d *disk) LastIndex() (uint64, error) {
	if last := d.queue.last(); last > 0 {
		return last, nil
	}
	return d.cache.LastIndex()
}

// tail is the term and index of the last entry.
func (d *disk) tail() (term, index uint64) {
	var l raft.Log
	index, _ = d.LastIndex()
	if index == 0 || d.read(index, &l) != nil {
		return 0, 0
	}
	return l.Term, index
}

// Raft's keys in the stable store (hashicorp/raft raft.go).
const (
	keyCurrentTerm  = "CurrentTerm"
	keyLastVoteTerm = "LastVoteTerm"
	keyLastVoteCand = "LastVoteCand"
)

// Set writes a key of raft's; the candidate voted for is one.
func (d *disk) Set(key, val []byte) error {
	d.vital(func() error { return d.bolt.Set(key, val) })
	if string(key) == keyLastVoteCand && d.inc.m.wanted() {
		term, _ := d.GetUint64([]byte(keyLastVoteTerm))
		d.inc.m.emit(Event{Kind: KindVote, Vote: &Vote{Term: term, Candidate: string(val)}})
	}
	return nil
}

// SetUint64 writes a number of raft's: its term, the term of its vote.
func (d *disk) SetUint64(key []byte, val uint64) error {
	d.vital(func() error { return d.bolt.SetUint64(key, val) })
	if string(key) == keyCurrentTerm {
		d.inc.termChanged(val)
	}
	return nil
}

// vital makes a write without which the member cannot go on.
func (d *disk) vital(fn func() error) {
	err := d.admit()
	if err == nil {
		err = d.write(fn)
	}
	if err != nil {
		d.inc.m.wantsRoom(err)
		d.die("it cannot write down its term or vote: " + err.Error())
	}
}

// Get reads a key of raft's.
func (d *disk) Get(key []byte) ([]byte, error) {
	var val []byte
	err := d.contain(func() (err error) { val, err = d.bolt.Get(key); return err })
	return val, err
}

// GetUint64 reads a number of raft's. Raft compares the text of the error for
// a missing key, so it is passed on as it is.
func (d *disk) GetUint64(key []byte) (uint64, error) {
	val, err := d.Get(key)
	if err != nil {
		return 0, err
	}
	if len(val) != 8 {
		return 0, fmt.Errorf("%s holds %d bytes, not a number", key, len(val))
	}
	return binary.BigEndian.Uint64(val), nil
}
