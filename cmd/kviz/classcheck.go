package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"

	"kviz/raftstore/host"
	"kviz/tui/class/own"
	"kviz/tui/class/rehearsal"
	"kviz/tui/theme"
)

// classCheck says beforehand whether this machine bears a class.
type classCheck struct {
	*teaching
	students int // simulated ones
	out      io.Writer
	missing  int
}

// The verdicts.
const (
	fine    = "ok"
	beware  = "note"
	missing = "MISSING"
)

// says is a verdict in a plain sentence.
func (c *classCheck) says(verdict, format string, args ...any) {
	if verdict == missing {
		c.missing++
	}
	fmt.Fprintf(c.out, "%-8s %s\n", verdict, fmt.Sprintf(format, args...))
}

// run looks at the machine, then rehearses. It ends with exit status 1 if something is missing.
func (c *classCheck) run(ctx context.Context, lesson string) error {
	id, _, _ := strings.Cut(lesson, "#")
	c.machine()
	c.port()
	c.terminal()
	c.folders()
	c.ssh()
	c.rehearse(ctx, id)
	if c.missing > 0 {
		return exitError(1)
	}
	return ctx.Err()
}

// What a class takes beside its students' own clusters, measured by kviz bench class.
const (
	teacherMiB  = 300
	followerMiB = 4 // ten frames a second while a picture moves
)

// machine looks at memory and processors.
func (c *classCheck) machine() {
	limits := own.Usual()
	needs := teacherMiB + c.viewers*followerMiB + c.private*limits.Each
	switch has := limits.Memory; {
	case has >= needs:
		c.says(fine, "memory: a class may have %d MiB; %d clusters of students' own and %d terminals need about %d", has, c.private, c.viewers, needs)
	case has < teacherMiB+limits.Each:
		c.says(missing, "memory: a class may have %d MiB; with one cluster of a student's own it needs about %d", has, teacherMiB+limits.Each)
	default:
		room := max((has-teacherMiB-c.viewers*followerMiB)/limits.Each, 0)
		c.says(beware, "memory: a class may have %d MiB, which is room for about %d clusters of students' own; --private %d says so beforehand", has, room, room)
	}
	switch n := runtime.GOMAXPROCS(0); {
	case n >= 2:
		c.says(fine, "processors: %d", n)
	default:
		c.says(beware, "processors: 1; with many students the picture moves late, two are better")
	}
}

// port looks whether students can come in at the address.
func (c *classCheck) port() {
	l, err := net.Listen("tcp", c.listen)
	switch {
	case host.InUse(err):
		c.says(missing, "port: something listens at %s already; --listen names another one", c.listen)
		return
	case err != nil:
		c.says(missing, "port: %v; --listen names another one", err)
		return
	}
	address := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		c.says(missing, "port: %v", err)
		return
	}
	if address.IP.IsLoopback() {
		c.says(beware, "port: %s is free; only this machine can come in there: --listen 0.0.0.0:%d is for the network", c.listen, address.Port)
		return
	}
	where := address.IP.String()
	if address.IP.IsUnspecified() {
		where = machine()
	}
	c.says(fine, "port: %s is free; students will type ssh -p %d %s (try it from another machine: a firewall or the network may keep it out)", c.listen, address.Port, where)
}

// terminal looks at the one that this runs on, which the projector may show.
func (c *classCheck) terminal() {
	w, h, err := term.GetSize(int(os.Stdout.Fd()))
	switch {
	case err != nil:
		c.says(beware, "terminal: there is none here; run this where the projector's screen will be")
	case w < 80 || h < 24:
		c.says(missing, "terminal: it has %dx%d; the projector's screen needs 80x24: smaller letters, or a larger window", w, h)
	default:
		c.says(fine, "terminal: %dx%d", w, h)
	}
	themed := c.look.theme
	if themed == "" {
		themed = "by the terminal's background"
	}
	switch {
	case os.Getenv("NO_COLOR") != "":
		c.says(beware, "colours: none (NO_COLOR is set)")
	case strings.Contains(os.Getenv("COLORTERM"), "truecolor") || strings.Contains(os.Getenv("COLORTERM"), "24bit"):
		c.says(fine, "colours: all; theme: %s", themed)
	case strings.Contains(os.Getenv("TERM"), "256color"):
		c.says(fine, "colours: 256; theme: %s", themed)
	default:
		c.says(beware, "colours: few (TERM is %q); --theme chooses among %s", os.Getenv("TERM"), strings.Join(theme.Names(), ", "))
	}
	locale := ""
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale = os.Getenv(name); locale != "" {
			break
		}
	}
	if plain := strings.ToLower(strings.ReplaceAll(locale, "-", "")); runtime.GOOS != "windows" && !strings.Contains(plain, "utf8") {
		c.says(beware, "locale: %q is not UTF-8, so frames may be drawn as question marks; LANG=C.UTF-8 is", locale)
		return
	}
	c.says(fine, "locale: UTF-8")
}

// folders looks whether those of a class can be written, and by nobody else.
func (c *classCheck) folders() {
	dir, err := classFolder()
	if err == nil {
		err = writable(dir)
	}
	c.folder("state", dir, "XDG_STATE_HOME", err)
	dir = runtimeDir()
	if err = os.MkdirAll(dir, 0o700); err == nil {
		err = writable(dir)
	}
	c.folder("runtime", dir, "XDG_RUNTIME_DIR", err)
	if dial(classSocket()) == nil {
		c.says(beware, "a class is open here: kviz present shows it, and another one cannot be opened")
	}
}

func (c *classCheck) folder(name, dir, variable string, err error) {
	if err != nil {
		c.says(missing, "%s folder: %v; %s names another one", name, err, variable)
		return
	}
	c.says(fine, "%s folder: %s", name, dir)
}

// writable says why nothing can be written into a folder, or who else can; nil if only its owner can.
func writable(dir string) error {
	if err := host.Private(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "check-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// ssh looks for a client, with which this machine can try what students do.
func (c *classCheck) ssh() {
	path, err := exec.LookPath("ssh")
	if err != nil {
		c.says(beware, "ssh: there is no client here, so try the students' line on another machine")
		return
	}
	c.says(fine, "ssh: %s, with which you can come in as a student", filepath.ToSlash(path))
}

// rehearse has simulated students take a part of the lesson.
func (c *classCheck) rehearse(ctx context.Context, lesson string) {
	private := min(2, c.private, c.students)
	fmt.Fprintf(c.out, "         %d simulated students rehearse %s, %d of them with a cluster of their own …\n", c.students, lesson, private)
	found, err := rehearse(ctx, lesson, rehearsal.Plan{Followers: c.students, Private: private, Watch: time.Second})
	if err != nil {
		c.says(missing, "rehearsal: %v", err)
		return
	}
	c.says(fine, "rehearsal: all came in within %s, and gave %d answers", found.Joined.Round(time.Millisecond), found.Answers)
	c.within("a step of yours is on every screen within", rehearsal.Share(0.95, found.Steps), stepGoal)
	c.within("a student who looks around sees it within", rehearsal.Share(0.5, found.Looks), keyGoal)
	if len(found.Ready) > 0 {
		c.within("a cluster of a student's own is there within", rehearsal.Share(1, found.Ready), 10*time.Second)
		c.within("in it a key is on the screen within", rehearsal.Share(0.5, found.Keys), keyGoal)
	}
	if found.Unknown == nil {
		c.says(fine, "rehearsal: %.0f %% of a processor while you go on, %.0f %% at rest", 100*found.Watched, 100*found.Rest)
	}
}

// within says how long something took, and whether that is enough.
func (c *classCheck) within(what string, took, goal time.Duration) {
	if took > goal {
		c.says(beware, "rehearsal: %s %s; %s is better: end other programs, or use a faster machine", what, took.Round(time.Millisecond), goal)
		return
	}
	c.says(fine, "rehearsal: %s %s", what, took.Round(time.Millisecond))
}
