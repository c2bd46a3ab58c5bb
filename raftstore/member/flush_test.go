package member

import (
	"testing"

	"github.com/hashicorp/raft"
)

// entries are commands from one index to another.
func entries(from, to uint64) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: 1, Type: raft.LogCommand, Data: []byte("x"), Extensions: Ticket{i, 1, i - 1}.Bytes()})
	}
	return logs
}

// lagging is a leader's disk that has ten entries, and ten more in its queue that
// nobody writes yet.
func lagging(t *testing.T) *disk {
	t.Helper()
	d, err := openLog(down(t), true)
	must(t, err)
	t.Cleanup(func() { d.bolt.Close() })
	must(t, d.StoreLogs(entries(1, 10)))
	d.queue.push(entries(11, 20))
	return d
}

// returns runs fn on a goroutine of its own; false if that ended in fn.
func returns(fn func()) (came bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
		came = true
	}()
	<-done
	return came
}

// What a snapshot covers is removed without waiting for what is queued behind it,
// which on a busy leader never ends.
func TestCompactionDoesNotWaitForTheQueue(t *testing.T) {
	d := lagging(t)
	must(t, d.DeleteRange(1, 5))
	first, err := d.FirstIndex()
	must(t, err)
	last, err := d.LastIndex()
	must(t, err)
	if first != 6 || last != 20 || d.torn.Load() {
		t.Errorf("the log goes from %d to %d, torn: %v", first, last, d.torn.Load())
	}
	go d.flush()
	d.queue.end()
	if last, err := d.bolt.LastIndex(); last != 20 || err != nil {
		t.Errorf("after that %d entries were written (%v)", last, err)
	}
}

// A compaction that waits for entries which will never be written ends with an error,
// so that whoever asked for the snapshot hears of it; the member goes down.
func TestCompactionEndsWithTheDisk(t *testing.T) {
	d := lagging(t)
	d.queue.die()
	var err error
	if !returns(func() { err = d.DeleteRange(1, 12) }) || err == nil {
		t.Errorf("the goroutine that takes snapshots ended, or went on: %v", err)
	}
	select {
	case why := <-d.inc.failed:
		t.Log(why)
	default:
		t.Error("the member does not go down")
	}
}

// So it does where the file cannot be written.
func TestCompactionOfABrokenFileEnds(t *testing.T) {
	d, err := openLog(down(t), true)
	must(t, err)
	must(t, d.StoreLogs(entries(1, 10)))
	must(t, d.bolt.Close())
	if !returns(func() { err = d.DeleteRange(1, 5) }) || err == nil || len(d.inc.failed) == 0 {
		t.Errorf("it ended the goroutine, or with %v", err)
	}
}

// An entry that cannot be read is not taken for one that a snapshot covers: a read
// would be answered before it is applied.
func TestAnUnreadableEntryIsNotVisible(t *testing.T) {
	d, err := openLog(down(t), true)
	must(t, err)
	must(t, d.bolt.StoreLogs(entries(5, 10))) // past the cache
	if got := d.visible(4, 2); got != 2 {
		t.Errorf("of entries that a snapshot covers %d is to be waited for", got)
	}
	must(t, d.bolt.Close())
	if got := d.visible(10, 7); got != 10 {
		t.Errorf("of entries that cannot be read %d is to be waited for", got)
	}
}

// What a killed process had only in its memory is lost; what it was writing is not, and
// nothing passes for durable that is not.
func TestAKilledMemberLosesWhatItHadNotWritten(t *testing.T) {
	for _, writing := range []bool{false, true} {
		d := lagging(t)
		batch := d.queue.take() // the flusher has it
		d.queue.push(entries(21, 30))
		if !writing {
			batch = nil
		}
		d.queue.drop()
		if len(batch) > 0 {
			must(t, d.store(batch, nil))
			d.queue.written(len(batch))
		}
		d.flush() // ends at once
		d.queue.end()
		want := uint64(10 + len(batch))
		if last, err := d.bolt.LastIndex(); last != want || err != nil {
			t.Errorf("writing %v: the file ends with entry %d (%v)", writing, last, err)
		}
		if d.queue.drained(30) || d.queue.passed(30) == nil {
			t.Error("what was lost counts as durable")
		}
		var l raft.Log
		if err := d.read(30, &l); err != nil || l.Index != 30 {
			t.Errorf("raft, which has not ended yet, reads %d (%v)", l.Index, err)
		}
	}
}
