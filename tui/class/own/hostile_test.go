package own_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/raftstore/steady"
	"kviz/tui/class/own"
)

// private is a private cluster in a bubble, and where its files are.
func private(t *testing.T, seed uint64, limits own.Limits) (l *own.Limited, c *cluster.Cluster, end func()) {
	t.Helper()
	c, err := cluster.Boot(t.Context(), cluster.Config{Seed: seed, Bare: true, Nodes: 1, Speed: 1})
	if err == nil {
		err = c.WaitReady(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if l, err = own.NewLimited(c, limits); err != nil {
		t.Fatal(err)
	}
	return l, c, func() {
		if err := errors.Join(c.Close(), l.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestHostileLines: each is refused in words and comes to an end, and the student's next line, and the neighbour, are as before.
func TestHostileLines(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("the truth"), 0o600); err != nil {
		t.Fatal(err)
	}
	steady.Bubble(t, func(t *testing.T) {
		l, _, end := private(t, 7, own.Limits{})
		defer end()
		neighbour, _, ends := private(t, 8, own.Limits{})
		defer ends()
		theirs := t.TempDir()
		if before := neighbour.Scene().Stand(theirs); before == "" {
			t.Error("it stood nowhere")
		}
		if said, exit := exec(neighbour, "echo mine > here"); exit != 0 {
			t.Fatal(said)
		}
		const long, much, outside = "too many commands in a short time", "printed more than a class has room for", "outside the only folder"
		for line, want := range map[string]string{
			"while true; do :; done":                          long,
			"while ((1)); do ((i++)); done":                   long,
			"until [[ a == b ]]; do [[ a == b ]]; done":       long,
			"for ((;;)); do x=1; done":                        long,
			"seq 1 3 | while ((1)); do ((i++)); done":         long,
			"sh -c 'while ((1)); do ((i++)); done'":           long,
			"f() { f; }; f":                                   long,
			"f() { f | f; }; f":                               long,
			"x=aaaaaaaaaaaaaaaa; while true; do x=$x$x; done": "variables hold more than",
			"x=" + strings.Repeat("a", 4000) + strings.Repeat("; x=$x$x$x$x$x$x$x$x", 20): "variables hold more than",
			"eval 'while true; do :; done'":                                               "write the commands themselves",
			"sh -c 'f() { f & f & }; f'":                                                  "& is not possible",
			"f() { f & f & }; f":                                                          "& puts a whole line behind",
			"seq 1 1000000000":                                                            much,
			"seq 1 1000000000 > numbers":                                                  much,
			"seq 1 1000000000 | wc -l":                                                    much,
			"x=$(seq 1 1000000000)":                                                       much,
			"cat " + secret:                                                               "secret",
			"cat ../../../../../../etc/passwd":                                            outside,
			"echo x > ../x":                                                               "..",
			"head -1 /etc/passwd":                                                         outside,
			"kubectl apply -f " + secret:                                                  outside,
			"cat " + filepath.Join(theirs, "here"):                                        outside,
			"source " + secret:                                                            "not possible in a class",
			"kviz serve":                                                                  "not possible in a class",
			"kubectl edit configmap kube-root-ca.crt":                                     "edit",
			"kubectl create deployment web --image=nginx --replicas=5000":                 "200 pods are the most",
			"echo " + strings.Repeat("x", 10_000):                                         "too long",
		} {
			time.Sleep(10 * time.Second) // so that it is not refused for those before it
			said, exit := exec(l, line)
			if exit == 0 || !strings.Contains(said, want) || strings.Contains(said, "the truth") || strings.Contains(said, "root:") {
				t.Errorf("%s\nends with %d, and does not say %q:\n%.500s", line, exit, want, said)
			}
			if len(said) > 70<<10 {
				t.Errorf("%s prints %d bytes", line, len(said))
			}
		}
		time.Sleep(10 * time.Second)
		if said, exit := exec(l, "kubectl get nodes -o name"); exit != 0 || !strings.Contains(said, "node/node-1") {
			t.Errorf("after all that a line ends with %d: %s", exit, said)
		}
		if said, exit := exec(neighbour, "cat here"); exit != 0 || said != "mine\n" {
			t.Errorf("the neighbour's line ends with %d: %s", exit, said)
		}
	})
	nothingIn(t, dir)
}

// TestLinesThatAreUsual are let through as they are.
func TestLinesThatAreUsual(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		l, _, end := private(t, 9, own.Limits{})
		defer end()
		for line, want := range map[string]string{
			"false; echo $?":                                            "1\n",
			"false; x=$?; echo $x":                                      "1\n",
			"for i in 1 2 3; do printf $i; done":                        "123",
			"(exit 3); while [ $? -eq 3 ]; do echo three; break; done":  "three\n",
			"x=1; y=$((x+1)); echo $y > f; cat f":                       "2\n",
			"f() { local a=$1; echo $a; }; f word":                      "word\n",
			"kubectl get nodes -o name | sed s/node-1/one/":             "node/one\n",
			"sh -c 'echo $0 $1' a b":                                    "a b\n",
			"kubectl apply -f manifests/hello.yaml >/dev/null; echo $?": "0\n",
		} {
			time.Sleep(2 * time.Second)
			if said, exit := exec(l, line); exit != 0 || said != want {
				t.Errorf("%s\nends with %d: %q, want %q", line, exit, said, want)
			}
		}
	})
}

// TestOneCannotHaveMore than so many lines and faults in a time, and so many bytes in one's folder.
func TestOneCannotHaveMore(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		l, _, end := private(t, 10, own.Limits{Commands: 5, Faults: 2, Files: 2 << 20})
		defer end()
		for range 5 {
			if said, exit := exec(l, "true"); exit != 0 {
				t.Fatal(said)
			}
		}
		if said, exit := exec(l, "true"); exit == 0 || !strings.Contains(said, "too many commands") {
			t.Errorf("the sixth of five lines ends with %d: %s", exit, said)
		}
		time.Sleep(10 * time.Second)
		fault := control.Fault{Name: "stop", Target: "registry"}
		if err := l.Fault(t.Context(), fault); err != nil {
			t.Fatal(err)
		}
		if said, exit := exec(l, "kviz fault start registry"); exit != 0 {
			t.Fatal(said)
		}
		if err := l.Fault(t.Context(), fault); err == nil {
			t.Error("the third of two faults")
		}
		if said, exit := exec(l, "kviz fault stop registry"); exit == 0 || !strings.Contains(said, "too many faults") {
			t.Errorf("the fourth of two faults ends with %d: %s", exit, said)
		}
		time.Sleep(10 * time.Second)
		if said, exit := exec(l, "for i in 1 2 3 4 5 6; do seq 1 100000 > f$i; done"); exit == 0 || !strings.Contains(said, "folder is full") {
			t.Errorf("3.5 MB of files, of two, end with %d: %s", exit, said)
		}
		if said, exit := exec(l, "> f1; > f2; > f3; > f4; seq 1 100000 > again && echo there"); exit != 0 || !strings.Contains(said, "there") {
			t.Errorf("where there is room again it ends with %d: %s", exit, said)
		}
		time.Sleep(10 * time.Second)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan int)
		for range 4 {
			go func() { ended <- l.Exec(ctx, "sleep 1000", control.Streams{Source: "console"}) }()
		}
		time.Sleep(time.Second)
		if said, exit := exec(l, "true"); exit == 0 || !strings.Contains(said, "at the same time") {
			t.Errorf("the fifth line at a time ends with %d: %s", exit, said)
		}
		stop()
		for range 4 {
			<-ended
		}
	})
}
