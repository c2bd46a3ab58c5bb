package trace

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// Hash is the fingerprint of a run: two runs of the same seed and the same
// inputs have the same. It counts control-plane events only; what the raft
// and wall-clock lanes did differs from run to run, so their events, causes
// among them, and raft log indexes are left out.
func Hash(events []*Event) (string, error) {
	sum := sha256.New()
	var size [8]byte
	for _, e := range events {
		if e.Outside() {
			continue
		}
		b, err := canonical(e)
		if err != nil {
			return "", err
		}
		binary.LittleEndian.PutUint64(size[:], uint64(len(b)))
		sum.Write(size[:])
		sum.Write(b)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Same reports whether two control-plane events are the same, as [Hash] sees them.
func Same(a, b *Event) (bool, error) {
	if a.ID.Seq != b.ID.Seq || a.At != b.At || a.Kind != b.Kind || a.Lane != b.Lane || a.Object != b.Object {
		return false, nil
	}
	x, err := canonical(a)
	if err != nil {
		return false, err
	}
	y, err := canonical(b)
	return bytes.Equal(x, y), err
}

// canonical is an event in bytes that depend on nothing but the run.
func canonical(e *Event) ([]byte, error) {
	c := *e
	c.Causes = nil
	for _, id := range e.Causes {
		if id.Sub == 0 {
			c.Causes = append(c.Causes, id)
		}
	}
	if p, ok := e.Payload.(*Commit); ok && p != nil && p.Index != 0 {
		q := *p
		q.Index = 0
		c.Payload = &q
	}
	var objects []byte
	n := uint32(0)
	b, err := encodeEvent(&c, func(o runtime.Object) (uint32, error) {
		w, err := encodeObject(o)
		if err != nil {
			return 0, err
		}
		raw, err := encMode.Marshal(w)
		objects = append(objects, raw...)
		n++
		return n - 1, err
	})
	return append(b, objects...), err
}

// Line is an event on one line:
//
//	#214 1.203s scheduler sched.decision Pod demo/web-1: words ← #201
func Line(e *Event, words string) string {
	s := fmt.Sprintf("#%s %.3fs %s %s", e.ID, e.At.Seconds(), e.Lane, e.Kind)
	if o := e.Object.String(); o != "" {
		s += " " + o
	}
	if words != "" {
		s += ": " + words
	}
	if len(e.Causes) > 0 {
		s += " ←"
		for _, c := range e.Causes {
			s += " #" + c.String()
		}
	}
	return s
}

// Text writes one line an event. words, if given, says what an event is (see
// package view).
func Text(w io.Writer, events []*Event, words ...func(*Event) string) error {
	out := bufio.NewWriter(w)
	for _, e := range events {
		said := ""
		if len(words) > 0 {
			said = words[0](e)
		}
		out.WriteString(Line(e, said))
		out.WriteByte('\n')
	}
	return out.Flush()
}
