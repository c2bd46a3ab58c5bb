package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/raftstore/steady"
	"kviz/tui/tuitest"
)

// holding is a cluster whose commands run until the test ends them.
type holding struct {
	*tuitest.Cluster
	begun chan *held
	over  chan struct{}
}

// held is a command that runs.
type held struct {
	io.Writer
	ctx  context.Context
	line string
	lend control.Lend
	exit chan int
}

func (h holding) Exec(ctx context.Context, line string, streams control.Streams) int {
	c := &held{streams.Out, ctx, line, streams.Lend, make(chan int)}
	h.begun <- c
	select {
	case code := <-c.exit:
		return code
	case <-ctx.Done():
		return 130
	case <-h.over:
		return 0
	}
}

// hold drives an explorer whose commands are held, its console open.
func hold(t *testing.T, w, h int) (*driver, func(line string) *held) {
	c := holding{begun: make(chan *held), over: make(chan struct{})}
	d := explore(t, w, h, -1, func(cfg *Config) {
		c.Cluster = cfg.Cluster.(*tuitest.Cluster)
		cfg.Cluster = c
		cfg.Lend = func(context.Context, string, []string) error { return nil }
	})
	d.m.send = func(msg tea.Msg) { msg.(lendMsg).done <- msg.(lendMsg).run() }
	t.Cleanup(func() { close(c.over); d.m.safe.Wait() })
	if err := d.c.Resume(); err != nil {
		t.Fatal(err)
	}
	d.press(":")
	return d, func(line string) *held {
		d.typed(line).press("enter")
		return <-c.begun
	}
}

// until waits for what a command's end brings.
func (d *driver) until(what string) {
	d.t.Helper()
	steady.Await(d.t, fmt.Sprintf("%q on the screen", what), func() error {
		if d.look(); !strings.Contains(d.screen(), what) {
			return errors.New("it shows:\n" + d.screen())
		}
		return nil
	})
}

const header = "NAME   READY   STATUS    RESTARTS   AGE\n"

// Two commands run in the background, one of them in the middle of a line, and the prompt is free.
func TestJobs(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			d, run := hold(t, size[0], size[1])
			pods := run("kubectl get pods -w")
			fmt.Fprint(pods, header)
			d.press()
			d.look()
			d.shows("running kubectl get pods -w", "^z background", "^c interrupt")
			d.press("ctrl+z")
			d.shows("[1] runs in the background: kubectl get pods -w", "^c end [1]")
			events := run("kubectl get events -w &")
			fmt.Fprint(events, "LAST SEEN   TYPE ")
			fmt.Fprint(pods, "web    0/1     Pending   0          0s\n")
			fmt.Fprint(events, "  REASON\n")
			d.look()
			d.shows("[2] LAST SEEN   TYPE   REASON", "background [1] [2]")
			apply := run("kubectl apply -f hello.yaml")
			fmt.Fprint(apply, "deployment.apps/web created\n")
			fmt.Fprint(pods, strings.Repeat("a line that is too long for the screen, ", size[0]/30)+"\n")
			d.look()
			d.shows("running kubectl apply", "background [1] [2]")
			tuitest.Golden(t, fmt.Sprintf("%dx%d-jobs", size[0], size[1]), d.planes())
			apply.exit <- 0
			pods.exit <- 1
			d.until("[1] exit status 1  kubectl get pods -w")
			events.exit <- 0
			d.until("[2] done  kubectl get events -w")
			d.hides("background [")
			d.until("^c interrupt")
		})
	}
}

// The keys and lines that are about what runs behind.
func TestJobsAreListedEndedAndBroughtBack(t *testing.T) {
	d, run := hold(t, 120, 40)
	d.typed("jobs").press("enter")
	d.shows("nothing runs in the background")
	one := run("kubectl get pods -w & ")
	d.typed("clear").press("enter").typed("jobs").press("enter")
	d.shows("[1] kubectl get pods -w")
	for line, says := range map[string]string{
		"kill": "kill: which?", "kill %7": "kill: %7: there is no such job", "fg %x": "fg: %x: there is no such job", "bg": "goes on by itself",
	} {
		d.typed(line).press("enter")
		d.shows(says)
	}
	two, three := run("kubectl logs -f web &"), run("kubectl get nodes -w")
	d.typed("kubectl get pods").press("enter")
	d.shows("still running: kubectl get nodes -w  (ctrl+z puts it into the background, ctrl+c ends it)")
	d.press("ctrl+z")
	d.typed("clear").press("enter").typed("kill %").press("tab")
	d.shows("%1  %2  %3")
	d.typed("1").press("enter")
	<-one.ctx.Done()
	d.until("[1] ended  kubectl get pods -w")
	d.press("a", "ctrl+c") // which empties the line
	if three.ctx.Err() != nil {
		t.Fatal("ctrl+c in a line ended what runs behind")
	}
	d.press("ctrl+c")
	<-three.ctx.Done()
	d.until("[3] ended  kubectl get nodes -w")
	d.typed("fg").press("enter")
	d.shows("running kubectl logs -f web")
	d.hides("background [")
	fmt.Fprint(two, "a line in front\n")
	d.look()
	d.shows("│ a line in front")
	d.press("ctrl+z") // under its own number
	d.shows("[2] runs in the background")
	fmt.Fprint(two, "a line behind\n")
	d.look()
	d.shows("│ [2] a line behind")
	two.exit <- 0
	d.until("[2] done  kubectl logs -f web")
	four := run("sleep 5 &")
	d.shows("[1] runs in the background: sleep 5")
	d.press("ctrl+c")
	<-four.ctx.Done()
	d.until("[1] ended  sleep 5")
	if d.press("ctrl+c"); d.m.drawer.Typing() {
		t.Error("with nothing left to end, ctrl+c does not leave the console")
	}
}

// ctrl+z puts the explorer to sleep where no command of the console is in front.
func TestCtrlZ(t *testing.T) {
	d, run := hold(t, 80, 24)
	suspends := func() bool {
		_, cmd := d.m.Update(tuitest.Press("ctrl+z"))
		if cmd == nil {
			return false
		}
		_, yes := cmd().(tea.SuspendMsg)
		return yes
	}
	if !suspends() {
		t.Error("not at an empty prompt")
	}
	c := run("sleep 5")
	d.press("esc")
	if !suspends() {
		t.Error("not in the panes")
	}
	d.press(":")
	d.press("ctrl+z")
	d.shows("[1] runs in the background: sleep 5")
	if !suspends() {
		t.Error("not beside a command that is behind already")
	}
	c.exit <- 0
	d.until("[1] done")
}

// An editor opens only for what is in front, and one at a time.
func TestTheTerminalIsLentToOne(t *testing.T) {
	d, run := hold(t, 80, 24)
	behind := run("kubectl edit configmap a &")
	if err := behind.lend(t.Context(), "", nil); !errors.Is(err, control.ErrNotLent) || !strings.Contains(err.Error(), "run it again in the foreground") {
		t.Errorf("behind: %v", err)
	}
	front := run("kubectl edit configmap b")
	open, done := make(chan struct{}), make(chan struct{})
	d.m.cfg.Lend = func(context.Context, string, []string) error { close(open); <-done; return nil }
	ended := make(chan error)
	go func() { ended <- front.lend(t.Context(), "", nil) }()
	<-open
	if err := front.lend(t.Context(), "", nil); !errors.Is(err, control.ErrNotLent) || !strings.Contains(err.Error(), "kubectl edit configmap b has it") {
		t.Errorf("while it is lent: %v", err)
	}
	close(done)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	d.m.cfg.Lend = func(context.Context, string, []string) error { return nil }
	if err := front.lend(t.Context(), "", nil); err != nil {
		t.Errorf("given back: %v", err)
	}
	behind.exit <- 1
	front.exit <- 0
	d.until("[1] exit status 1")
}
