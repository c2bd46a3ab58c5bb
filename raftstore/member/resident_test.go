package member

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// residentPages is how many KiB of a file are mapped into this process.
func residentPages(t *testing.T, path string) (kib int) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ours := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if strings.Contains(line, "-") && !strings.Contains(line, "kB") {
			ours = strings.HasSuffix(line, path)
		}
		if rest, ok := strings.CutPrefix(line, "Rss:"); ok && ours {
			var n int
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
			kib += n
		}
	}
	return kib
}

func TestALongLogDoesNotStayInMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("pages are given back on Linux only")
		return
	}
	path := filepath.Join(t.TempDir(), logFile)
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: path, NoSync: true, BoltOptions: &bbolt.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	defer bolt.Close()
	d := &disk{bolt: &boltLog{BoltStore: bolt}}
	data := make([]byte, 4096)
	const batch, batches = 64, 128 // 32 MiB
	write := func(b int) []*raft.Log {
		logs := make([]*raft.Log, batch)
		for i := range logs {
			logs[i] = &raft.Log{Index: uint64(b*batch + i + 1), Term: 1, Data: data}
		}
		if err := bolt.StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
		return logs
	}
	for b := range batches {
		write(b)
	}
	read := func() {
		for i := 1; i <= batch*batches; i++ {
			var l raft.Log
			if err := bolt.GetLog(uint64(i), &l); err != nil || l.Index != uint64(i) || len(l.Data) != len(data) {
				t.Fatalf("entry %d reads as %d with %d bytes, %v", i, l.Index, len(l.Data), err)
			}
		}
	}
	read()
	all := residentPages(t, path)
	for b := range residentLog / (batch * len(data)) {
		d.wrote(write(batches + b))
	}
	left := residentPages(t, path)
	t.Logf("all read: %d KiB; %d KiB after %d more bytes", all, left, residentLog)
	if all < 30<<10 || left > 1<<10 {
		t.Error("want 30 MiB or more when all is read, and less than 1 MiB when given back")
	}
	read()
}
