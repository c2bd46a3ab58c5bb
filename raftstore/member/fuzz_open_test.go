package member

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// FuzzOpen opens log files of which parts were overwritten, or that are anything at
// all: a file is refused with a sentence that names it, or opened, read and written. bbolt itself
// panics, or worse, over such files.
func FuzzOpen(f *testing.F) {
	m := down(f)
	whole, _ := lived(f, m)
	page := os.Getpagesize()
	f.Add(uint64(0), uint16(0), []byte{}, false)
	for i := range uint64(40) {
		f.Add(i, uint16(1+i%4), []byte{byte(i), 0xff}, i%2 == 0)
	}
	f.Add(uint64(1), uint16(0), whole[:2*page], true)
	f.Add(uint64(1), uint16(0), []byte("kviz"), true)
	f.Fuzz(func(t *testing.T, seed uint64, changes uint16, put []byte, all bool) {
		file := bytes.Clone(whole)
		if all && changes == 0 {
			file = put
		}
		r := rand.New(rand.NewPCG(seed, 1))
		for range changes % 32 {
			// Most of a file is entries; what breaks bbolt is in the heads of pages.
			at := r.IntN(len(file))
			if r.IntN(2) == 0 {
				at = at/page*page + r.IntN(200)
			}
			if !all && at < 2*page {
				continue // the meta pages have checksums
			}
			if len(put) > 0 {
				copy(file[at:], put)
			} else {
				file[at] = byte(r.Uint32())
			}
		}
		path := m.path(logFile)
		must(t, os.WriteFile(path, file, 0o600))
		d, err := openLog(m, false)
		if err != nil {
			if !strings.Contains(err.Error(), "member m: "+path) {
				t.Fatalf("the refusal names neither member nor file: %v", err)
			}
			return
		}
		defer d.bolt.Close()
		diary(d)
		last, err := d.bolt.LastIndex()
		must(t, err)
		must(t, d.bolt.StoreLogs([]*raft.Log{{Index: last + 1, Term: 10, Type: raft.LogCommand, Data: put, Extensions: Ticket{1, 1, 1}.Bytes()}}))
		must(t, d.bolt.DeleteRange(1, last))
	})
}
