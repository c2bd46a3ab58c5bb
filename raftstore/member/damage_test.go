package member

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// down is a member that never runs, with a folder for its log.
func down(t testing.TB) *Member {
	return New(Config{ID: "m", Dir: t.TempDir(), NoSync: true, Go: func(_ string, fn func()) { go fn() }})
}

// diary is what a log file says.
func diary(d *disk) string {
	var s strings.Builder
	for _, key := range raftKeys {
		v, err := d.bolt.Get([]byte(key))
		fmt.Fprintf(&s, "%s=%x %v\n", key, v, err)
	}
	first, err1 := d.bolt.FirstIndex()
	last, err2 := d.bolt.LastIndex()
	fmt.Fprintln(&s, first, last, err1, err2)
	for i := first; i <= last && last > 0; i++ {
		var l raft.Log
		err := d.bolt.GetLog(i, &l)
		fmt.Fprintln(&s, l.Index, l.Term, l.Type, string(l.Data), l.Extensions, err)
	}
	return s.String()
}

// openLog opens the member's log as a start does.
func openLog(m *Member, fresh bool) (*disk, error) {
	return openDisk(&incarnation{m: m, failed: make(chan string, 1), stopped: make(chan struct{})}, fresh, 0)
}

// lived makes a member's log with some history: entries of all sizes, a term and
// votes, a tail that was removed, a beginning that was compacted away and written
// anew. It gives the bytes of the file and what they say.
func lived(t testing.TB, m *Member) (file []byte, says string) {
	t.Helper()
	d, err := openLog(m, true)
	must(t, err)
	r := rand.New(rand.NewPCG(7, 7))
	write := func(from, to uint64) {
		for i := from; i <= to; i++ {
			data := []byte(strings.Repeat(fmt.Sprint(i, " "), 1+r.IntN(40)))
			must(t, d.bolt.StoreLogs([]*raft.Log{{Index: i, Term: i / 10, Type: raft.LogCommand, Data: data, Extensions: Ticket{i, i, i}.Bytes()}}))
		}
	}
	must(t, d.bolt.SetUint64([]byte(keyCurrentTerm), 3))
	must(t, d.bolt.SetUint64([]byte(keyLastVoteTerm), 3))
	must(t, d.bolt.Set([]byte(keyLastVoteCand), []byte("c")))
	write(1, 60)
	must(t, d.bolt.DeleteRange(41, 60))
	write(41, 90)
	must(t, d.bolt.SetUint64([]byte(keyCurrentTerm), 9))
	says = diary(d)
	d.bolt.Close()
	file, err = os.ReadFile(m.path(logFile))
	must(t, err)
	return file, says
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever bit is flipped anywhere in the file: either the log is refused, with a
// sentence that names member and file, or it says exactly what was written.
func TestAFlippedBitIsNoticedOrHarmless(t *testing.T) {
	m := down(t)
	file, says := lived(t, m)
	path := m.path(logFile)
	refused, harmless := 0, 0
	r := rand.New(rand.NewPCG(1, 1))
	for range 600 {
		bad := append([]byte(nil), file...)
		bit := r.IntN(8 * len(bad))
		bad[bit/8] ^= 1 << (bit % 8)
		must(t, os.WriteFile(path, bad, 0o600))
		d, err := openLog(m, false)
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), "member m: "+path) {
				t.Fatalf("bit %d: the refusal names neither member nor file: %v", bit, err)
			}
			continue
		}
		harmless++
		if got := diary(d); got != says {
			t.Errorf("bit %d of byte %d (page %d) is flipped, and the log was opened with another contents:\n%s\nnot\n%s", bit%8, bit/8, bit/8/os.Getpagesize(), got, says)
		}
		d.bolt.Close()
	}
	t.Logf("%d refused, %d in places that nobody reads", refused, harmless)
	if refused == 0 || harmless == 0 {
		t.Error("one of the two never happened")
	}
}

// Bytes in a whole run of places, and pages put in one another's place.
func TestDamageIsNoticed(t *testing.T) {
	m := down(t)
	file, says := lived(t, m)
	path := m.path(logFile)
	page := os.Getpagesize()
	r := rand.New(rand.NewPCG(2, 2))
	for round := range 300 {
		bad := append([]byte(nil), file...)
		switch round % 4 {
		case 0: // noise
			at := r.IntN(len(bad))
			for i := at; i < min(len(bad), at+r.IntN(3*page)); i++ {
				bad[i] = byte(r.Uint32())
			}
		case 1: // a page in another's place
			from, to := r.IntN(len(bad)/page), r.IntN(len(bad)/page)
			copy(bad[to*page:(to+1)*page], file[from*page:])
		case 2: // zeroes
			at := r.IntN(len(bad))
			clear(bad[at:min(len(bad), at+r.IntN(2*page))])
		case 3: // cut short
			bad = bad[:r.IntN(len(bad))]
		}
		must(t, os.WriteFile(path, bad, 0o600))
		d, err := openLog(m, false)
		if err != nil {
			continue
		}
		if got := diary(d); got != says {
			t.Errorf("round %d: the log was opened with another contents", round)
		}
		d.bolt.Close()
	}
}

// Every kind that can be asked for is refused, and what bbolt itself would have
// made of it shows why that is needed.
func TestEveryKindOfDamageIsRefused(t *testing.T) {
	for _, what := range Damages {
		t.Run(string(what), func(t *testing.T) {
			m := down(t)
			lived(t, m)
			must(t, m.Corrupt(what))
			why := m.Why()
			_, err := openLog(m, false)
			if err == nil || !strings.Contains(err.Error(), "member m: "+m.path(logFile)) {
				t.Fatalf("opened: %v", err)
			}
			if why != err.Error() && what != Flipped {
				t.Errorf("known before: %q", why)
			}
			t.Log(err)
			t.Log("bbolt alone:", alone(t, m.path(logFile)))
		})
	}
}

// alone is what raft-boltdb makes of a file. It must not be asked directly: a
// damaged page makes it panic.
func alone(t *testing.T, path string) (said string) {
	data, err := os.ReadFile(path)
	must(t, err)
	copied := filepath.Join(t.TempDir(), "copy.db") // bbolt does not let go of a file at which it panicked
	must(t, os.WriteFile(copied, data, 0o600))
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // bbolt reads beyond the end of a truncated file
	defer func() {
		if p := recover(); p != nil {
			said = fmt.Sprint("panics: ", p)
		}
	}()
	s, err := raftboltdb.New(raftboltdb.Options{Path: copied, BoltOptions: &bbolt.Options{}})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	last, err := s.LastIndex()
	return fmt.Sprintf("opens it with %d entries up to %d (%v)", entriesIn(s), last, err)
}

func entriesIn(s *raftboltdb.BoltStore) (n int) {
	_ = boltOf(s).View(func(tx *bbolt.Tx) error {
		n = tx.Bucket(logsBucket).Stats().KeyN
		return nil
	})
	return n
}

// A log from before there were checksums is opened, and has them afterwards.
func TestAnEarlierLogIsTakenOver(t *testing.T) {
	m := down(t)
	s, err := raftboltdb.New(raftboltdb.Options{Path: m.path(logFile), BoltOptions: &bbolt.Options{}, MsgpackUseNewTimeFormat: true})
	must(t, err)
	for i := range uint64(20) {
		must(t, s.StoreLog(&raft.Log{Index: i + 1, Term: 1, Data: []byte("x")}))
	}
	must(t, s.SetUint64([]byte(keyCurrentTerm), 1))
	must(t, s.Close())
	for range 2 {
		d, err := openLog(m, false)
		must(t, err)
		for i := range uint64(20) {
			if v := stored(t, d.bolt.BoltStore, i+1); !sumFits(i+1, v) {
				t.Errorf("entry %d has no checksum: %x", i+1, v)
			}
		}
		d.bolt.Close()
	}
	file, err := os.ReadFile(m.path(logFile))
	must(t, err)
	if _, err := (&boltFile{data: file}).metas(); err != nil {
		t.Error(err)
	}
}

// A log with nothing in it, not even the mark of a new one, has forgotten.
func TestALogThatHoldsNothingIsRefused(t *testing.T) {
	m := down(t)
	s, err := raftboltdb.New(raftboltdb.Options{Path: m.path(logFile), BoltOptions: &bbolt.Options{}})
	must(t, err)
	must(t, s.Close())
	if _, err := openLog(m, false); err == nil || !strings.Contains(err.Error(), "holds nothing") {
		t.Errorf("opened: %v", err)
	}
}
