// Package durability kills the whole store with kill -9, again and again, at
// moments drawn by chance while clients write, and looks afterwards whether
// everything that was acknowledged is there.
package durability

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"kviz/raftstore"
	"kviz/raftstore/bench"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/steady"
)

// childDir, in the environment, makes this program the store that is killed.
const childDir = "KVIZ_KILL_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve is the child: three members with small snapshots, so that kills hit
// those too, and the log's cutting.
func serve(dir string) error {
	store, err := raftstore.Open(raftstore.Config{Dir: dir, SnapshotEvery: 300, SnapshotTrailing: 100})
	if err != nil {
		return err
	}
	served, err := etcdapi.Serve(store, etcdapi.Config{})
	if err != nil {
		return err
	}
	none := func() error { return errors.New("not asked for here") }
	err = bench.Serve(os.Stdin, os.Stdout, served.Endpoints, none, none)
	return errors.Join(err, served.Close(), store.Close())
}

// ledger is what was acknowledged: what the parent has seen come back.
type ledger struct {
	mu       sync.Mutex
	acked    map[string]string
	revision int64 // the highest seen
}

func (l *ledger) note(key, value string, revision int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[key] = value
	l.revision = max(l.revision, revision)
}

// TestKillNineLosesNothingAcknowledged kills the process KVIZ_KILLS times (5)
// on one data directory.
func TestKillNineLosesNothingAcknowledged(t *testing.T) {
	steady.RealTime(t, "the store is a process that is killed")
	kills := 5
	if v := os.Getenv("KVIZ_KILLS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	t.Logf("KVIZ_SEED=%d draws when to kill", steady.Seed())
	random := rand.New(rand.NewPCG(steady.Seed(), 0))
	dir := t.TempDir()
	l := &ledger{acked: map[string]string{}}
	for kill := range kills {
		c := start(t, dir)
		if random.IntN(5) == 0 { // while it starts, before anybody could look
			time.AfterFunc(time.Duration(random.IntN(150))*time.Millisecond, c.kill)
			c.wait()
			continue
		}
		client := c.client(t)
		verify(t, client, l)
		// After so many writes, so that a busy machine's kills come as late, and a moment later,
		// so that they come at any point between two.
		writes, moment := random.IntN(800)+1, time.Duration(random.IntN(10_000))*time.Microsecond
		before := len(l.acked)
		load(t.Context(), c, client, l, kill, writes, moment)
		if got := c.wait(); got != syscall.SIGKILL {
			t.Fatalf("the store ended by itself: %v", c.process.ProcessState)
		}
		t.Logf("kill %d: %d writes acknowledged", kill+1, len(l.acked)-before)
	}
	c := start(t, dir)
	verify(t, c.client(t), l)
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	if c.wait(); !c.process.ProcessState.Success() {
		t.Fatalf("the store did not end well: %v", c.process.ProcessState)
	}
	if len(l.acked) == 0 {
		t.Fatal("nothing was acknowledged, nothing was tested")
	}
	t.Logf("%d kills, %d acknowledged writes, none lost", kills, len(l.acked))
}

// TestALostWriteIsSeen has verify find a write that was never made.
func TestALostWriteIsSeen(t *testing.T) {
	steady.RealTime(t, "the store is a process")
	c := start(t, t.TempDir())
	client := c.client(t)
	l := &ledger{acked: map[string]string{"never": "written"}}
	if err := lost(t, client, l); err == nil {
		t.Error("nobody missed a write that was never made")
	}
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	c.wait()
}

// child is the process that is killed.
type child struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	ended   chan struct{}
}

func start(t *testing.T, dir string) *child {
	t.Helper()
	c := &child{process: exec.Command(os.Args[0]), ended: make(chan struct{})}
	c.process.Env = append(os.Environ(), childDir+"="+dir)
	c.process.Stderr = os.Stderr
	in, err := c.process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.process.Wait()
	}()
	t.Cleanup(func() { c.kill(); <-c.ended })
	return c
}

// kill is kill -9; a process that has ended is left alone.
func (c *child) kill() { _ = c.process.Process.Kill() }

// wait is the signal that ended the child, 0 if none did.
func (c *child) wait() syscall.Signal {
	<-c.ended
	if status, ok := c.process.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}

func (c *child) client(t *testing.T) *clientv3.Client {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the store does not open what was left of it: %v", err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(strings.TrimSpace(line), ","), DialTimeout: steady.Patience(t), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// load writes with sixteen clients until the store is gone: it is killed a moment after
// so many writes were acknowledged.
func load(ctx context.Context, c *child, client *clientv3.Client, l *ledger, kill, writes int, moment time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-c.ended
		cancel()
	}()
	var acked atomic.Int64
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key, value := fmt.Sprintf("k/%04d/%02d/%06d", kill, w, n), fmt.Sprintf("v-%d-%d-%d", kill, w, n)
				r, err := client.Put(ctx, key, value)
				if err != nil {
					continue // nobody knows whether it happened
				}
				l.note(key, value, r.Header.Revision)
				if acked.Add(1) == int64(writes) {
					time.AfterFunc(moment, c.kill)
				}
			}
		})
	}
	wg.Wait()
}

func verify(t *testing.T, client *clientv3.Client, l *ledger) {
	t.Helper()
	if err := lost(t, client, l); err != nil {
		t.Fatal(err)
	}
}

// lost is what was acknowledged and is not there.
func lost(t *testing.T, client *clientv3.Client, l *ledger) error {
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	defer cancel()
	have := map[string]string{}
	for key := "k/"; ; {
		r, err := client.Get(ctx, key, clientv3.WithRange("k0"), clientv3.WithLimit(5000))
		if err != nil {
			return err
		}
		if r.Header.Revision < l.revision {
			return fmt.Errorf("the store is at revision %d; it had acknowledged %d", r.Header.Revision, l.revision)
		}
		for _, kv := range r.Kvs {
			have[string(kv.Key)] = string(kv.Value)
			key = string(kv.Key) + "\x00"
		}
		if !r.More {
			break
		}
	}
	missing := 0
	example := ""
	for key, value := range l.acked {
		if have[key] != value {
			missing++
			example = fmt.Sprintf("%s: %q instead of %q", key, have[key], value)
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d acknowledged writes are lost: %s", missing, len(l.acked), example)
	}
	return nil
}
