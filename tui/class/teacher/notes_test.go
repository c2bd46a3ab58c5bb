package teacher

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/result"
)

// atThePoll is a class with so many students whose poll was answered by most of them, three of whom are stuck.
func atThePoll(c *taught, s *seen, n int) {
	c.joined(n)
	s.stands("members")
	s.press("pgdown")
	s.stands("on-disk")
	s.press("pgdown")
	s.stands("guess")
	c.says("guess", n*5/9, n*3/9)
	middle()
	for i, name := range []string{"jonas", "lea", "mira", "elif", "sam"} {
		if i < 2 || n > 20 {
			c.room.Progress(name, "guess", min(i, 2), 2, []string{"you crashed member/b, the goal says a", "", "", "", ""}[i], false)
		}
	}
	time.Sleep(4 * time.Minute)
	c.room.Raise("mira", true)
	c.room.Paces("anna", 1)
	c.room.Paces("bo", 1)
	c.room.Ask("tarek", "what if a comes back during the vote?")
}

// TestNotes at rest and full: what to say, the poll that is hidden, who is stuck, hands, questions, pace.
func TestNotes(t *testing.T) {
	for _, n := range []int{0, 27, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				c := teaches(t)
				c.cfg.Refusals = func() []Refusal {
					return []Refusal{{At: time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC), Who: "203.0.113.7", What: "asked for a shell command", Times: 3}}
				}
				s := c.sees(NewNotes(t.Context(), c.cfg), 80, 24)
				atThePoll(c, s, n)
				s.shows("refused", "203.0.113.7 asked for a shell command (3 times)", "next: 4 see  Committed")
				if n > 0 {
					s.shows("open · V closes", "jonas", "nearest: you crashed member/b", "mira", "tarek: what if", "2 slower, 0 faster")
					s.hides("choice 1", "█", "anna")
				}
				s.golden(fmt.Sprintf("notes-%d", n))
			})
		})
	}
}

// TestAPollIsPeekedAt: the teacher sees the answers before the class does, only of this poll.
func TestAPollIsPeekedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		s := c.sees(NewNotes(t.Context(), c.cfg), 120, 40)
		atThePoll(c, s, 27)
		s.hides("█")
		s.press("p")
		s.shows("█ 15", "█ 9", "24 of 27 · open · V closes")
		s.press("p")
		s.hides("█")
		s.press("V")
		s.shows("24 of 27 · hidden · V shows")
		s.press("space")
		s.stands("committed")
		s.shows("Say: the client hears of it only now.")
		s.press("V")
		s.shows("24 of 27 · shown", "✓ ", "✗ ")
		s.golden("notes-shown")
	})
}

// TestTheBoard: a row a student, who is stuck, the hint that is sent, and the keys around.
func TestTheBoard(t *testing.T) {
	for _, n := range []int{0, 27, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := teaches(t)
				s := c.sees(NewNotes(t.Context(), c.cfg), 80, 24)
				atThePoll(c, s, n)
				s.press("B")
				if n == 0 {
					s.shows("Nobody has come in yet.")
					s.golden("board-0")
					return
				}
				for range 9 {
					s.press("down")
				}
				s.shows("jonas, beat 3: What then?", "0 of 2; nearest: you crashed member/b", "! stuck 4:", "more below")
				s.hides("choice", "look in")
				s.golden(fmt.Sprintf("board-%d", n))
				s.press("end")
				s.shows(studentName(n - 1))
				s.press("home", "s")
				s.shows("a hint for anna")
				for _, r := range "look at a" {
					s.press(string(r))
				}
				s.press("enter")
				if seat, _ := c.room.State().Seat("anna"); seat.Hint != "look at a" {
					t.Errorf("anna is sent %q", seat.Hint)
				}
				s.shows("sent to anna")
				s.press("B")
				s.shows("notes · L50")
			})
		})
	}
}

// TestAHintOfTheBeat is sent by a digit.
func TestAHintOfTheBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		c.cfg.Hints = func(beat string) []string { return []string{"one of " + beat, "two"} }
		s := c.sees(NewNotes(t.Context(), c.cfg), 80, 24)
		s.stands("members")
		c.room.Come("anna")
		s.press("B")
		s.shows("anna")
		s.press("s")
		s.shows("1  one of members", "2  two")
		s.press("1")
		if seat, _ := c.room.State().Seat("anna"); seat.Hint != "one of members" {
			t.Errorf("anna is sent %q", seat.Hint)
		}
	})
}

// TestTheTeacherHoldsEverybody from both screens, and lets them go.
func TestTheTeacherHoldsEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		s, p := c.sees(NewNotes(t.Context(), c.cfg), 80, 24), c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		s.stands("members")
		c.joined(3)
		s.hides("held")
		s.press("P")
		s.shows("class · 3 here · held", "everybody is held here: P lets them go")
		if !c.room.State().Pinned {
			t.Error("nobody is held")
		}
		p.stands("members")
		p.press("P")
		if c.room.State().Pinned {
			t.Error("they are held still")
		}
		s.until("that they are let go", func(on string) bool { return !strings.Contains(on, "· held") })
	})
}

// hostile is what students may call themselves, ask and answer.
var hostile = []string{
	"\x1b[31mred\x1b]0;owned\a", "=cmd|' /C calc'!A0", "+1+1", "-2", "@SUM(A1)", " =1", "a\nb\r\nc", "\u202eevil", "世界世界世界世界", "💥💥💥💥💥💥💥",
	strings.Repeat("x", 5000), "a,b\"c", "＝1", "\t=1",
}

// TestHostileStudents draw nothing outside of their cells, and put no formula into a table.
func TestHostileStudents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := teaches(t)
		s := c.sees(NewNotes(t.Context(), c.cfg), 120, 40)
		s.stands("members")
		s.press("pgdown")
		s.stands("on-disk")
		s.press("pgdown")
		s.stands("guess")
		p := c.sees(NewProjector(t.Context(), c.cfg), 80, 24)
		for i, text := range hostile {
			c.room.Come(text)
			a := lessons.Answer{Said: lessons.Said{Point: text}}
			if err := c.room.Answer(text, "guess", &a, text); err != nil {
				t.Fatal(err)
			}
			c.room.Ask(text, text)
			c.room.Raise(text, true)
			c.room.Hint(text, text)
			if i%2 == 0 {
				c.room.Progress(text, "guess", 0, 2, text, false)
			}
		}
		time.Sleep(4 * time.Minute)
		s.press("p")
		s.golden("hostile-notes")
		s.press("B")
		for range hostile {
			s.press("down")
			s.settles()
			clean(t, s)
		}
		s.golden("hostile-board")
		s.press("V", "V")
		p.settles()
		clean(t, p)
		p.golden("hostile-projector")

		s.press("E")
		s.shows("written: ")
		files, err := filepath.Glob(filepath.Join(c.cfg.Folder, "class-L50-*"))
		if err != nil || len(files) != 2 {
			t.Fatalf("files %v: %v", files, err)
		}
		table, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(table))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) < len(hostile)+1 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, r := range rows[1:] {
			for _, cell := range r {
				if first := strings.TrimSpace(cell); first != "" && strings.ContainsRune("=+-@＝", []rune(first)[0]) || strings.ContainsAny(cell, "\x1b\a\n\r\t\u202e") {
					t.Errorf("a cell is %q", cell)
				}
			}
		}
		text, err := os.ReadFile(files[1])
		if err != nil {
			t.Fatal(err)
		}
		r, err := result.Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if r.Lesson != "L50@1" || r.Students != len(hostile) || len(r.Polls) != 1 || len(r.Polls[0].Answers) < 5 {
			t.Errorf("the file has %+v", r)
		}
		if strings.ContainsAny(string(text), "\x1b\a\u202e") {
			t.Errorf("the file has characters that a terminal obeys: %q", text)
		}
		s.press("E") // a second one does not write over the first
		s.until("two more files", func(string) bool {
			files, _ := filepath.Glob(filepath.Join(c.cfg.Folder, "class-L50-*"))
			return len(files) == 4
		})
	})
}

// clean fails where anything but colour is switched in a frame.
func clean(t *testing.T, s *seen) {
	t.Helper()
	content := s.m.View().Content
	for i := 0; i < len(content); i++ {
		if content[i] == 0x1b {
			if end := strings.IndexByte(content[i:], 'm'); end < 0 || strings.Trim(content[i+1:i+end], "[0123456789;:") != "" {
				t.Fatalf("the frame has %q", content[i:min(i+20, len(content))])
			}
		} else if content[i] < 0x20 && content[i] != '\n' {
			t.Fatalf("the frame has %q", content[i])
		}
	}
}

// TestATable of what students did: goals, help, time, answers.
func TestATable(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := class.NewRoom(func() time.Time { return at }, nil)
	r.Begin("L09@3")
	r.GoTo("first")
	r.Come("ada")
	at = at.Add(30 * time.Second)
	r.Poll("first", class.Open)
	a := lessons.Answer{Said: lessons.Said{Parts: []int{1}}, Sure: 3}
	if err := r.Answer("ada", "first", &a, "two"); err != nil {
		t.Fatal(err)
	}
	r.Poll("first", class.Closed)
	r.Judge("first", func(lessons.Answer) (bool, bool) { return true, true })
	r.GoTo("second")
	r.Progress("ada", "second", 1, 2, "", false)
	r.Help("ada", "second", 2, 1, 3)
	at = at.Add(time.Minute)
	r.Leave("ada")
	at = at.Add(time.Hour) // she is gone
	got, err := Table([]Beat{{ID: "first"}, {ID: "second"}}, r.State())
	want := "nickname,beat,goals,of,hints,shown,undone,seconds,answer,sure,right\n" +
		"ada,first,0,0,0,0,0,30,two,sure,yes\nada,second,1,2,2,1,3,60,,,\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}
