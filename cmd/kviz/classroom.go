package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kviz/cluster"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/door"
	"kviz/tui/class/guest"
	"kviz/tui/class/hall"
	"kviz/tui/class/lead"
	"kviz/tui/class/own"
	"kviz/tui/class/teacher"
	"kviz/tui/panes"
	"kviz/tui/safe"
)

// classroom is a class in this process: the teacher's run, who takes part, and the door by which they come in. It has no
// terminal of its own; the teacher's screens come in through a socket.
type classroom struct {
	lesson  *lessons.Lesson // nil: a walk
	title   string          // what the teacher's screens call it
	name    string          // of its journal
	teacher string
	listen  string // an address for students; "" for none
	code    string
	limits  door.Limits
	private int    // clusters of the students' own at a time; 0 is the usual number
	folder  string // where exports go
	theme   string
	forget  bool           // nothing is written down
	scene   cluster.Config // that of the lesson, for a student's cluster that is no fork

	all     []*lessons.Lesson
	seed    uint64
	player  *lessons.Player // of a lesson; nil in a walk
	room    *class.Room
	lead    *lead.Lead
	door    *door.Door
	journal *os.File
	address net.Addr // where students come in; nil for none
	runs    *own.Runs
	screens *guest.Screens
	page    classPage
	over    chan struct{} // closed when the teacher ends the class
	once    sync.Once
}

// classSocket is where the teacher's screens come in.
func classSocket() string { return filepath.Join(runtimeDir(), "class.sock") }

// classFolder is where a class keeps its journal and the machine its host key.
func classFolder() (string, error) {
	progress, err := lessons.ProgressPath()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(progress), "class")
	return dir, os.MkdirAll(dir, 0o700)
}

// open makes a class on a cluster that is up, taught from a beat on, "" for where a class of the same lesson ended before
// somebody closed it.
func (r *classroom) open(c *cluster.Cluster, all []*lessons.Lesson, seed uint64, beat string, panesOf hallScreens) error {
	r.all, r.seed = all, seed
	r.name, r.title = r.lesson.ID, r.lesson.ID+" "+r.lesson.Title
	was, err := r.begin(fmt.Sprintf("%s@%d", r.lesson.ID, r.lesson.Version))
	if err != nil {
		return err
	}
	progress := lessons.NewProgress(time.Now)
	progress.Seed = seed // the same seed rehearses the same lesson
	r.player = lessons.NewPlayer(c, all, progress)
	return r.opens(lead.Config{
		Cluster: c, History: view.NewHistory(c.Trace()), Player: r.player, Lesson: r.lesson.ID + "#" + cmp.Or(beat, was),
	}, panesOf)
}

// begin opens the journal, and gives the beat at which a class ended that nobody closed; "" where there was none.
func (r *classroom) begin(lesson string) (was string, err error) {
	dir, err := classFolder()
	if err != nil {
		return "", err
	}
	before, err := r.openJournal(dir)
	if err != nil {
		return "", err
	}
	r.over = make(chan struct{})
	r.room = class.NewRoom(time.Now, r.writer())
	if len(before) == 0 {
		r.room.Begin(lesson)
		return "", nil
	}
	r.room.Restore(before)
	return r.room.State().Beat, nil
}

// opens makes lead and door of a class whose journal is open.
func (r *classroom) opens(run lead.Config, panesOf hallScreens) error {
	dir, err := classFolder()
	if err != nil {
		return err
	}
	run.Panes, run.Room = panes.All, r.room
	r.lead = lead.New(run)
	r.screens = guest.New(r.teacher)
	r.runs = r.alone()
	key, err := door.HostKey(dir)
	if err != nil {
		return err
	}
	r.door, err = door.Open(door.Config{Host: hall.New(panesOf(r)), Key: key, Code: r.code, Reserved: []string{r.teacher}, Limits: r.limits})
	return err
}

// hallScreens gives what the terminals of a class are shown.
type hallScreens func(*classroom) hall.Config

// openJournal opens the journal of the class, and reads what one left that was not closed.
func (r *classroom) openJournal(dir string) (before []class.Entry, err error) {
	if r.forget {
		return nil, nil
	}
	r.journal, err = os.OpenFile(filepath.Join(dir, r.name+".jsonl"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the class's journal: %w", err)
	}
	if before, err = wholeJournal(r.journal); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", r.journal.Name(), err), r.journal.Close())
	}
	return before, nil
}

// wholeJournal reads a journal, and takes away the last line where it is not whole: what is written next begins a line.
func wholeJournal(f *os.File) ([]class.Entry, error) {
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole < len(text) {
		if err := f.Truncate(int64(whole)); err != nil {
			return nil, err
		}
	}
	return class.ReadJournal(bytes.NewReader(text[:whole]))
}

// writer is where entries go; nil where nothing is written down.
func (r *classroom) writer() io.Writer {
	if r.journal == nil {
		return nil
	}
	return r.journal
}

// serve lets terminals in and teaches until ctx ends or the teacher closes the class. Told is called once everybody can come in.
func (r *classroom) serve(ctx context.Context, told func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	owner, err := door.ListenOwner(classSocket())
	if err != nil {
		return err
	}
	if err := r.lets(); err != nil {
		return errors.Join(err, owner.Close(), r.page.close(), r.door.Close())
	}
	if err := r.door.ServeOwner(owner); err != nil { // the last one: the teacher's screens say where students come in
		return errors.Join(err, r.page.close())
	}
	group := safe.NewGroup(cancel)
	var taught error
	group.Go(func() {
		defer cancel()
		taught = r.lead.Run(ctx)
	})
	if r.listen != "" { // without students nobody asks for a cluster
		group.Go(func() { r.runs.Run(ctx) })
	}
	told()
	select {
	case <-ctx.Done():
	case <-r.over:
	}
	err = errors.Join(r.door.Close(), r.page.close(), r.runs.Close())
	cancel()
	group.Wait()
	if r.player != nil {
		r.player.Close()
	}
	if crash := group.Crash(); crash != nil {
		err = errors.Join(err, crash)
	}
	return errors.Join(err, taught, r.closeJournal())
}

// lets lets students in, at the door and at the page.
func (r *classroom) lets() error {
	if r.listen != "" {
		l, err := door.Listen(r.listen)
		if err != nil {
			return err
		}
		if err := r.door.Serve(l); err != nil {
			return err
		}
		r.address = l.Addr()
	}
	return r.page.serve(r)
}

// closeJournal closes the journal, and removes it where the teacher has closed the class: only one that was cut off goes on.
func (r *classroom) closeJournal() error {
	if r.journal == nil {
		return nil
	}
	err := errors.Join(r.room.Err(), r.journal.Close())
	select {
	case <-r.over:
		if gone := os.Remove(r.journal.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	default:
	}
	return err
}

// join is the line with which students come in; "" where they cannot.
func (r *classroom) join() string {
	tcp, ok := r.address.(*net.TCPAddr)
	if !ok {
		return ""
	}
	where := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		where = machine()
	}
	return fmt.Sprintf("ssh -p %d %s", tcp.Port, where)
}

// machine is the address by which others reach this machine, as far as it knows; else its name.
func machine() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	name, err := os.Hostname()
	if err != nil {
		return "this-machine"
	}
	return strings.TrimSpace(name)
}

// screensOf are the screens of a class.
func screensOf(r *classroom) hall.Config {
	return hall.Config{
		Lead: r.lead, Room: r.room, Panes: panes.All, Teacher: r.teacher, Screens: r.screens,
		Owner: map[string]func(context.Context, *door.Visit) error{
			"present": func(ctx context.Context, v *door.Visit) error {
				_, err := door.Show(ctx, v, teacher.NewProjector(ctx, r.teaches()))
				return err
			},
			"notes": func(ctx context.Context, v *door.Visit) error {
				_, err := door.Show(ctx, v, teacher.NewNotes(ctx, r.teaches()))
				return err
			},
		},
		Alone: func(ctx context.Context, v *door.Visit) error { return r.runs.Go(ctx, v, v.Name) },
		Why:   r.runs.Alone,
	}
}

// teaches is what the teacher's screens show.
func (r *classroom) teaches() teacher.Config {
	cfg := teacher.Config{
		Lead: r.lead, Scenes: &r.lead.Changed, Room: r.room, Seats: &r.room.Changed, Panes: panes.All,
		Title: r.title, Folder: r.folder, Now: time.Now, Theme: r.theme,
		End: r.end, Refusals: r.refusals, LookInto: r.screens.Look, Looking: r.page.looking(),
	}
	if join, page := r.join(), r.page.url(); join != "" || page != "" { // else nobody has to know
		cfg.Join = teacher.Join{Address: join, Page: page, Code: r.code, Fingerprint: r.door.Fingerprint()}
	}
	if l := r.lesson; l != nil {
		cfg.Beats, cfg.Time, cfg.Hints = teacher.Beats(l), time.Duration(l.Minutes)*time.Minute, r.hints
	}
	return cfg
}

// end closes the class for everybody.
func (r *classroom) end() { r.once.Do(func() { close(r.over) }) }

// refusals are what the door has refused.
func (r *classroom) refusals() (all []teacher.Refusal) {
	for _, one := range r.door.Refusals() {
		who := one.Name
		if who == "" {
			who = one.Addr
		}
		all = append(all, teacher.Refusal{At: one.At, Who: who, What: one.What, Times: one.Times})
	}
	return all
}

// hints are what a beat has to say to those who are stuck in it.
func (r *classroom) hints(beat string) (all []string) {
	for _, step := range r.lesson.Steps {
		if step.ID != beat {
			continue
		}
		for _, g := range step.Goals {
			for _, h := range g.Hints {
				all = append(all, h.Text)
			}
		}
	}
	return all
}
