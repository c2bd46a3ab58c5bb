package remote_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
	"kviz/raftstore/member"
	"kviz/raftstore/remote"
	"kviz/raftstore/steady"
)

// The test binary is a member's process too, when it is told so.
const (
	envName   = "KVIZ_TEST_MEMBER"
	envDir    = "KVIZ_TEST_DIR"
	envCerts  = "KVIZ_TEST_CERTS"
	envListen = "KVIZ_TEST_LISTEN"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(envName); name != "" {
		os.Exit(child(name))
	}
	os.Exit(m.Run())
}

// child is one member. It ends when its parent closes its input, or dies.
func child(name string) int {
	creds, err := remote.LoadCredentials(os.Getenv(envCerts), name)
	if err == nil {
		var p *remote.Process
		p, err = remote.Serve(remote.ProcessConfig{
			Name: name, Listen: os.Getenv(envListen), Dir: os.Getenv(envDir), Credentials: creds, Log: os.Stdout,
		})
		if err == nil {
			_, _ = io.Copy(io.Discard, os.Stdin)
			err = p.Close()
		}
	}
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	return 0
}

// farm is a group of members' processes.
type farm struct {
	t     *testing.T
	dir   string
	certs string
	mu    sync.Mutex
	procs map[string]*proc
	addrs map[string]string

	inside map[string]string // network namespaces of members that have one
	config raftstore.Config  // of the drivers, without what makes them drivers
}

type proc struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

func newFarm(t *testing.T, names ...string) *farm {
	t.Helper()
	steady.RealTime(t, "members are processes that are killed")
	f := &farm{t: t, dir: t.TempDir(), procs: map[string]*proc{}, addrs: map[string]string{}, inside: map[string]string{}}
	f.certs = filepath.Join(f.dir, "certs")
	f.certify(append([]string{remote.Driver}, names...)...)
	for _, name := range names {
		f.launch(name)
	}
	t.Cleanup(func() {
		for _, name := range f.names() {
			f.kill(name)
		}
	})
	return f
}

func (f *farm) certify(names ...string) {
	f.t.Helper()
	if _, err := remote.MakeCerts(f.certs, names...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *farm) names() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.procs {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// launch starts a member's process where it was, or at a free port.
func (f *farm) launch(name string) {
	f.t.Helper()
	listen := f.addrs[name]
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	exe, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	if ns := f.inside[name]; ns != "" {
		cmd = exec.Command("ip", "netns", "exec", ns, exe)
	}
	cmd.Env = append(os.Environ(), envName+"="+name, envDir+"="+filepath.Join(f.dir, name), envCerts+"="+f.certs, envListen+"="+listen)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	p := &proc{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	listening := make(chan string, 1)
	go func() {
		defer close(p.ended)
		defer close(listening)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			f.t.Log(lines.Text())
			if _, addr, ok := strings.Cut(lines.Text(), "listens on "); ok {
				listening <- addr
			}
		}
		_ = cmd.Wait()
	}()
	addr, ok := <-listening
	if !ok {
		f.t.Fatalf("member %s did not start", name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.procs[name], f.addrs[name] = p, addr
}

// kill is kill -9.
func (f *farm) kill(name string) {
	f.end(name, func(p *proc) { _ = p.cmd.Process.Signal(syscall.SIGKILL) })
}

// quit asks the process to end.
func (f *farm) quit(name string) { f.end(name, func(p *proc) { p.stdin.Close() }) }

func (f *farm) end(name string, how func(*proc)) {
	f.mu.Lock()
	p := f.procs[name]
	delete(f.procs, name)
	f.mu.Unlock()
	if p != nil {
		how(p)
		<-p.ended
	}
}

// log is the events that a store told.
type log struct {
	mu     sync.Mutex
	events []raftstore.Event
}

func (l *log) take(e raftstore.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// of are the events of a kind at a member, from a position on.
func (l *log) of(k member.Kind, id string, from int) (list []raftstore.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events[from:] {
		if e.Kind == k && e.Member == id {
			list = append(list, e)
		}
	}
	return list
}

func (l *log) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// driver opens the store over the processes; addresses other than the farm's can be
// given.
func (f *farm) driver(addrs ...string) (*raftstore.Replicated, *log) {
	f.t.Helper()
	s, l, err := f.tryDriver(addrs...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { s.Close() })
	return s, l
}

func (f *farm) tryDriver(addrs ...string) (*raftstore.Replicated, *log, error) {
	creds, err := remote.LoadCredentials(f.certs, remote.Driver)
	if err != nil {
		return nil, nil, err
	}
	if len(addrs) == 0 {
		for _, addr := range f.addrs {
			addrs = append(addrs, addr)
		}
	}
	l := &log{}
	cfg := f.config
	cfg.RequestTimeout = steady.Patience(f.t)
	cfg.Remote, cfg.Events = &raftstore.Remote{Addrs: addrs, Credentials: creds}, l.take
	s, err := raftstore.Open(cfg)
	return s, l, err
}

func do(s *raftstore.Replicated, req *pb.InternalRaftRequest) *raftstore.Result {
	done := make(chan *raftstore.Result, 1)
	s.Do(req, func(r *raftstore.Result) { done <- r })
	return <-done
}

func put(key, value string) *pb.InternalRaftRequest {
	return &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte(key), Value: []byte(value)}}
}

func (f *farm) put(s *raftstore.Replicated, key, value string) int64 {
	f.t.Helper()
	r := do(s, put(key, value))
	if r.Err != nil {
		f.t.Fatalf("put %s: %v", key, r.Err)
	}
	return r.Revision
}

func get(s *raftstore.Replicated, key string) (string, error) {
	r := do(s, &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte(key)}})
	if r.Err != nil {
		return "", r.Err
	}
	kvs := r.Response.(*pb.RangeResponse).Kvs
	if len(kvs) == 0 {
		return "", nil
	}
	return string(kvs[0].Value), nil
}

func (f *farm) want(s *raftstore.Replicated, key, value string) {
	f.t.Helper()
	if got, err := get(s, key); err != nil || got != value {
		f.t.Fatalf("get %s: %q %v, want %q", key, got, err, value)
	}
}

// eventually waits for something that other processes do.
func (f *farm) eventually(what string, ok func() bool) {
	f.t.Helper()
	steady.Until(f.t, what, ok)
}

func (f *farm) leader(s *raftstore.Replicated) (id string) {
	f.t.Helper()
	f.eventually("there is a leader that reaches a quorum", func() bool {
		id = s.Leader()
		return id != "" && s.Healthy()
	})
	return id
}

// equal waits until every running member holds the same, by the hash that its
// own process makes.
func (f *farm) equal(s *raftstore.Replicated) {
	f.t.Helper()
	var last []string
	f.eventually("the members hold the same", func() bool {
		last = last[:0]
		seen := map[string]bool{}
		for _, m := range s.Members() {
			if !m.Up {
				continue
			}
			h, err := s.HashKV(m.ID, 0)
			last = append(last, fmt.Sprint(m.ID, h, err))
			seen[fmt.Sprint(h.Hash, h.Revision, err)] = true
		}
		return len(seen) == 1
	})
}

func status(s *raftstore.Replicated, id string) raftstore.MemberStatus {
	for _, m := range s.Members() {
		if m.ID == id {
			return m
		}
	}
	return raftstore.MemberStatus{}
}
