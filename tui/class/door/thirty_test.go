package door_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"kviz/raftstore/steady"
	"kviz/tui/class/door"
)

// sizes are those of terminals that students have, and one that nobody has.
var sizes = [8][2]int{{80, 24}, {120, 40}, {60, 18}, {200, 60}, {100, 30}, {40, 12}, {132, 43}, {4_000_000_000, 4_000_000_000}}

// Thirty students come in at the same moment over sockets, with a code and eight sizes. Each is greeted by name at the
// own size, and is answered. Then some drop, some stop reading, some stay, and the class ends. Of all of it nothing is left.
func TestThirtyAtOnce(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	key, err := door.HostKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := door.Open(door.Config{Host: host(echo), Key: key, Code: "plum-fern-42"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := door.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Serve(l); err != nil {
		t.Fatal(err)
	}
	clients := make([]*client, 30)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			name := fmt.Sprint("student", i)
			ssh, err := handshake(conn, as{user: "pi", key: signer(t, byte(i)), answer: types(name, "plum-fern-42", "")})
			if err != nil {
				t.Error(err)
				return
			}
			size := sizes[i%len(sizes)]
			k := terminal(t, ssh, size[0], size[1])
			w, h := min(size[0], 500), min(size[1], 200)
			k.sees(fmt.Sprintf("hello %s %dx%d\r\n", name, w, h))
			k.typed(fmt.Sprint("answer", i, "\r"))
			k.sees(fmt.Sprint("answer", i, "\r\n"))
			clients[i] = k
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for i, k := range clients {
		switch i % 3 {
		case 0:
			k.ssh.Close() // drops
			<-k.ended
		case 1:
			k.typed("bye\r")
			if status := k.over(); status != 0 {
				t.Errorf("student%d left with %d", i, status)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	for i, k := range clients {
		if i%3 == 2 {
			k.sees("The class is over.")
			k.over()
		}
	}
	if r := d.Refusals(); len(r) > 0 {
		t.Errorf("refused %+v", r)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("beside the key there is %v, %v", files, err)
	}
	steady.Await(t, "no goroutine is left", func() error {
		if now := runtime.NumGoroutine(); now > before {
			stacks := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines, %d before:\n%s", now, before, stacks[:runtime.Stack(stacks, true)])
		}
		return nil
	})
}

// The key is made once, and is nobody else's: a file that others can read is refused.
func TestTheHostKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "class")
	fingerprints := make(chan string, 8)
	for range cap(fingerprints) { // a class and its rehearsal may start at the same moment
		go func() {
			key, err := door.HostKey(dir)
			if err != nil {
				t.Error(err)
				fingerprints <- ""
				return
			}
			fingerprints <- string(key.PublicKey().Marshal())
		}()
	}
	first := <-fingerprints
	for range cap(fingerprints) - 1 {
		if again := <-fingerprints; again != first {
			t.Error("there are two keys")
		}
	}
	path := filepath.Join(dir, "host_ed25519")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("the key has mode %s", info.Mode())
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("beside the key there is %v", files)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := door.HostKey(dir); err == nil || !strings.Contains(err.Error(), "must be a file of mode 0600") {
		t.Errorf("a key that others can read: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)); err != nil {
		t.Fatal(err)
	}
	if _, err := door.HostKey(dir); err == nil || !strings.Contains(err.Error(), "must be a file of mode 0600") {
		t.Errorf("a key that is a link: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("nonsense"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := door.HostKey(dir); err == nil || !strings.Contains(err.Error(), "remove it, and a new one is made") {
		t.Errorf("a key that is none: %v", err)
	}
}

// The owner comes in by a socket of mode 0600 without name and code, in a role; the socket is gone afterwards, one that was left
// behind is replaced, and one at which somebody listens is not.
func TestTheOwnersSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()

	roles := make(chan string, 1)
	d, err := door.Open(door.Config{Key: signer(t, 1), Code: "plum-42", Limits: door.Limits{Visits: 1}, Host: host(func(ctx ctx, v *door.Visit) error {
		roles <- v.Role + "/" + v.Name
		return echo(ctx, v)
	})})
	if err != nil {
		t.Fatal(err)
	}
	l, err := door.ListenOwner(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.ServeOwner(l); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	if _, err := door.ListenOwner(path); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("listening at a socket in use: %v", err)
	}
	var in []*client
	for _, role := range []string{"present", "notes"} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		ssh, err := handshake(conn, as{user: role})
		if err != nil {
			t.Fatal(err)
		}
		k := terminal(t, ssh, 80, 24)
		k.sees("hello")
		if got := <-roles; got != role+"/" {
			t.Errorf("%s came in as %s", role, got)
		}
		in = append(in, k)
	}
	in[0].leaves()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	in[1].sees("The class is over.")
	in[1].over()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := io.WriteString(in[1].in, "x"); err == nil {
		t.Error("a closed terminal takes keys")
	}
}
