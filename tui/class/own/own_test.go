package own_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/vt"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/class"
	"kviz/tui/class/guest"
	"kviz/tui/class/lead"
	"kviz/tui/class/own"
	"kviz/tui/class/teacher"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// forks runs runs again as kviz class does.
type forks struct{ fails error }

func (f forks) Outlook(past []*trace.Event, at trace.ID) (control.ForkOutlook, error) {
	return cluster.Foresee(past, at)
}

func (f forks) Fork(ctx context.Context, of own.Fork) (own.Cluster, error) {
	if f.fails != nil {
		return nil, f.fails
	}
	c, err := cluster.Fork(ctx, of.Past, cluster.ForkConfig{Parent: "the class", At: of.At, Speed: 1, Quota: of.Quota, Progress: of.Progress})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// taught is a class on a real cluster, at its first beat.
type taught struct {
	t       *testing.T
	cluster *cluster.Cluster
	room    *class.Room
	lead    *lead.Lead
	runs    *own.Runs
	end     func()
}

// teach begins a class in a bubble. Its cluster stands, so that what others do to it would be seen.
func teach(t *testing.T, cfg own.Config) *taught {
	t.Helper()
	text, err := os.ReadFile("testdata/lesson.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := lessons.Load(fstest.MapFS{"L51/lesson.md": {Data: text}}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 5, Bare: true, Nodes: 1, Speed: 1})
	if err == nil {
		err = c.WaitReady(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	player := lessons.NewPlayer(c, all, lessons.NewProgress(time.Now))
	room := class.NewRoom(time.Now, nil)
	room.Begin("L51@1")
	l := lead.New(lead.Config{Cluster: c, History: view.NewHistory(c.Trace()), Player: player, Panes: panes.All, Room: room, Lesson: "L51"})
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	steady.Await(t, "the first beat", func() error {
		if b := l.Scene().Stand.Look.Beat; b == nil || !b.Acts {
			return errors.New("not yet")
		}
		return nil
	})
	if cfg.Forker == nil {
		cfg.Forker = forks{}
	}
	cfg.Lead, cfg.Room, cfg.Teacher, cfg.Theme = l, room, "Ada", "dark"
	cfg.Changes = func() (scene, r <-chan struct{}) { return l.Changed.Next(), room.Changed.Next() }
	cfg.Branch = func(c lessons.Cluster) (own.Player, error) {
		return player.Branch(c, lessons.NewProgress(time.Now))
	}
	cfg.Used = func() int64 { return 0 }
	runs := own.New(cfg)
	beside.Go(func() { runs.Run(ctx) })
	return &taught{t: t, cluster: c, room: room, lead: l, runs: runs, end: func() {
		if err := runs.Close(); err != nil {
			t.Errorf("the private clusters end with %v", err)
		}
		cancel()
		beside.Wait()
		player.Close()
		if err := c.Close(); err != nil {
			t.Errorf("the class's cluster ends with %v", err)
		}
	}}
}

// desk is a student's terminal.
type desk struct {
	t    *testing.T
	emu  *vt.SafeEmulator
	mu   sync.Mutex
	keys *io.PipeWriter
	*own.Terminal
}

// sits gives a student a terminal, which one program after another reads.
func (c *taught) sits() *desk {
	d := &desk{t: c.t, emu: vt.NewSafeEmulator(100, 30)}
	read, write := io.Pipe()
	d.keys = write
	go func() { _, _ = io.Copy(io.Discard, d.emu) }() // answers to what programs ask
	typed := make(chan byte, 1<<10)
	go func() {
		defer close(typed)
		b := make([]byte, 1)
		for {
			if _, err := read.Read(b); err != nil {
				return
			}
			typed <- b[0]
		}
	}()
	d.Terminal = &own.Terminal{Out: d, Size: [2]int{100, 30}, Resized: make(chan struct{}, 1), Input: func(ctx context.Context) io.ReadCloser {
		ctx, cancel := context.WithCancel(ctx)
		return &reader{ctx, cancel, typed}
	}}
	return d
}

// reader is what is typed until it is closed.
type reader struct {
	ctx   context.Context
	end   context.CancelFunc
	typed <-chan byte
}

func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, io.EOF
	}
	select {
	case b, ok := <-r.typed:
		if !ok {
			return 0, io.EOF
		}
		p[0] = b
		return 1, nil
	case <-r.ctx.Done():
		return 0, io.EOF
	}
}

func (r *reader) Close() error { r.end(); return nil }

// Write is [io.Writer].
func (d *desk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.emu.Write([]byte(strings.ReplaceAll(string(p), "\n", "\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (d *desk) sees(text string) {
	d.t.Helper()
	steady.Await(d.t, fmt.Sprintf("%q on the screen", text), func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if s := d.emu.String(); !strings.Contains(s, text) {
			return errors.New("it shows:\n" + s)
		}
		return nil
	})
}

func (d *desk) types(text string) {
	d.t.Helper()
	if _, err := d.keys.Write([]byte(text)); err != nil {
		d.t.Fatal(err)
	}
}

// rests waits for what a program had asked for by the clock, and no longer wants.
func (d *desk) rests() { time.Sleep(time.Minute) }

func (d *desk) leaves() {
	d.keys.Close()
	d.emu.Close()
}

// exec runs a line in a cluster.
func exec(c interface {
	Exec(context.Context, string, control.Streams) int
}, line string,
) (said string, exit int) {
	var out strings.Builder
	exit = c.Exec(context.Background(), line, control.Streams{Out: &out, Err: &out, Source: "console"})
	return out.String(), exit
}

// TestAStudentGoesIntoARunOfTheirOwn from a gate, does there what the beat asks, is called back in the midst of a command, finds
// it again, and returns. The class's own run is not touched.
func TestAStudentGoesIntoARunOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	steady.Bubble(t, func(t *testing.T) {
		screens := guest.New("Ada")
		c := teach(t, own.Config{Screens: screens})
		synctest.Wait() // the lesson has had the cluster go on for the beat
		if err := c.cluster.Pause(); err != nil {
			t.Fatal(err)
		}
		steady.Until(t, "that the class's cluster stands", func() bool { return c.cluster.Clock().Paused })
		c.room.Come("mira")
		c.room.Gate("make", class.Open)
		steady.Await(t, "clusters that are made ahead", func() error {
			if all, ahead, _ := c.runs.There(); all != 4 || ahead != 4 {
				return fmt.Errorf("%d, %d of them ahead", all, ahead)
			}
			return nil
		})
		before, stood := c.cluster.Trace().Len(), c.cluster.Clock()

		d := c.sits()
		defer d.leaves()
		back := make(chan error, 1)
		goes := func() { go func() { back <- c.runs.Enter(t.Context(), d.Terminal, "mira") }() }
		seat := func() class.Seat { s, _ := c.room.State().Seat("mira"); return s }
		goes()
		d.sees("Make a ConfigMap that is called mine.")
		steady.Until(t, "that the class knows where they are", func() bool { return seat().Alone && seat().Of == 1 && seat().Done == 0 })
		d.types("?")
		d.sees("kubectl can make one.")
		d.types("?")
		d.sees("Give it a name.")
		steady.Until(t, "that the class knows of two hints", func() bool { return seat().Work["make"].Hints == 2 })
		d.types(":kubectl create configmap mine\r")
		steady.Until(t, "the goal", func() bool { return seat().Done == 1 })
		if g := c.room.State().Gates["make"]; g.Done != 1 {
			t.Errorf("the gate counts %+v", g)
		}

		looksIn(t, d, screens)

		d.types(":kubectl get no")
		d.sees("kubectl get no")
		c.room.Call()
		d.sees("Ada calls everybody back")
		d.types("\r")
		if err := <-back; err != nil {
			t.Fatal(err)
		}
		if seat().Alone {
			t.Error("the class takes them for away still")
		}
		if _, _, kept := c.runs.There(); kept != 1 {
			t.Errorf("%d runs are kept", kept)
		}

		goes()
		d.sees("kubectl get no")
		d.types("\x03\x03") // the line, and the console
		d.sees("your run, as you left it")
		d.types("q")
		if err := <-back; err != nil {
			t.Fatal(err)
		}
		if all, ahead, kept := c.runs.There(); all != 3 || ahead != 3 || kept != 0 {
			t.Errorf("left: %d, %d ahead, %d kept", all, ahead, kept)
		}
		goes() // into another one, which counts on
		d.sees("Make a ConfigMap that is called mine.")
		d.types("?")
		steady.Until(t, "a third hint", func() bool { return seat().Work["make"].Hints == 3 })
		d.types("q")
		if err := <-back; err != nil {
			t.Fatal(err)
		}
		table, err := teacher.Table([]teacher.Beat{{ID: "make"}}, c.room.State())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(table), "\nmira,make,") || !strings.Contains(string(table), ",1,3,0,0,") { // of one goal, hints, shown, undone
			t.Errorf("the table has\n%s", table)
		}
		if after, stands := c.cluster.Trace().Len(), c.cluster.Clock(); after != before || stands.Elapsed != stood.Elapsed || stands.Last != stood.Last {
			t.Errorf("the class's own run went on from %d events at %s to %d at %s", before, stood.Elapsed, after, stands.Elapsed)
		}
		c.end()
		nothingIn(t, dir)
		d.rests()
	})
}

// looksIn has the teacher look at mira's own cluster, and type there what mira could: but not leave it.
func looksIn(t *testing.T, d *desk, screens *guest.Screens) {
	t.Helper()
	look, err := screens.Look(t.Context(), "mira")
	if err != nil {
		t.Fatal(err)
	}
	d.sees("Ada asks to look at your screen")
	d.types("\x1dy")
	d.sees("Ada sees your screen")
	look.AskHand()
	d.sees("asks to type on your keys")
	d.types("\x1dy")
	d.sees("types on your keys")
	for _, k := range []string{"q", ":", "e", "c", "h", "o", "space", "a", "b", "enter"} {
		if err := look.Type(tuitest.Press(k)); err != nil {
			t.Fatal(err)
		}
	}
	steady.Await(t, "what the teacher has typed, on both screens", func() error {
		if f := look.Now().Frame; f == nil || !strings.Contains(f.Grid.Plane(), "echo ab") {
			return fmt.Errorf("%+v", look.Now())
		}
		return nil
	})
	d.sees("echo ab")
	d.types("\x1d")
	steady.Until(t, "the end of the look", func() bool { return look.Now().State == guest.Over })
	d.types("\x03") // out of the console
}

// nothingIn looks for files that were left behind.
func nothingIn(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s is left", e.Name())
	}
}

// TestThoseWhoComeLaterWait in a queue, still see the class, and may give up; what nobody wants is not made.
func TestThoseWhoComeLaterWait(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		hold := make(chan struct{})
		c := teach(t, own.Config{Forker: slow{forks{}, hold}, Limits: own.Limits{Ahead: -1, Forks: 1, Private: 3}})
		back := make(chan error, 3)
		var desks []*desk
		for n, name := range []string{"mira", "jonas", "tarek"} {
			c.room.Come(name)
			d := c.sits()
			defer d.leaves()
			desks = append(desks, d)
			go func() { back <- c.runs.Enter(t.Context(), d.Terminal, name) }()
			steady.Until(t, "a place in the queue", func() bool { all, _, _ := c.runs.There(); return all == n+1 })
		}
		desks[1].sees("0 before you in the queue")
		desks[2].sees("1 before you in the queue")
		desks[2].sees("Make a ConfigMap that is called mine.")
		fourth := c.sits()
		defer fourth.leaves()
		if err := c.runs.Enter(t.Context(), fourth.Terminal, "lena"); err == nil || !strings.Contains(err.Error(), "on your own machine") {
			t.Errorf("a fourth cluster, of three: %v", err)
		}
		desks[1].types("\x1b")
		if err := <-back; err != nil {
			t.Fatal(err)
		}
		desks[2].sees("0 before you in the queue")
		close(hold)
		desks[0].types("q")
		desks[2].types("q")
		for range 2 {
			if err := <-back; err != nil {
				t.Error(err)
			}
		}
		steady.Until(t, "the end of all", func() bool { all, _, _ := c.runs.There(); return all == 0 })
		c.end()
		desks[0].rests()
	})
}

// TestNobodyWaitsWhileTheClassIsHeld for a cluster: they follow again.
func TestNobodyWaitsWhileTheClassIsHeld(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := teach(t, own.Config{Forker: slow{forks{}, make(chan struct{})}, Limits: own.Limits{Ahead: -1}})
		c.room.Come("mira")
		d := c.sits()
		defer d.leaves()
		back := make(chan error, 1)
		go func() { back <- c.runs.Enter(t.Context(), d.Terminal, "mira") }()
		d.sees("your cluster: yours")
		c.room.Pin(true)
		if err := <-back; err != nil {
			t.Error(err)
		}
		steady.Until(t, "the end of what was being made", func() bool { all, _, _ := c.runs.There(); return all == 0 })
		c.end()
		d.rests()
	})
}

// slow forks once it may.
type slow struct {
	own.Forker
	may <-chan struct{}
}

func (s slow) Fork(ctx context.Context, of own.Fork) (own.Cluster, error) {
	select {
	case <-s.may:
		return s.Forker.Fork(ctx, of)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
