package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"kviz/assets"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/class"
	"kviz/tui/class/rehearsal"
)

// The proof of a class: students and viewers take all of L09 over SSH, on a real cluster. The short form is each run's; the
// long one is KVIZ_CLASS=30,100 (students, viewers), in .ci/full.

// proof is a class that is proven.
type proof struct {
	t      *testing.T
	class  rehearsal.Class
	home   string
	lesson *lessons.Lesson

	teacher  *rehearsal.Teacher
	students []*student
	viewers  []*student
	answers  map[string]string // in words that a journal has, by student and beat
}

// student is one with habits.
type student struct {
	*rehearsal.Student
	no    int
	key   gossh.Signer
	deaf  bool // reads nothing any more
	there bool
}

// within gives something as long as all tests wait for one thing.
func (p *proof) within(do func(ctx context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), steady.Patience(p.t))
	defer cancel()
	if err := do(ctx); err != nil {
		p.t.Fatal(err)
	}
}

// theLesson is the one that is proven.
func theLesson(t *testing.T) *lessons.Lesson {
	t.Helper()
	all, broken := lessons.Read(assets.Lessons())
	l, err := oneLesson(all, []string{"L09"})
	if err == nil {
		l, err = l.Whole()
	}
	if err := errors.Join(broken, err); err != nil {
		t.Fatal(err)
	}
	return l
}

// heldHere holds a class in this process until the function it gives is called.
func heldHere(t *testing.T, args []string) (rehearsal.Class, func()) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", home)
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		defer write.Close()
		ended <- dispatch(ctx, streams{strings.NewReader(""), write, &errs}, args)
	}()
	c, ok := readJoin(read)
	if !ok {
		t.Fatalf("the class did not open: %s", errs.String())
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	c.Socket = filepath.Join(home, "kviz", "class.sock")
	return c, func() {
		t.Helper()
		if exit := <-ended; exit != 0 {
			t.Errorf("the class ended with %d: %s", exit, errs.String())
		}
		cancel()
	}
}

// howMany are the students and viewers of the proof.
func howMany(t *testing.T) (students, viewers int) {
	t.Helper()
	students, viewers = 8, 10
	if text := os.Getenv("KVIZ_CLASS"); text != "" {
		if _, err := fmt.Sscanf(text, "%d,%d", &students, &viewers); err != nil || students < 8 || viewers < 8 {
			t.Fatalf("KVIZ_CLASS is %q; want students,viewers, at least 8 each", text)
		}
	}
	return students, viewers
}

// The habits of the n-th student.
func (s *student) slow() bool   { return s.no%5 == 1 }
func (s *student) late() bool   { return s.no%6 == 4 }
func (s *student) stops() bool  { return s.no%6 == 5 }
func (s *student) drops() bool  { return s.no%3 == 0 }
func (s *student) forks() bool  { return s.no%4 == 2 }
func (s *student) reads() bool  { return s.there && !s.deaf }
func (s *student) name() string { return fmt.Sprint("student", s.no) }

// comes has a student come in, or come again.
func (p *proof) comes(ctx context.Context, s *student) (err error) {
	size := rehearsal.Sizes[s.no%len(rehearsal.Sizes)]
	as := rehearsal.As{Name: s.name(), Key: s.key, Width: size[0], Height: size[1]}
	if s.slow() {
		as.Rate = 48 << 10
	}
	s.Student, err = p.class.Join(ctx, as)
	s.there = err == nil
	return err
}

// everybody are those who read their screens.
func (p *proof) everybody() (all []*student) {
	for _, s := range slices.Concat(p.students, p.viewers) {
		if s.reads() {
			all = append(all, s)
		}
	}
	return all
}

// who are the students of a habit.
func (p *proof) who(of func(*student) bool) (all []*student) {
	for _, s := range p.students {
		if of(s) {
			all = append(all, s)
		}
	}
	return all
}

var valued = regexp.MustCompile(`\{[^}]*\}`)

// sentences are the beginnings of what a beat says, as far as every run says it so, one for each of its paragraphs.
func sentences(step *lessons.Step) (all []string) {
	for _, text := range step.Caption {
		for _, piece := range valued.Split(strings.NewReplacer("`", "", "*", "").Replace(text.Source()), -1) {
			words := strings.Fields(piece)
			if len(strings.Join(words, "")) < 8 {
				continue
			}
			first := words[:min(len(words), 3)]
			if !strings.HasPrefix(piece, " ") && piece != text.Source() && !strings.HasPrefix(text.Source(), words[0]) {
				first = first[1:] // the rest of a word that begins with a value
			}
			all = append(all, strings.Join(first, " "))
			break
		}
	}
	return all
}

// allSee waits until everybody is at the beat: it says so, and what it says there.
func (p *proof) allSee(step, steps int) {
	p.t.Helper()
	at, want := rehearsal.Beat(step, steps), sentences(p.lesson.Steps[step-1])
	if step == steps { // where nothing more has to be done
		at = "done ✓"
	}
	p.within(func(ctx context.Context) error {
		return rehearsal.Each(p.everybody(), func(_ int, s *student) error {
			_, err := s.Until(ctx, fmt.Sprintf("%q with one of %q", at, want), func(text string) bool {
				text = strings.Join(strings.Fields(text), " ")
				return strings.Contains(text, at) && slices.ContainsFunc(want, func(w string) bool { return strings.Contains(text, w) })
			})
			return err
		})
	})
}

// TestAClassTakesAWholeLesson: students with terminals of eight sizes and viewers beside them take all of L09; some have slow lines, some come
// late, some stop reading, some are cut off and come again. At each beat everybody sees that beat; answers stay; what
// students do in clusters of their own disturbs nobody. Afterwards nothing is left.
func TestAClassTakesAWholeLesson(t *testing.T) {
	steady.RealTime(t, aSocket)
	students, viewers := howMany(t)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt) // from the first time on the process has a goroutine for that
	signal.Stop(signals)
	before := runtime.NumGoroutine()
	p := &proof{t: t, lesson: theLesson(t), answers: map[string]string{}}
	held, ended := heldHere(t, rehearsed("L09", students/4, students+viewers+students))
	p.class, p.home = held, os.Getenv("XDG_STATE_HOME")
	p.within(func(ctx context.Context) (err error) {
		if p.teacher, err = p.class.Teacher(ctx); err != nil {
			return err
		}
		return p.teacher.Begins(ctx)
	})
	for n := range students {
		p.students = append(p.students, &student{no: n, key: keyOf(t, byte(n))})
	}
	for n := range viewers {
		p.viewers = append(p.viewers, &student{no: students + 30*(n+1) + n%8})
	}
	p.within(func(ctx context.Context) error {
		return rehearsal.Each(append(p.who(func(s *student) bool { return !s.late() }), p.viewers...), func(_ int, s *student) error { return p.comes(ctx, s) })
	})
	for {
		step, steps := p.teacher.At()
		if step > len(p.lesson.Steps) {
			t.Fatalf("beat %d of %d, and the lesson has %d", step, steps, len(p.lesson.Steps))
		}
		p.allSee(step, steps)
		p.passes(p.lesson.Steps[step-1], step, steps)
		if step == steps {
			break
		}
		p.within(p.teacher.GoesOn)
	}
	p.checkAnswers()
	p.within(p.teacher.Ends)
	for _, s := range slices.Concat(p.students, p.viewers) {
		if !s.deaf {
			p.within(func(ctx context.Context) error { _, err := s.Ended(ctx); return err })
		}
		s.Drop()
	}
	ended()
	nothingIsLeft(t, p.home, "host_ed25519")
	steady.Await(t, "no goroutine is left", func() error {
		if now := runtime.NumGoroutine(); now > before {
			stacks := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines, %d before:\n%s", now, before, stacks[:runtime.Stack(stacks, true)])
		}
		return nil
	})
}

// passes has students and teacher do what there is to do in a beat.
func (p *proof) passes(step *lessons.Step, no, steps int) {
	p.t.Helper()
	switch {
	case no == 8:
		p.within(func(ctx context.Context) error {
			return rehearsal.Each(p.who((*student).late), func(_ int, s *student) error { return p.comes(ctx, s) })
		})
		p.allSee(no, steps)
	case no == 4:
		for _, s := range p.who((*student).stops) {
			s.Stops()
			s.deaf = true
		}
	}
	if q := step.Question; q != nil {
		p.polls(step, q, no, steps)
	}
	if step.ID == "crash" {
		p.gate(no, steps)
	}
}

// polls has everybody answer, those who drop come again and find their answers, and the teacher show what the class said.
func (p *proof) polls(step *lessons.Step, q *lessons.Question, no, steps int) {
	p.t.Helper()
	readers := p.who((*student).reads)
	p.within(func(ctx context.Context) error {
		return rehearsal.Each(readers, func(_ int, s *student) error { return s.Answer(ctx, q, s.no) })
	})
	given := p.journal(step.ID)
	for _, s := range readers {
		if given[s.name()] == "" {
			p.t.Errorf("%s has answered in %s, and the class knows of nothing", s.name(), step.ID)
		}
		p.answers[s.name()+" "+step.ID] = given[s.name()]
	}
	if step.ID == "guess-crash" || step.ID == "order" {
		dropping := p.who(func(s *student) bool { return s.drops() && s.reads() })
		for _, s := range dropping {
			s.Drop()
		}
		p.within(func(ctx context.Context) error {
			return rehearsal.Each(dropping, func(_ int, s *student) error {
				if err := p.comes(ctx, s); err != nil {
					return err
				}
				_, err := s.Sees(ctx, rehearsal.Beat(no, steps), "you have answered")
				return err
			})
		})
	}
	if err := p.teacher.ClosesPoll(); err != nil {
		p.t.Fatal(err)
	}
}

// gate has students go into clusters of their own and crash a member there. Everybody else sees the class's own cluster whole.
func (p *proof) gate(no, steps int) {
	p.t.Helper()
	if err := p.teacher.OpensGate(); err != nil {
		p.t.Fatal(err)
	}
	forking := p.who(func(s *student) bool { return s.forks() && s.reads() })
	p.within(func(ctx context.Context) error {
		return rehearsal.Each(p.everybody(), func(_ int, s *student) error { _, err := s.Sees(ctx, "your turn: F"); return err })
	})
	p.within(func(ctx context.Context) error {
		return rehearsal.Each(forking, func(_ int, s *student) error {
			if _, err := s.Alone(ctx); err != nil {
				return err
			}
			if err := s.Does(ctx); err != nil {
				return err
			}
			_, err := s.Sees(ctx, "2 of 3 up")
			return err
		})
	})
	for _, s := range p.everybody() {
		if text := s.Screen(); !slices.Contains(forking, s) && (!strings.Contains(text, rehearsal.Beat(no, steps)) || s.Width >= 60 && !strings.Contains(text, "3 of 3 up")) {
			p.t.Errorf("%s sees something of the others' clusters:\n%s", s.Name, text)
		}
	}
	p.within(func(ctx context.Context) error {
		return rehearsal.Each(forking, func(_ int, s *student) error { return s.Back(ctx) })
	})
	p.allSee(no, steps)
	p.within(func(ctx context.Context) error {
		_, err := p.teacher.Sees(ctx, fmt.Sprintf("%d of ", len(forking)), "have done it")
		return err
	})
}

// journal are the answers to a beat's question that the class has written down, by student.
func (p *proof) journal(beat string) map[string]string {
	p.t.Helper()
	given := map[string]string{}
	for _, e := range journalOf(p.t, p.home) {
		if e.T == class.Answered && e.Beat == beat {
			answer, err := json.Marshal(e.Answer)
			if err != nil {
				p.t.Fatal(err)
			}
			given[e.Name] = e.Words + " " + string(answer)
		}
	}
	return given
}

func journalOf(t *testing.T, home string) []class.Entry {
	t.Helper()
	f, err := os.Open(filepath.Join(home, "kviz", "class", "L09.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := class.ReadJournal(f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkAnswers holds that what was answered is so to the end.
func (p *proof) checkAnswers() {
	p.t.Helper()
	for _, step := range p.lesson.Steps {
		if step.Question == nil {
			continue
		}
		now, answered := p.journal(step.ID), 0
		for _, s := range p.students {
			if was := p.answers[s.name()+" "+step.ID]; was != "" {
				answered++
				if now[s.name()] != was {
					p.t.Errorf("%s answered %q in %s, and at the end it is %q", s.name(), was, step.ID, now[s.name()])
				}
			}
		}
		if answered < len(p.students)/2 {
			p.t.Errorf("%d of %d have answered in %s", answered, len(p.students), step.ID)
		}
	}
}

func keyOf(t *testing.T, n byte) gossh.Signer {
	t.Helper()
	s, err := gossh.NewSignerFromKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// nothingIsLeft holds that in a folder there are no files but some.
func nothingIsLeft(t *testing.T, folder string, but ...string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.Contains(but, d.Name()) {
			t.Errorf("%s was left", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAClassThatWasKilledGoesOn: the process is killed in the midst of a poll, and while it wrote its journal. Started again it is at
// the same beat, and everybody who comes in again has their answers; a second kill is no worse.
func TestAClassThatWasKilledGoesOn(t *testing.T) {
	steady.RealTime(t, aProcess)
	program, err := exec.LookPath("kviz")
	if err != nil {
		t.Fatal(err)
	}
	p := &proof{t: t, lesson: theLesson(t), home: t.TempDir(), answers: map[string]string{}}
	for n := range 3 {
		p.students = append(p.students, &student{no: n, key: keyOf(t, byte(n))})
	}
	begins := func(lesson string) *classServer {
		server, err := startClass(t.Context(), program, p.home, rehearsed(lesson, 1, 10)...)
		if err != nil {
			t.Fatal(err)
		}
		p.class = server.Class
		p.within(func(ctx context.Context) (err error) {
			if p.teacher, err = p.class.Teacher(ctx); err != nil {
				return err
			}
			if err := p.teacher.Begins(ctx); err != nil {
				return err
			}
			return rehearsal.Each(p.students, func(_ int, s *student) error { return p.comes(ctx, s) })
		})
		return server
	}
	killed := func(server *classServer) {
		server.kill()
		for _, s := range p.students {
			s.Drop()
		}
		p.teacher.Drop()
		p.teacher = nil
	}
	const beat = "guess-crash"
	no := 1 + slices.IndexFunc(p.lesson.Steps, func(s *lessons.Step) bool { return s.ID == beat })
	q := p.lesson.Steps[no-1].Question

	server := begins("L09#" + beat)
	_, steps := p.teacher.At()
	p.allSee(no, steps)
	p.within(func(ctx context.Context) error { return p.students[0].Answer(ctx, q, 0) })
	given := p.journal(beat)[p.students[0].name()]
	killed(server)
	journal, err := os.OpenFile(filepath.Join(p.home, "kviz", "class", "L09.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.WriteString(`{"t":"answer","name":"stud`); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 3; n++ {
		server = begins("L09")
		p.allSee(no, steps)
		p.within(func(ctx context.Context) error {
			for _, s := range p.students[:n] {
				if _, err := s.Sees(ctx, "you have answered"); err != nil {
					return err
				}
			}
			return p.students[n].Answer(ctx, q, n)
		})
		if now := p.journal(beat)[p.students[0].name()]; now != given || given == "" {
			t.Errorf("after kill %d the first answer is %q, and was %q", n, now, given)
		}
		killed(server)
	}
	server = begins("L09")
	p.within(p.teacher.Ends)
	p.within(server.over)
	for _, s := range p.students {
		s.Drop()
	}
	nothingIsLeft(t, filepath.Join(p.home, "kviz", "class"), "host_ed25519")
}
