//go:build tmpfs

package raftstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// A real file system runs full under a store, is given room, and runs full again. Needs
// root: go test -tags tmpfs ./raftstore -run Tmpfs
func TestTmpfsRunsFull(t *testing.T) {
	steady.RealTime(t, "the file system that runs full is the kernel's")
	dir := t.TempDir()
	if err := syscall.Mount("kviz", dir, "tmpfs", 0, "size=12m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, 0)) })
	s := open(t, raftstore.Config{Dir: filepath.Join(dir, "store"), RequestTimeout: 2 * time.Second})
	ballast := filepath.Join(dir, "ballast")
	acked := map[string]bool{}
	n := 0
	put := func() error {
		n++
		key := fmt.Sprint("k", n)
		r := call(s, putReq(key, string(make([]byte, 2000))))
		if r.Err == nil {
			acked[key] = true
		}
		return r.Err
	}
	steady.Until(t, "the first put", func() bool { return put() == nil })
	for round := range 3 {
		must(t, os.WriteFile(ballast, nil, 0o600))
		f, err := os.OpenFile(ballast, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		for err == nil { // what is left of the disk, to the last page
			_, err = f.Write(make([]byte, 4096))
		}
		f.Close()
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		refused := 0
		for refused < 5 {
			err := put()
			if errors.Is(err, rpctypes.ErrGRPCNoSpace) {
				refused++
			} else if err != nil {
				t.Logf("round %d, put %d: %v", round, n, err)
			}
		}
		for _, m := range s.Members() {
			t.Logf("round %d: %s up %v, full %v: %s", round, m.ID, m.Up, m.FullDisk, m.Reason)
		}
		must(t, os.Remove(ballast))
		start := time.Now()
		steady.Until(t, "the store takes writes again", func() bool { return put() == nil && s.Whole() })
		t.Logf("round %d: whole again after %v, %d puts acknowledged of %d", round, time.Since(start), len(acked), n)
	}
	for key := range acked {
		if got := get(t, s, key); len(got) != 2000 {
			t.Fatalf("%s, which was acknowledged, has %d bytes", key, len(got))
		}
	}
}
