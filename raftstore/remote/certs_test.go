package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kviz/raftstore/steady"
)

// solo is a member's process that belongs to no group.
func solo(t *testing.T, certs, name string) *Process {
	t.Helper()
	steady.RealTime(t, "a member's process listens on the machine")
	p, err := Serve(ProcessConfig{Name: name, Listen: "127.0.0.1:0", Dir: filepath.Join(t.TempDir(), name), Credentials: credentials(t, certs, name), Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func makeCerts(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "certs")
	if _, err := MakeCerts(dir, names...); err != nil {
		t.Fatal(err)
	}
	return dir
}

func credentials(t *testing.T, dir, name string) *Credentials {
	t.Helper()
	c, err := LoadCredentials(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCertificatesAreTheirOwnersOnly(t *testing.T) {
	dir := makeCerts(t, "a", Driver)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 6 {
		t.Errorf("%v: want a pair for the authority, for a and for the driver", files)
	}
	before := map[string][]byte{}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v, want mode 0600", f, info.Mode(), err)
		}
		before[f], _ = os.ReadFile(f)
	}
	made, err := MakeCerts(dir, "a", "d")
	if err != nil || len(made) != 2 {
		t.Errorf("a later member: made %v, %v; want a pair", made, err)
	}
	for _, f := range files {
		if after, _ := os.ReadFile(f); !bytes.Equal(after, before[f]) {
			t.Errorf("%s was made anew", f)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "a.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCredentials(dir, "a"); err == nil || !strings.Contains(err.Error(), "can be read by others") {
		t.Errorf("a key that everybody can read: %v", err)
	}
	if _, err := MakeCerts(dir, "../x"); err == nil {
		t.Error("a name that leads out of the folder was taken")
	}
	for from, to := range map[string]string{"d.crt": "e.crt", "d.key": "e.key"} {
		b, _ := os.ReadFile(filepath.Join(dir, from))
		if err := os.WriteFile(filepath.Join(dir, to), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadCredentials(dir, "e"); err == nil || !strings.Contains(err.Error(), `certificate of "d"`) {
		t.Errorf("another's certificate: %v", err)
	}
}

// Nobody gets a byte out of a member without the right certificate.
func TestWhoIsTurnedAway(t *testing.T) {
	ours, theirs := makeCerts(t, "a", "b", Driver), makeCerts(t, "a", "b", Driver)
	p := solo(t, ours, "a")
	driver, member, stranger := credentials(t, ours, Driver), credentials(t, ours, "b"), credentials(t, theirs, Driver)
	none, old := *driver, *driver
	none.pair = tls.Certificate{}
	foreign := *stranger
	foreign.pool = driver.pool // believes us, but is not ours
	for _, c := range []struct {
		name  string
		creds *Credentials
		hello hello
		want  string
	}{
		{"another authority's driver, who does not believe us", stranger, hello{Role: roleDrive, Driver: "x"}, "unknown authority"},
		{"another authority's driver", &foreign, hello{Role: roleDrive, Driver: "x"}, "certificate"},
		{"no certificate", &none, hello{Role: roleDrive, Driver: "x"}, "certificate required"},
		{"a member that wants to drive", member, hello{Role: roleDrive, Driver: "x"}, "needs a driver's certificate"},
		{"a driver that speaks as a member", driver, hello{Role: roleRaft}, "does not speak for a member"},
		{"a driver that reads without driving", driver, hello{Role: roleFollow, Driver: "x"}, "another driver"},
		{"somebody who means another member", member, hello{Role: roleWatch, To: "c"}, "this is member a, not c"},
		{"something unknown", driver, hello{Role: "dance", Driver: "x"}, "not known here"},
	} {
		l, _, err := dial(context.Background(), c.creds, p.Addr(), c.hello)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want something with %q", c.name, err, c.want)
		}
	}
	// TLS 1.2 is too old, whatever the certificate.
	config := old.client()
	config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if c, err := tls.Dial("tcp", p.Addr(), config); err == nil {
		c.Close()
		t.Error("TLS 1.2 was taken")
	}
	l, _, err := dial(context.Background(), driver, p.Addr(), hello{Role: roleDrive, Driver: "x"})
	if err != nil {
		t.Fatal("the right driver: ", err)
	}
	defer l.Close()
	if _, _, err := dial(context.Background(), driver, p.Addr(), hello{Role: roleDrive, Driver: "y"}); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "driven by another kviz") {
		t.Errorf("a second driver: %v", err)
	}
}

// A member of another version says so instead of guessing.
func TestAnotherVersionIsTurnedAway(t *testing.T) {
	certs := makeCerts(t, "a", Driver)
	p := solo(t, certs, "a")
	c, err := tls.Dial("tcp", p.Addr(), credentials(t, certs, Driver).client())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l := &line{Conn: c}
	_ = l.SetDeadline(time.Now().Add(steady.Patience(t)))
	if err := l.send(&hello{Schema: "1234", Role: roleDrive, Driver: "x"}); err != nil {
		t.Fatal(err)
	}
	var w welcome
	if err := l.receive(&w, maxHello); err != nil || !strings.Contains(w.Refused, "different versions") {
		t.Errorf("%+v %v", w, err)
	}
	if n, err := l.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%d bytes, %v after it", n, err)
	}
}
