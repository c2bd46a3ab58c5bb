package walk_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/raftstore/steady"
	"kviz/tui/class/walk"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

var pictures = stage.Pictures(panes.All)

// TestAFileOfMarks: what is written by hand is read, and stands in the order of its events.
func TestAFileOfMarks(t *testing.T) {
	got, err := walk.Parse([]byte(`kviz marks 1

#20..#31
show: store/logs
spot: store:member/b
spot: store:member/a
big: TERM 3
say: b has two votes: it leads.
note: Ask: could c have won?
note:
note: Etcd waits 1000 ms.
#7.2
`), pictures)
	if err != nil {
		t.Fatal(err)
	}
	want := []walk.Mark{
		{At: trace.ID{Seq: 7, Sub: 2}},
		{
			From: trace.ID{Seq: 20}, At: trace.ID{Seq: 31}, Show: "store/logs", Spots: []string{"store:member/b", "store:member/a"}, Big: "TERM 3",
			Say: "b has two votes: it leads.", Note: "Ask: could c have won?\n\nEtcd waits 1000 ms.",
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestWhatIsNoFileOfMarks is refused in words, with the line.
func TestWhatIsNoFileOfMarks(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    `line 1: want "kviz marks 1"`,
		"kviz marks 2\n#1\n":                  "line 1: want \"kviz marks 1\": this is no file of marks, or one of a newer kviz",
		"kviz marks 1\nsay: hi\n":             `line 2: "say: hi" belongs to no mark: want an event first, such as #8841`,
		"kviz marks 1\n#x\n":                  `line 2: event number "#x": want a number such as 214 or 214.3`,
		"kviz marks 1\n#0\n":                  "line 2: events are numbered from 1",
		"kviz marks 1\n#9..#3\n":              "line 2: the mark #9..#3: #9..#3 goes back in time: want the earlier event first",
		"kviz marks 1\n\n#9\nshow: stor\n":    `line 3: the mark #9: show: there is no pane "stor"; did you mean "store"?`,
		"kviz marks 1\n#9\nshow: store/log\n": `line 2: the mark #9: show: the pane store has no view "log"; did you mean "logs"?`,
		"kviz marks 1\n#9\nshow: store\nspot: map:node/a\n":         `line 2: the mark #9: spot "map:node/a": store is on the stage; want store:NAME`,
		"kviz marks 1\n#9\nspot: store:membr/a\n":                   `line 2: the mark #9: spot "store:membr/a": the pane store has no "membr" to point at; did you mean "member"?`,
		"kviz marks 1\n#9\nsays: x\n":                               `line 3: "says: x": want show, spot, big, say or note, and a colon behind it`,
		"kviz marks 1\n#9\nsay: x\nsay: y\n":                        "line 4: say is said twice of one mark",
		"kviz marks 1\n#9\nsay: a\x1b[31m\n":                        "line 2: the mark #9: say: it has a sign that nobody sees",
		"kviz marks 1\n#9\nsay: \xff\n":                             "line 2: the mark #9: say: it is not UTF-8",
		"kviz marks 1\n#9\nsay: " + strings.Repeat("x", 401) + "\n": "line 2: the mark #9: say: it has 401 characters; at most 400 are read from a screen",
		"kviz marks 1\n" + strings.Repeat("#9\n", 1001):             "line 1002: a file has at most 1000 marks",
		strings.Repeat("x", 1<<20+1):                                "more than 1048576 bytes",
	} {
		_, err := walk.Parse([]byte(text), pictures)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q is refused with %v; want %s", text, err, want)
		}
	}
}

var (
	ids = rapid.Custom(func(t *rapid.T) trace.ID {
		return trace.ID{Seq: rapid.Uint64Range(1, 1<<40).Draw(t, "seq"), Sub: rapid.Uint32Range(0, 12).Draw(t, "sub")}
	})
	texts = rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-zäß#:.!…][a-zäß#:. …é]{0,30}[a-z:#.]`))
	marks = rapid.Custom(func(t *rapid.T) walk.Mark {
		m := walk.Mark{At: ids.Draw(t, "at"), Say: texts.Draw(t, "say"), Big: rapid.SampledFrom([]string{"", "TERM 3"}).Draw(t, "big")}
		if from := ids.Draw(t, "from"); from.Compare(m.At) < 0 {
			m.From = from
		}
		m.Show = rapid.SampledFrom([]string{"", "map", "store/logs", "object/Pod/demo/web-1"}).Draw(t, "show")
		if m.Show == "store/logs" {
			m.Spots = rapid.SliceOfN(rapid.SampledFrom([]string{"store:member/a", "store:quorum"}), 1, 2).Draw(t, "spots")
		}
		m.Note = strings.TrimSpace(strings.Join(rapid.SliceOfN(texts, 0, 4).Draw(t, "note"), "\n"))
		return m
	})
)

// TestMarksSurviveTheirFile: whatever is set is there again, in the same order, when the file is read.
func TestMarksSurviveTheirFile(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		file := filepath.Join(t.TempDir(), "run.kvrun")
		kept, err := walk.Open(file, pictures)
		if err != nil {
			r.Fatal(err)
		}
		for range rapid.IntRange(1, 8).Draw(r, "marks") {
			if err := kept.Set(marks.Draw(r, "mark")); err != nil {
				r.Fatal(err)
			}
		}
		if n := len(kept.All()); n > 1 && rapid.Bool().Draw(r, "removes") {
			if err := kept.Remove(rapid.IntRange(0, n-1).Draw(r, "which")); err != nil {
				r.Fatal(err)
			}
		}
		again, err := walk.Open(file, pictures)
		if err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(kept.All(), again.All()); d != "" {
			r.Fatal(d)
		}
		for i, m := range again.All() {
			if i > 0 && m.At.Compare(again.All()[i-1].At) < 0 {
				r.Fatalf("%v stands behind a later one", m)
			}
		}
	})
}

// FuzzParse: a text is marks that are the same once they are written and read, or it is refused.
func FuzzParse(f *testing.F) {
	f.Add([]byte("kviz marks 1\n\n#20..#31\nshow: store/logs\nspot: store:member/b\nbig: TERM 3\nsay: b leads.\nnote: a\nnote: b\n"))
	f.Add([]byte("kviz marks 1\n#7.2\n#7.2\nsay:\nnote:\nnote: x\n"))
	f.Add([]byte("\ufeffkviz marks 1\r\n#1..#1\r\nspot: api:req/1\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := walk.Parse(text, pictures)
		if err != nil {
			if !strings.Contains(err.Error(), "line ") && len(text) <= 1<<20 {
				t.Errorf("the error does not say where: %v", err)
			}
			return
		}
		written := walk.Format(all)
		again, err := walk.Parse(written, pictures)
		if err != nil {
			t.Fatalf("%q is not read again: %v", written, err)
		}
		if !bytes.Equal(walk.Format(again), written) {
			t.Errorf("%q becomes %q", written, walk.Format(again))
		}
	})
}

// TestMarksThatCannotBeKept are not set, and what is in the file stays.
func TestMarksThatCannotBeKept(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "run.kvrun")
	kept, err := walk.Open(file, pictures)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Set(walk.Mark{At: trace.ID{Seq: 3}, Show: "nowhere"}); err == nil || len(kept.All()) > 0 {
		t.Errorf("a pane that there is not is taken: %v, %v", kept.All(), err)
	}
	if _, err := os.Stat(walk.Beside(file)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is there: %v", err)
	}
	if err := kept.Set(walk.Mark{At: trace.ID{Seq: 3}}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(walk.Beside(file))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file is %v, %v: it is its owner's alone", info.Mode(), err)
	}
	lost := walk.Fresh(filepath.Join(folder, "gone", "run.kvrun"), pictures)
	if err := lost.Set(walk.Mark{At: trace.ID{Seq: 3}}); err == nil || len(lost.All()) > 0 {
		t.Errorf("a mark that is not written is there: %v, %v", lost.All(), err)
	}
	loose := walk.New(pictures)
	if err := loose.Set(walk.Mark{At: trace.ID{Seq: 5}, Say: "here"}); err != nil {
		t.Fatal(err)
	}
	if err := loose.Save(file); err != nil {
		t.Fatal(err)
	}
	again, err := walk.Open(file, pictures)
	if err != nil || len(again.All()) != 1 || again.All()[0].Say != "here" {
		t.Errorf("the saved marks are %v, %v", again.All(), err)
	}
}
