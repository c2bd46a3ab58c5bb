package member

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

func TestSessionAdmits(t *testing.T) {
	type entry struct {
		ticket Ticket // Number, Epoch, Seq
		want   Outcome
	}
	for name, entries := range map[string][]entry{
		"in order": {{Ticket{1, 10, 0}, Done}, {Ticket{2, 10, 1}, Done}, {Ticket{3, 10, 2}, Done}},
		"resubmitted by the next leader after it was applied": {
			{Ticket{1, 10, 0}, Done},
			{Ticket{2, 10, 1}, Done},
			{Ticket{2, 20, 0}, Duplicate},
			{Ticket{3, 20, 1}, Done},
		},
		"resubmitted because it was lost": {
			{Ticket{1, 10, 0}, Done}, // 2 was lost with its leader
			{Ticket{2, 20, 0}, Done}, {Ticket{3, 20, 1}, Done},
		},
		"one lost on its way, the next is not let past it": {
			{Ticket{1, 10, 0}, Done},
			{Ticket{3, 10, 2}, OutOfOrder},
			{Ticket{4, 10, 3}, OutOfOrder},
			{Ticket{2, 11, 0}, Done},
			{Ticket{3, 11, 1}, Done},
			{Ticket{4, 11, 2}, Done},
		},
		"an epoch whose beginning was lost does not begin": {
			{Ticket{1, 10, 0}, Done}, {Ticket{3, 20, 1}, OutOfOrder}, {Ticket{2, 10, 1}, Done},
		},
		"a straggler of an old epoch": {
			{Ticket{1, 10, 0}, Done},
			{Ticket{2, 20, 0}, Done},
			{Ticket{2, 10, 1}, OutOfOrder},
			{Ticket{1, 10, 0}, OutOfOrder},
			{Ticket{3, 20, 1}, Done},
		},
		"one that timed out leaves a gap in the numbers": {
			{Ticket{1, 10, 0}, Done}, {Ticket{3, 20, 0}, Done}, {Ticket{4, 20, 1}, Done},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s session
			for i, e := range entries {
				if got := s.admit(e.ticket); got != e.want {
					t.Fatalf("entry %d, %+v: %v, want %v", i, e.ticket, got, e.want)
				}
			}
		})
	}
}

// Whatever raft loses from the end of an epoch, applied numbers only grow, and
// none is passed over that is tried again.
func TestSessionKeepsTheOrder(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		var s session
		total := uint64(rapid.IntRange(1, 30).Draw(t, "requests"))
		var applied []uint64
		var old, given []Ticket // of earlier epochs, and of this one
		take := func(tk Ticket) {
			if s.admit(tk) == Done {
				applied = append(applied, tk.Number)
			}
		}
		for epoch := uint64(1); s.last < total; epoch++ {
			// The epoch begins with every request that is not known to be applied;
			// what was applied may not be known yet.
			first := s.last + 1 - min(s.last, uint64(rapid.IntRange(0, 3).Draw(t, "unknown")))
			lost := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 3).Draw(t, "lost")
			for seq := uint64(0); first+seq <= total; seq++ {
				gone := false
				for _, l := range lost {
					gone = gone || uint64(l) == seq
				}
				tk := Ticket{first + seq, epoch, seq}
				given = append(given, tk)
				if !gone || epoch > 50 {
					take(tk)
				}
				if len(old) > 0 && rapid.IntRange(0, 2).Draw(t, "straggler") == 0 {
					take(rapid.SampledFrom(old).Draw(t, "which"))
				}
			}
			old, given = append(old, given...), nil
		}
		for i, n := range applied {
			if n != uint64(i)+1 {
				t.Fatalf("applied %v", applied)
			}
		}
	})
}

func TestSessionIsInTheSnapshot(t *testing.T) {
	was := session{epoch: 7 << 16, next: 12, last: 1 << 33}
	var buf bytes.Buffer
	if err := was.writeTo(&buf); err != nil {
		t.Fatal(err)
	}
	whole := buf.Bytes()
	var is session
	if err := is.readFrom(&buf); err != nil || is != was {
		t.Errorf("%+v became %+v, %v", was, is, err)
	}
	for n := range len(whole) {
		if err := new(session).readFrom(bytes.NewReader(whole[:n])); err == nil {
			t.Errorf("%d of %d bytes were taken for a snapshot", n, len(whole))
		}
	}
	whole[0] ^= 1
	if err := new(session).readFrom(bytes.NewReader(whole)); err == nil {
		t.Error("a wrong beginning was taken for a snapshot")
	}
}

func TestTicketBytes(t *testing.T) {
	was := Ticket{Number: 1<<40 + 3, Epoch: 9 << 16, Seq: 77}
	is, err := ticketOf(&raft.Log{Index: 5, Extensions: was.Bytes()})
	if err != nil || is != was {
		t.Errorf("%+v became %+v, %v", was, is, err)
	}
	if _, err := ticketOf(&raft.Log{Index: 5}); err == nil || fmt.Sprint(err) != "entry 5 has a ticket of 0 bytes" {
		t.Errorf("no ticket: %v", err)
	}
}
