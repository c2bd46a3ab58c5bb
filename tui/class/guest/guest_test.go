package guest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/class/guest"
	"kviz/tui/grid"
	"kviz/tui/tuitest"
)

// line is a program that shows what was typed, ends with q, and may have a cursor.
type line struct {
	g      *grid.Grid
	text   string
	cursor bool
}

func (l *line) Init() tea.Cmd       { return nil }
func (l *line) Drawn() *grid.Grid   { return l.g }
func (l *line) later() tea.Msg      { return laterMsg{} }
func (l *line) leaves() (m tea.Msg) { return tea.Quit() }

type laterMsg struct{}

func (l *line) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		l.g.Resize(msg.Width, msg.Height)
	case laterMsg:
		return l, l.leaves
	case tea.PasteMsg:
		l.text += msg.Content
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q":
			return l, l.leaves
		case "Q": // among others
			return l, tea.Batch(func() tea.Msg { return nil }, l.leaves)
		case "L": // in the end
			return l, l.later
		}
		l.text += msg.Text
	}
	return l, nil
}

func (l *line) View() tea.View {
	l.g.Area().Clear()
	l.g.Area().Text(0, 0, "typed: "+l.text, 0)
	l.g.Area().Text(0, l.g.Area().H()-1, "the keys of the program", 0)
	v := tea.View{Content: l.g.Render(func(grid.Style) string { return "" })}
	if l.cursor {
		v.Cursor = tea.NewCursor(len("typed: "+l.text), 0)
	}
	return v
}

// student is a terminal on which a program runs, driven as Bubble Tea would; it must be in a bubble.
type student struct {
	t       *testing.T
	host    *guest.Host
	program *line
	m       tea.Model
	msgs    chan tea.Msg
	left    bool
}

func sits(t *testing.T, s *guest.Screens, name string) *student {
	t.Helper()
	me := &student{t: t, host: s.Begin(name), program: &line{g: grid.New(0, 0)}, msgs: make(chan tea.Msg, 1000)}
	me.m = me.host.Wrap(me.program)
	me.runs(me.m.Init())
	me.hears(tea.WindowSizeMsg{Width: 80, Height: 4})
	me.settles()
	return me
}

func (s *student) runs(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				s.runs(c)
			}
		default:
			s.msgs <- msg
		}
	}()
}

func (s *student) hears(msg tea.Msg) {
	switch msg.(type) {
	case tea.QuitMsg:
		s.left = true
		return
	case tea.BackgroundColorMsg:
		return
	}
	_, cmd := s.m.Update(msg)
	s.m.View()
	s.runs(cmd)
}

func (s *student) settles() {
	for {
		synctest.Wait()
		select {
		case msg := <-s.msgs:
			s.hears(msg)
			continue
		default:
		}
		return
	}
}

// types presses keys one at a time, after a pause.
func (s *student) types(keys ...string) {
	s.settles()
	time.Sleep(2 * time.Second)
	for _, k := range keys {
		s.hears(tuitest.Press(k))
		s.settles()
	}
}

func (s *student) shows(want string) {
	s.t.Helper()
	s.settles()
	if got := s.m.View().Content; !strings.Contains(plain(got), want) {
		s.t.Errorf("there is no %q on\n%s", want, plain(got))
	}
}

func (s *student) hides(not string) {
	s.t.Helper()
	s.settles()
	if got := s.m.View().Content; strings.Contains(plain(got), not) {
		s.t.Errorf("there is %q on\n%s", not, plain(got))
	}
}

// plain is a text without its colours.
func plain(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\x1b' {
			for i < len(s) && s[i] != 'm' {
				i++
			}
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// seen is what a guest sees; "" for nothing.
func seen(l *guest.Look) string {
	if f := l.Now().Frame; f != nil {
		return f.Grid.Plane()
	}
	return ""
}

// looks asks for a look.
func looks(t *testing.T, s *guest.Screens, name string) *guest.Look {
	t.Helper()
	l, err := s.Look(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// agreed is a look that the student has agreed to, and with hand to their keys too.
func agreed(t *testing.T, s *guest.Screens, me *student, hand bool) *guest.Look {
	t.Helper()
	l := looks(t, s, "mira")
	me.types("y")
	if hand {
		l.AskHand()
		me.types("y")
	}
	if now := l.Now(); now.State != guest.Given || hand != (now.Hand == guest.Given) {
		t.Fatalf("agreed: %+v", now)
	}
	return l
}

// TestNobodyLooksWhoWasNotLetIn: nothing is to be seen before the student agrees, and nothing where they do not.
func TestNobodyLooksWhoWasNotLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guest.New("ada")
		me := sits(t, s, "mira")
		defer me.host.End()
		if _, err := s.Look(t.Context(), "jonas"); err == nil {
			t.Error("a look at somebody who is not there")
		}
		l := looks(t, s, "mira")
		if _, err := s.Look(t.Context(), "mira"); err == nil {
			t.Error("two looks at a time")
		}
		me.shows("ada asks to look at your screen:  y yes  n no")
		me.types("a", "b")
		if seen(l) != "" || l.Now().State != guest.Asked {
			t.Errorf("not yet agreed: %+v", l.Now())
		}
		l.AskHand() // before its time
		if err := l.Type(tuitest.Press("y")); !errors.Is(err, guest.ErrNoHand) {
			t.Errorf("the guest answers for the student: %v", err)
		}
		me.types("n")
		if now := l.Now(); now.State != guest.Over || now.Frame != nil || !strings.Contains(now.Says, "does not want") {
			t.Errorf("refused: %+v", now)
		}
		me.types("c")
		me.hides("ada")
		if me.program.text != "abc" || seen(l) != "" {
			t.Errorf("the program has %q, the guest sees %q", me.program.text, seen(l))
		}
	})
}

// TestALook shows what the student sees, says so to them, ends when they want, and is for once.
func TestALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guest.New("ada")
		me := sits(t, s, "mira")
		defer me.host.End()
		l := agreed(t, s, me, false)
		me.shows("ada sees your screen  ctrl+] ends it")
		me.shows("the keys of the program")
		me.types("h", "i")
		first := l.Now().Frame
		if w, h := first.Grid.Size(); w != 80 || h != 4 || !strings.Contains(seen(l), "typed: hi") || strings.Contains(seen(l), "ada") {
			t.Errorf("at %dx%d the guest sees %q", w, h, seen(l))
		}
		me.types("!")
		if !strings.Contains(seen(l), "typed: hi!") || !strings.Contains(first.Grid.Plane(), "typed: hi\n") {
			t.Errorf("now %q, before %q", seen(l), first.Grid.Plane())
		}
		if err := l.Type(tuitest.Press("x")); !errors.Is(err, guest.ErrNoHand) {
			t.Errorf("a guest types: %v", err)
		}
		me.types("ctrl+]")
		me.hides("ada")
		if now := l.Now(); now.State != guest.Over || now.Frame != nil || !strings.Contains(now.Says, "has ended it") {
			t.Errorf("ended: %+v", now)
		}
		me.types("s", "e", "c", "r", "e", "t")
		if l.Now().Frame != nil {
			t.Error("the guest sees what came after the end")
		}
		again := looks(t, s, "mira")
		me.types("?")
		if again.Now().State != guest.Asked || seen(again) != "" {
			t.Errorf("the next look was not asked for: %+v", again.Now())
		}
		again.End()
		me.hides("ada")
	})
}

// TestAHand types where the student agrees to that too; what it typed before they ended it is not done after it.
func TestAHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guest.New("ada")
		me := sits(t, s, "mira")
		defer me.host.End()
		l := agreed(t, s, me, false)
		l.AskHand()
		me.shows("and asks to type on your keys:  y yes  n no")
		me.types("n")
		if now := l.Now(); now.State != guest.Given || now.Hand != guest.Not || !strings.Contains(now.Says, "does not want you to type") {
			t.Errorf("the hand is refused, the look is not: %+v", now)
		}
		l.AskHand()
		me.types("y")
		me.shows("ada sees your screen and types on your keys  ctrl+] ends it")
		types := func(keys ...string) {
			t.Helper()
			for _, k := range keys {
				if err := l.Type(tuitest.Press(k)); err != nil {
					t.Fatal(err)
				}
			}
		}
		types("l", "s")
		if err := l.Type(tea.PasteMsg{Content: " -l"}); err != nil {
			t.Fatal(err)
		}
		me.types("!")
		if me.program.text != "ls -l!" {
			t.Errorf("typed by two: %q", me.program.text)
		}
		l.LetGo()
		if err := l.Type(tuitest.Press("x")); !errors.Is(err, guest.ErrNoHand) || l.Now().State != guest.Given {
			t.Errorf("let go: %v, %+v", err, l.Now())
		}
		l.AskHand()
		me.types("y")
		types("r", "m")
		me.hears(tuitest.Press("ctrl+]")) // before the program has taken them
		me.settles()
		if err := l.Type(tuitest.Press("x")); !errors.Is(err, guest.ErrNoHand) {
			t.Errorf("after the end: %v", err)
		}
		me.settles()
		if me.program.text != "ls -l!" {
			t.Errorf("after the end it is %q", me.program.text)
		}
	})
}

// TestAHandLeavesNothing: what would end the student's screen is theirs to do, however a key comes to it.
func TestAHandLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guest.New("ada")
		me := sits(t, s, "mira")
		defer me.host.End()
		l := agreed(t, s, me, true)
		for _, k := range []string{"q", "Q", "L"} {
			if err := l.Type(tuitest.Press(k)); err != nil {
				t.Fatal(err)
			}
			me.settles()
			if me.left {
				t.Fatalf("%s has ended the student's screen", k)
			}
			if says := l.Now().Says; !strings.Contains(says, "only mira can leave here") {
				t.Errorf("after %s the guest reads %q", k, says)
			}
		}
		if err := l.Type(tuitest.Press("ctrl+]")); err != nil {
			t.Fatal(err)
		}
		me.settles()
		if l.Now().Hand != guest.Given {
			t.Error("a guest's key is taken for the student's")
		}
		me.types("L")
		if !me.left {
			t.Error("the student cannot leave")
		}
	})
}

// TestAWordIsNoAnswer: y in a line that is being typed is a letter; ctrl+] turns to the question.
func TestAWordIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guest.New("ada")
		me := sits(t, s, "mira")
		defer me.host.End()
		l := looks(t, s, "mira")
		me.types("m", "y") // without a pause between them
		me.program.cursor = true
		me.types("x")
		me.shows("ctrl+] to answer")
		me.types("y")
		if me.program.text != "myxy" || l.Now().State != guest.Asked {
			t.Fatalf("typed %q, and the look is %+v", me.program.text, l.Now())
		}
		me.types("ctrl+]")
		me.shows("y yes  n no")
		me.types("z") // goes on in the line
		me.shows("ctrl+] to answer")
		me.types("ctrl+]", "y")
		if me.program.text != "myxyz" || l.Now().State != guest.Given {
			t.Errorf("typed %q, and the look is %+v", me.program.text, l.Now())
		}
		l.AskHand()
		me.types("y") // the next question, to which the student has not turned
		if l.Now().Hand != guest.Asked {
			t.Error("the first answer counts twice")
		}
		me.types("ctrl+]", "esc")
		if l.Now().Hand != guest.Not {
			t.Error("esc does not say no")
		}
	})
}

// TestWhatIsTypedIsBounded, for a student's terminal that takes nothing.
func TestWhatIsTypedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guest.New("ada")
		me := sits(t, s, "mira")
		defer me.host.End()
		l := agreed(t, s, me, true)
		taken := 0
		for range 1000 {
			if err := l.Type(tuitest.Press("a")); err == nil {
				taken++
			} else if !errors.Is(err, guest.ErrBusy) {
				t.Fatal(err)
			}
		}
		if taken != 64 {
			t.Errorf("%d keys wait", taken)
		}
		if err := l.Type(tea.PasteMsg{Content: strings.Repeat("a", 5000)}); !errors.Is(err, guest.ErrLong) {
			t.Errorf("5000 letters: %v", err)
		}
		me.settles()
		if n := len(me.program.text); n != taken {
			t.Errorf("%d have come", n)
		}
	})
}

// TestALookEnds with the screen that the student agreed for, and with the teacher's own.
func TestALookEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guest.New("ada")
		me := sits(t, s, "mira")
		l := agreed(t, s, me, true)
		me.host.End()
		next := sits(t, s, "mira")
		defer next.host.End()
		next.hides("ada")
		if now := l.Now(); now.State != guest.Over || now.Frame != nil || !strings.Contains(now.Says, "has left this screen") {
			t.Errorf("on the next screen: %+v", now)
		}
		if err := l.Type(tuitest.Press("x")); !errors.Is(err, guest.ErrNoHand) {
			t.Errorf("on the next screen: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		again, err := s.Look(ctx, "mira")
		if err != nil {
			t.Fatal(err)
		}
		next.types("y")
		next.shows("ada sees")
		cancel()
		next.hides("ada")
		if again.Now().State != guest.Over {
			t.Errorf("the teacher's screen has ended: %+v", again.Now())
		}
	})
}

// TestNarrowScreens have as much of it as there is room for.
func TestNarrowScreens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guest.New("ada")
		me := sits(t, s, "mira")
		defer me.host.End()
		l := agreed(t, s, me, true)
		for _, size := range [][2]int{{30, 3}, {1, 1}, {200, 60}} {
			me.hears(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			me.settles()
			lines := strings.Split(plain(me.m.View().Content), "\n")
			for _, line := range lines {
				if grid.Width(line) > size[0] || len(lines) > size[1] {
					t.Errorf("at %s it is %q", fmt.Sprint(size), lines)
				}
			}
			if w, h := l.Now().Frame.Grid.Size(); w != size[0] || h != size[1] {
				t.Errorf("the guest sees %dx%d of %v", w, h, size)
			}
		}
	})
}
