package teacher

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/lead"
	"kviz/tui/class/result"
	"kviz/tui/grid"
	"kviz/tui/panes"
)

// FuzzStrangersWords: whatever students call themselves, ask and answer, it disturbs neither the notes nor the board, is no formula in a
// spreadsheet, and comes out of the file for handouts as it may stand there.
func FuzzStrangersWords(f *testing.F) {
	f.Add("mira", "why?", "it goes on")
	for _, text := range hostile {
		f.Add(text, text, text)
	}
	for _, text := range []string{"=1+1", "＝cmd|' /C calc'!A0", " \u00a0-2", "a\",\"b\nc", "\xff\xfe", "\u202eabc", strings.Repeat("w\u0301", 3000), "</script><b>", "\x1b]0;x\a"} {
		f.Add(text, text, text)
	}
	f.Fuzz(func(t *testing.T, name, asks, answers string) {
		room := class.NewRoom(time.Now, nil)
		room.Begin("L50@1")
		room.GoTo("guess")
		room.Come(name)
		room.Poll("guess", class.Open)
		if err := room.Answer(name, "guess", &lessons.Answer{Said: lessons.Said{Parts: []int{1}}}, answers); err != nil {
			t.Fatal(err)
		}
		room.Ask(name, asks)
		room.Raise(name, true)
		room.Poll("guess", class.Shown)
		beats := []Beat{{ID: "guess", Title: "What then?", Kind: "predict", Ask: asks}}
		drawsNothingStrange(t, room, beats)

		st := room.State()
		table, err := Table(beats, st)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("the table has %d rows: %v\n%s", len(rows), err, table)
		}
		for _, cell := range rows[1] {
			if bad := strings.IndexFunc(cell, strange); bad >= 0 {
				t.Errorf("a cell is %q", cell)
			}
			if first := strings.TrimSpace(cell); first != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(first)[0]) {
				t.Errorf("a cell is the formula %q", cell)
			}
		}
		polls, err := Polls(beats, st)
		if err != nil {
			t.Fatal(err)
		}
		read, err := result.Read(bytes.NewReader(polls))
		if err != nil || len(read.Polls) != 1 || len(read.Polls[0].Answers) != 1 {
			t.Fatalf("a handout reads %+v: %v", read, err)
		}
		for _, text := range []string{read.Polls[0].Question, read.Polls[0].Answers[0].Text} {
			if strings.ContainsFunc(text, strange) {
				t.Errorf("a handout reads %q", text)
			}
		}
	})
}

// strange reports whether a character moves the cursor, turns text round or ends a line.
func strange(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// drawsNothingStrange draws notes and board, of which no line is wider than the screen.
func drawsNothingStrange(t *testing.T, room *class.Room, beats []Beat) {
	t.Helper()
	var scenes class.Bell
	cfg := Config{Lead: &still{scene: &lead.Scene{}}, Scenes: &scenes, Room: room, Seats: &room.Changed, Panes: panes.All, Theme: "none", Beats: beats}
	n := NewNotes(t.Context(), cfg)
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		n.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for _, key := range []string{"B", "down", "esc"} {
			n.Update(keyOf(key))
			n.read()
			for _, line := range strings.Split(n.View().Content, "\n") {
				plain := ansi.Strip(line)
				if w := grid.Width(plain); w > size[0] {
					t.Errorf("a line has %d columns of %d: %q", w, size[0], plain)
				}
				if strings.ContainsFunc(plain, strange) {
					t.Errorf("a line is %q", plain)
				}
			}
		}
	}
}
