package member

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// Outcome is what the state machine did with a log entry.
type Outcome int

// The outcomes of an entry.
const (
	Done       Outcome = iota // applied
	Duplicate                 // it had been applied before, from an earlier place in the log
	OutOfOrder                // refused: a request that should come before it is not in the log
)

// Ticket is what a request carries through the log beside its bytes, so that
// it takes effect at most once and in the order in which requests were made.
//
// Requests are numbered. While there is a leader they are given to it in
// order, as an epoch: the first has Seq 0, the next 1, and so on. When the
// leader changes, a new, higher epoch begins with every request whose end is not
// known. An entry counts only if it is the next of the newest epoch begun, and
// its request only if its number is higher than the last that was applied. So
// whatever raft loses, keeps or commits late, no request overtakes another and
// none happens twice.
type Ticket struct {
	Number uint64 // of the request: higher means later
	Epoch  uint64
	Seq    uint64
}

const ticketBytes = 24

// Bytes is the ticket as stored in raft.Log.Extensions.
func (t Ticket) Bytes() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, ticketBytes), t.Number)
	b = binary.BigEndian.AppendUint64(b, t.Epoch)
	return binary.BigEndian.AppendUint64(b, t.Seq)
}

func ticketOf(l *raft.Log) (Ticket, error) {
	if len(l.Extensions) != ticketBytes {
		return Ticket{}, fmt.Errorf("entry %d has a ticket of %d bytes", l.Index, len(l.Extensions))
	}
	b := l.Extensions
	return Ticket{
		Number: binary.BigEndian.Uint64(b),
		Epoch:  binary.BigEndian.Uint64(b[8:]),
		Seq:    binary.BigEndian.Uint64(b[16:]),
	}, nil
}

// session is what the state machine remembers of tickets. It is part of the
// replicated state, so it is the same on every member and in every snapshot.
type session struct {
	epoch, next uint64 // the epoch begun last, and the Seq that comes next in it
	last        uint64 // number of the last request applied
}

// admit says what to do with an entry, and takes note of it.
func (s *session) admit(t Ticket) Outcome {
	switch {
	case t.Epoch > s.epoch && t.Seq == 0:
		s.epoch, s.next = t.Epoch, 0
	case t.Epoch != s.epoch || t.Seq != s.next:
		return OutOfOrder
	}
	s.next++
	if t.Number <= s.last {
		return Duplicate
	}
	s.last = t.Number
	return Done
}

// The session stands before the key-value state in a snapshot file.
func (s *session) writeTo(w io.Writer) error {
	b := []byte(snapshotMagic)
	for _, x := range []uint64{s.epoch, s.next, s.last} {
		b = binary.BigEndian.AppendUint64(b, x)
	}
	_, err := w.Write(b)
	return err
}

func (s *session) readFrom(r io.Reader) error {
	b := make([]byte, len(snapshotMagic)+ticketBytes)
	if _, err := io.ReadFull(r, b); err != nil {
		return fmt.Errorf("the snapshot ends before its contents begin: %w", err)
	}
	if string(b[:len(snapshotMagic)]) != snapshotMagic {
		return fmt.Errorf("the snapshot does not begin with %q", snapshotMagic)
	}
	b = b[len(snapshotMagic):]
	s.epoch = binary.BigEndian.Uint64(b)
	s.next = binary.BigEndian.Uint64(b[8:])
	s.last = binary.BigEndian.Uint64(b[16:])
	return nil
}

const snapshotMagic = "kviz.raft1"
