package stage_test

import (
	"io/fs"
	"os"
	"runtime"
	"testing"
	"testing/fstest"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/panes"
	"kviz/tui/stage"
	"kviz/tui/tuitest"
)

// kept is the run that one player has left and the next one finds.
type kept struct {
	marks  *lessons.Marks
	events []*trace.Event
}

func (k *kept) Keep(_ *lessons.Lesson, m lessons.Marks, run *trace.Stream) error {
	k.marks = &m
	k.events, _, _ = run.Read(0, int(run.Len()))
	return nil
}

func (k *kept) Recording(_ *lessons.Lesson, beat int) ([]*trace.Event, *lessons.Marks, error) {
	if k.marks == nil || beat >= len(k.marks.Beats) {
		return nil, nil, fs.ErrNotExist
	}
	return k.events[:k.marks.Beats[beat].At], k.marks, nil
}

// TestARecordingStandsInForTheCluster comes back to a beat that was seen before: what was seen there is on the stage while
// there is no cluster yet and while its scene is set, and gives way to the cluster that stands there.
func TestARecordingStandsInForTheCluster(t *testing.T) {
	k := &kept{}
	first := begin(t, aWrite("a"))
	first.player.Records(k)
	for _, key := range []string{" ", " ", " ", "1", "enter", " "} {
		first.press(key)
		first.runs()
	}
	if look := first.look(); look.Beat.ID != "committed" {
		t.Fatalf("the beat %q is under way", look.Beat.ID)
	}
	first.player.Close()

	text, err := os.ReadFile("testdata/lesson.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: text}}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	c := tuitest.NewCluster(aWrite("a"), 0)
	p := &play{t, c, lessons.NewPlayer(c, all, lessons.NewProgress(aDay)), view.NewHistory(c.Trace()), stage.New(panes.All), stage.Command{}}
	p.player.Records(k)
	t.Cleanup(p.player.Close)
	p.player.Await("L50#which")
	if look := p.look(); look.Active {
		t.Error("a beat is shown to which the run did not come")
	}
	p.player.Await("L50#committed")
	for p.look().Recorded == nil {
		runtime.Gosched()
	}
	if n := c.Trace().Len(); n != 0 {
		t.Fatalf("the cluster has done %d events", n)
	}
	p.shows("recorded-begins", 80, 24)
	if does := p.stage.Key(tea.KeyPressMsg{Code: ' ', Text: " "}); does != (action.Redraw{}) { // ends the motion
		t.Errorf("space does %v", does)
	}
	p.shows("recorded", 80, 24)
	for _, key := range []string{"1", "x", ":", "n", "s", "w"} {
		if does, ok := p.stage.Key(tea.KeyPressMsg{Code: rune(key[0]), Text: key}).(action.Notice); !ok {
			t.Errorf("%s does %v to a recording", key, does)
		}
	}
	if err := p.player.Do("next"); err == nil {
		t.Error("the lesson goes on where there is no cluster")
	}

	for range tuitest.Calm(3, 3).Stream.Len() { // it boots
		if err := c.Resume(); err != nil || !c.Play(1) {
			t.Fatalf("the cluster does not boot: %v", err)
		}
	}
	before := c.Pauses()
	if err := p.player.Start("L50#committed"); err != nil {
		t.Fatal(err)
	}
	look := p.look()
	for ; look.Setting; look = p.look() {
		if look.Recorded == nil || look.Beat.ID != "committed" {
			t.Fatal("the recording is gone before the scene is set")
		}
		if c.Pauses() > before { // the attempt has begun: what happened earlier is no part of it
			c.Play(1)
		}
		runtime.Gosched()
	}
	if look.Recorded != nil || look.Beat == nil || look.Beat.ID != "committed" {
		t.Fatalf("once the scene is set the stage shows %+v", look.Beat)
	}
}
