package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/class/attach"
	"kviz/tui/class/background"
	"kviz/tui/class/door"
	"kviz/tui/class/walk"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// classCommand is a class: the teacher's screen, and a door for students.
func classCommand() *command {
	var t teaching
	var students int
	var check bool
	return &command{
		name: "class", usage: "[LESSON[#BEAT]|FILE[#EVENT]] [--listen ADDRESS] [--http ADDRESS] | --check [LESSON]",
		short: "teach a lesson, or walk through a run: students follow over SSH, answer polls, and do it themselves",
		long: `Opens the projector's screen here, and a door for students: each types one ssh line and follows on a terminal of their own.
A recording (run.kvrun) is walked through by the marks that were set in it; without either a live cluster is.
Without --listen only this machine can come in (127.0.0.1:2222); with it a code is asked for, which the screen shows.
With --http there is a page besides, for telephones and for students without ssh: it shows the same, and takes no answers.
kviz notes in another terminal has your notes, the answers, and who is stuck. Either screen may be closed and opened
again (kviz present): the class goes on. kviz help teach has a page about a first class.
--check says beforehand whether this machine bears the class, and rehearses it with simulated students for half a minute, apart from
a class that is open. It ends with status 1 if something is missing.`,
		example: "kviz class L09 --listen 0.0.0.0:2222\nkviz class --check L09 --listen 0.0.0.0:2222",
		flags: func(f *pflag.FlagSet) {
			t.register(f)
			f.StringVar(&t.listen, "listen", "127.0.0.1:2222", "the address at which students come in; other than loopback asks for a code")
			f.StringVar(&t.http, "http", "", "the `ADDRESS` of a page for browsers, such as 0.0.0.0:8080; other than loopback asks for the code (default: no page)")
			f.StringVar(&t.code, "code", "", "the code of the class (default: two words and a number, made for this class)")
			f.IntVar(&t.private, "private", 30, "how many students may have a cluster of their own at the same time")
			f.IntVar(&t.viewers, "viewers", 100, "how many terminals may be in the class at the same time, and as many pages")
			f.BoolVar(&check, "check", false, "open nothing: say whether this machine bears the class, and rehearse it")
			f.IntVar(&students, "students", 5, "with --check: how many simulated students rehearse")
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if check {
				return t.rehearses(ctx, io, students, args)
			}
			return t.run(ctx, io, "class", args)
		},
	}
}

// presentCommand is the projector's screen.
func presentCommand() *command {
	var t teaching
	return &command{
		name: "present", usage: "[LESSON[#BEAT]|FILE[#EVENT]]",
		short: "the projector's screen of a lesson or of a walk through a run, for a clicker; kviz notes beside it",
		long: `Shows a lesson on a projector: one picture, big words, no chatter. A recording (run.kvrun) is walked through by the
marks that were set in it (M in kviz replay, or kviz mark). Without either this is the screen of the class that is
open, or else of a walk through a new, live cluster. kviz notes in another terminal has your notes, what comes
next, and a clock. kviz help teach has the keys.`,
		example: "kviz present L09\nkviz present run.kvrun",
		flags:   t.register,
		run:     func(ctx context.Context, io streams, args []string) error { return t.run(ctx, io, "present", args) },
	}
}

// notesCommand is the teacher's own screen.
func notesCommand() *command {
	return &command{
		name: "notes", short: "the teacher's notes beside kviz present or kviz class",
		example: "kviz notes",
		long:    "Shows, in a second terminal of the same machine, the notes to the beat, what comes next, the answers to polls, and who is stuck.",
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) > 0 {
				return &usageError{text: fmt.Sprintf("unexpected %q", args[0]), command: "notes"}
			}
			err := screenOfClass(ctx, io, "notes")
			if errors.Is(err, attach.ErrNotRunning) {
				return errors.New("no class is open here: kviz present LESSON or kviz class LESSON opens one")
			}
			return err
		},
	}
}

// teaching are the flags of a class.
type teaching struct {
	s       shape
	own     *pflag.FlagSet
	from    lessonFolders
	look    look
	listen  string
	http    string
	code    string
	teacher string
	viewers int
	private int
	forget  bool
	hold    bool // no screen: the class alone
}

func (t *teaching) register(f *pflag.FlagSet) {
	t.own = f
	t.s.register(f, "1", fixedEpoch)
	t.from.register(f)
	t.look.register(f)
	f.StringVar(&t.teacher, "teacher", "", "what students call you (default: your user name)")
	f.BoolVar(&t.forget, "forget", false, "write nothing down: a class that is cut off cannot go on with its answers")
	f.BoolVar(&t.hold, "no-screen", false, "hold the class without a screen here, until it is closed; kviz present and kviz notes show it")
}

// run opens a class, or shows the screen of the one that is open.
func (t *teaching) run(ctx context.Context, io streams, name string, args []string) error {
	if len(args) > 1 {
		return &usageError{text: "name one lesson or one recording", command: name}
	}
	if t.hold {
		return t.hosts(ctx, io, args)
	}
	if len(args) == 0 {
		err := screenOfClass(ctx, io, "present")
		if !errors.Is(err, attach.ErrNotRunning) {
			return err
		}
	}
	if err := t.begin(ctx, name, args); err != nil {
		return err
	}
	return screenOfClass(ctx, io, "present")
}

// screenOfClass shows a screen of the class that is open on this machine.
func screenOfClass(ctx context.Context, io streams, role string) error {
	in, isIn := io.in.(*os.File)
	out, isOut := io.out.(*os.File)
	if !isIn || !isOut {
		return errors.New("there is no terminal here")
	}
	err := attach.Screen(ctx, classSocket(), role, in, out)
	if left := (*attach.Left)(nil); errors.As(err, &left) {
		return exitError(left.Status)
	}
	return err
}

// hosts holds a class in this process until it is over.
func (t *teaching) hosts(ctx context.Context, io streams, args []string) error {
	if len(args) == 0 {
		return t.walkLive(ctx, io)
	}
	if to, is := namedRecording(args[0]); is {
		return t.walkRecorded(ctx, io, to)
	}
	return t.teach(ctx, io, args[0])
}

// teach is a class that takes a lesson.
func (t *teaching) teach(ctx context.Context, io streams, lesson string) (err error) {
	all, l, beat, err := t.chosen(lesson)
	if err != nil {
		return err
	}
	t.s.sceneOf(l.Scene, t.own)
	cfg, err := t.s.config(false)
	if err != nil {
		return err
	}
	served, err := servedDir() // the runtime folder, in which the socket is too
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(served)) }()
	c, end, err := t.s.boot(ctx, cfg, "class")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	room, err := t.room()
	if err != nil {
		return err
	}
	room.lesson, room.scene = l, cfg
	if err := room.open(c, all, max(t.s.seed, 1), beat, screensOf); err != nil {
		return err
	}
	return room.serve(ctx, func() { room.tell(io.out) })
}

// room is a class as the flags say, of nothing yet.
func (t *teaching) room() (*classroom, error) {
	r := &classroom{teacher: t.named(), listen: t.listen, code: t.code, forget: t.forget, limits: door.Limits{Visits: t.viewers}, private: t.private, theme: t.look.theme, page: classPage{listen: t.http}}
	if r.code == "" && (r.listen != "" && !alone(r.listen) || t.http != "" && !alone(t.http)) {
		r.code = door.NewCode()
	}
	var err error
	r.folder, err = os.Getwd()
	return r, err
}

// named is what students call the teacher.
func (t *teaching) named() string {
	if name := door.Clean(t.teacher); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		if name := door.Clean(u.Username); name != "" {
			return name
		}
	}
	return "the teacher"
}

// tell says how to come in.
func (r *classroom) tell(w io.Writer) {
	of := r.title
	if r.lesson != nil {
		of = r.lesson.ID
	}
	fmt.Fprintf(w, "the class of %s is open: kviz present and kviz notes are its screens\n", of)
	if join := r.join(); join != "" {
		fmt.Fprintf(w, "students: %s", join)
		if url := r.page.url(); url != "" {
			fmt.Fprintf(w, "   or %s", url)
		}
		if r.code != "" {
			fmt.Fprintf(w, "   code %s", r.code)
		}
		fmt.Fprintf(w, "\nhost key  %s\n", r.door.Fingerprint())
	}
}

// rehearses says whether this machine bears a class of a lesson; L09 where none is named.
func (t *teaching) rehearses(ctx context.Context, io streams, students int, args []string) error {
	if len(args) > 1 || students < 1 || t.viewers < 1 || t.private < 0 {
		return &usageError{text: "--check takes one lesson at most, and one student at least", command: "class"}
	}
	lesson := "L09"
	if len(args) == 1 {
		lesson = args[0]
	}
	if _, _, _, err := t.chosen(lesson); err != nil {
		return err
	}
	c := &classCheck{teaching: t, students: students, out: io.out}
	return c.run(ctx, lesson)
}

// begin opens a class in a process of its own, which outlives this terminal: it is this program with the same flags.
func (t *teaching) begin(ctx context.Context, name string, of []string) error {
	if err := t.check(of); err != nil {
		return err
	}
	if dial(classSocket()) == nil {
		return errors.New("a class is open here already: kviz present shows it, and q there closes it")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := classFolder()
	if err != nil {
		return err
	}
	args := append(append([]string{name}, of...), "--no-screen")
	t.own.Visit(func(f *pflag.Flag) { args = append(args, "--"+f.Name+"="+f.Value.String()) })
	host := background.Program{
		Path: self, Args: args, Log: filepath.Join(dir, "class.log"), Ready: func() error { return dial(classSocket()) },
	}
	return host.Start(ctx)
}

// dial reports whether somebody listens at a socket.
func dial(socket string) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	return c.Close()
}

// check refuses a lesson or a recording that there is not, and marks that are wrong, before a process is started for it.
func (t *teaching) check(of []string) error {
	if len(of) == 0 {
		return nil
	}
	if to, is := namedRecording(of[0]); is {
		_, err := walk.Open(to.File, stage.Pictures(panes.All))
		return errors.Join(mustExist(to.File), err)
	}
	_, _, _, err := t.chosen(of[0])
	return err
}

// chosen is a lesson, at a beat, among all that there are.
func (t *teaching) chosen(lesson string) (all []*lessons.Lesson, l *lessons.Lesson, beat string, err error) {
	id, beat, _ := strings.Cut(lesson, "#")
	more, err := t.from.sources()
	if err != nil {
		return nil, nil, "", err
	}
	all, broken := lessons.Read(assets.Lessons(), more...)
	if err := t.from.translate(all); err != nil {
		return nil, nil, "", err
	}
	if l, err = oneLesson(all, []string{id}); err != nil {
		return nil, nil, "", errors.Join(err, broken)
	}
	if l, err = l.Whole(); err == nil && beat != "" {
		err = hasBeat(l, beat)
	}
	return all, l, beat, err
}
