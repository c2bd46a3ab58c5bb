package lessons_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/assets"
	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/lessons"
	"kviz/tui/panes"
)

// player drives lessons through their API, as the explorer does.
type player struct {
	t *testing.T
	*lessons.Player
	c *cluster.Cluster
}

// playLive plays on a cluster whose time passes; with demand it passes only while something is
// waited for.
func playLive(t *testing.T, progress string) *player { return playOn(t, progress, false) }

func playOn(t *testing.T, progress string, demand bool, more ...lessons.Source) *player {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, Demand: demand, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		cancel()
	})
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	all, err := lessons.Load(assets.Lessons(), panes.Names(), more...)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := lessons.LoadProgress(progress)
	if err != nil {
		t.Fatal(err)
	}
	return &player{t, lessons.NewPlayer(c, all, kept), c}
}

// until looks until something holds, and gives what is shown then.
func (p *player) until(what string, ok func(lessons.Look) bool) lessons.Look {
	p.t.Helper()
	end := time.After(60 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		look := p.Look()
		if ok(look) {
			return look
		}
		select {
		case <-end:
			p.t.Fatalf("never %s; step %d shows:\n%s", what, look.Step, look.Text)
		case <-tick.C:
		}
	}
}

func (p *player) do(action string) {
	p.t.Helper()
	if err := p.Do(action); err != nil {
		p.t.Fatalf("%s: %v", action, err)
	}
}

func (p *player) run(line string) {
	p.t.Helper()
	var out strings.Builder
	if exit := p.c.Exec(context.Background(), line, control.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Source: "console"}); exit != 0 {
		p.t.Fatalf("%s ended with %d:\n%s", line, exit, out.String())
	}
}

// pages are lessons in steps with long texts (format 1), as learners may have written them.
var pages = lessons.Source{Name: "pages", FS: os.DirFS("testdata/pages")}

// A lesson in steps from its first to its last, left in the middle and taken up
// again in another sitting, on another cluster.
func TestALessonIsPlayed(t *testing.T) {
	progress := filepath.Join(t.TempDir(), "progress.json")
	set := func(l lessons.Look) bool { return l.Active && !strings.Contains(l.Text, "Setting the scene") }

	p := playOn(t, progress, true, pages)
	if err := p.Start("L99"); err == nil || !strings.Contains(err.Error(), "one of L01, L02") {
		t.Fatalf("a lesson that is not there: %v", err)
	}
	if err := p.Start("L02"); err != nil {
		t.Fatal(err)
	}
	if look := p.until("is the scene set", set); look.Step != 1 || len(look.View) == 0 || look.View[0] != "events" {
		t.Fatalf("it begins with step %d and the panes %v", look.Step, look.View)
	}
	p.do("next")
	p.do("answer 3")
	if look := p.Look(); look.Kind != lessons.Predict || look.Choices[0].Right || !strings.Contains(look.Verdict, "You will see") {
		t.Fatalf("a prediction tells its answer before anything happened: %+v", look)
	}
	p.do("next")
	if err := p.Do("next"); err == nil || !strings.Contains(err.Error(), "not done yet") {
		t.Fatalf("a step that is not done was left: %v", err)
	}
	p.do("hint")
	if look := p.Look(); look.Hint == "" || look.HintNo != 1 {
		t.Fatalf("no hint was given: %+v", look)
	}
	p.run("kubectl apply -f manifests/pod.yaml && kubectl wait -n demo --for=condition=Ready pod/hello-pod --timeout=120s")
	look := p.until("is the step done", func(l lessons.Look) bool { return l.CanNext })
	if !strings.Contains(look.Verdict, "No (#") || look.View[0] != "api" {
		t.Fatalf("the wrong prediction is answered %q, beside %v", look.Verdict, look.View)
	}
	p.do("next")
	p.do("answer 2")
	p.do("next")
	for _, n := range "67142853" { // the cards, as they are laid out
		p.do("answer " + string(n))
	}
	p.do("next")
	for _, n := range "122" {
		p.do("answer " + string(n))
	}
	p.do("next")
	if look := p.Look(); look.Step != 7 || look.View[0] != "node" {
		t.Fatalf("step %d with the panes %v", look.Step, look.View)
	}

	p = playOn(t, progress, true, pages) // another day
	if err := p.c.Pause(); err != nil {  // a scene is set though the cluster stands
		t.Fatal(err)
	}
	if err := p.Start("L02"); err != nil {
		t.Fatal(err)
	}
	if look := p.until("is the scene set", set); look.Step != 7 || look.CanNext {
		t.Fatalf("it goes on with step %d (may go on: %v)", look.Step, look.CanNext)
	}
	p.run(`kubectl apply -f manifests/pod.yaml; kviz fault stop registry; kubectl run late-pod -n demo --image=nginx:1.27-alpine
kviz wait --timeout 120s 'pod("demo/late-pod").containers["late-pod"].reason == "ImagePullBackOff"'`)
	p.until("is it broken", func(l lessons.Look) bool { return l.CanNext })
	p.do("next")
	p.run("kviz fault start registry; kubectl wait -n demo --for=condition=Ready pod --all --timeout=600s")
	p.until("is it mended", func(l lessons.Look) bool { return l.CanNext })
	p.do("next")
	p.do("answer 1")
	p.do("next")
	p.until("is it finished", func(l lessons.Look) bool { return l.Finished })
	if list := p.List(); !list[slices.IndexFunc(list, func(i lessons.Info) bool { return i.ID == "L02" })].Done {
		t.Fatalf("the list does not know: %+v", list[0])
	}
	kept, err := lessons.LoadProgress(progress)
	if err != nil || !kept.Lessons["L02"].Done || kept.Lessons["L02"].Hints != 1 {
		t.Fatalf("kept was %+v (%v)", kept.Lessons, err)
	}
	p.do("leave")
	if p.Look().Active {
		t.Fatal("it was not left")
	}
	p.run(`kviz wait --timeout 120s 'objects("pods", "demo").size() == 0 && faults.size() == 0'`) // put back
}
