package lessons_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"kviz/assets"
	"kviz/cluster/control"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/panes"
)

// fault breaks or mends something as the explorer's menu does, without a console.
func (p *player) fault(name, target string, args ...string) {
	p.t.Helper()
	if err := p.c.Fault(p.t.Context(), control.Fault{Name: name, Target: target, Args: args}); err != nil {
		p.t.Fatalf("%s %s: %v", name, target, err)
	}
}

// leader waits until somebody leads the store, and is who.
func (p *player) leader() string {
	p.t.Helper()
	p.run(`kviz wait --timeout 60s 'store.leader != ""'`)
	h := view.NewHistory(p.c.Trace())
	h.CatchUp(0)
	return h.Latest().Store.Leader
}

func (p *player) where() string {
	p.t.Helper()
	var out strings.Builder
	p.c.Exec(context.Background(), "echo $PWD", control.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Source: "console"})
	return strings.TrimSpace(out.String())
}

// A lesson about the store from its first step to its end, by what keys do: answers,
// faults from the menu, and next; the console only for kubectl.
func TestAStoreLessonIsPlayed(t *testing.T) {
	p := play(t, filepath.Join(t.TempDir(), "progress.json"))
	home := p.where()
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	l := all[slices.IndexFunc(all, func(l *lessons.Lesson) bool { return l.ID == "L09" })]
	one, two := "", "" // who is down
	acts := map[string]func(){
		"kill": func() {
			one = p.leader()
			p.fault("crash", "member/"+one)
			p.leader()
			p.run("kubectl scale deployment web -n demo --replicas=3")
		},
		"revive": func() { p.fault("start", "member/"+one) },
		"slow": func() {
			p.fault("slow-elections", "store", "4")
			one = p.leader()
			p.fault("crash", "member/"+one)
			p.run(fmt.Sprintf(`kviz wait --timeout 60s 'store.leader != "" && store.leader != "%s"'`, one))
			p.fault("fast-elections", "store")
			p.fault("start", "member/"+one)
		},
		"quorum": func() {
			one = p.leader()
			two = map[string]string{"a": "b", "b": "c", "c": "a"}[one]
			p.fault("stop", "member/"+one)
			p.fault("stop", "member/"+two)
			p.run("kubectl scale deployment web -n demo --replicas=5 || true")
		},
		"restore": func() {
			p.fault("start", "member/"+one)
			p.fault("start", "member/"+two)
		},
	}
	if err := p.Start("L09"); err != nil {
		t.Fatal(err)
	}
	p.until("is the scene set", func(l lessons.Look) bool { return l.Active && !strings.Contains(l.Text, "Setting the scene") })
	folder := p.where()
	if folder == home {
		t.Fatalf("the console stands in %s, where a backup would lie among other files", folder)
	}
	p.run("echo kept > note.txt")
	for i, step := range l.Steps {
		if look := p.Look(); look.Step != i+1 || len(look.Goals) != len(step.Goals) || look.Kind != step.Kind {
			t.Fatalf("step %d shows step %d, a %s with %d goals", i+1, look.Step, look.Kind, len(look.Goals))
		}
		if q := step.Question; q != nil {
			for _, n := range q.Right() {
				p.do(fmt.Sprintf("answer %d", n))
			}
		}
		if len(step.Goals) > 0 {
			if err := p.Do("next"); err == nil || !strings.Contains(err.Error(), "not done yet") {
				t.Fatalf("step %s was left undone: %v", step.ID, err)
			}
			acts[step.ID]()
		}
		if i+1 < len(l.Steps) {
			p.until("is "+step.ID+" done", func(l lessons.Look) bool { return l.CanNext })
			p.do("next")
		}
	}
	p.until("is it finished", func(l lessons.Look) bool { return l.Finished })
	if list := p.List(); !list[slices.IndexFunc(list, func(i lessons.Info) bool { return i.ID == "L09" })].Done {
		t.Error("the list does not know")
	}
	p.do("leave")
	p.run(`kviz wait --timeout 120s 'objects("pods", "demo").size() == 0 && faults.size() == 0'`) // put back
	if now := p.where(); now != home {
		t.Errorf("the console stands in %s after the lesson, and stood in %s before", now, home)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the lesson's folder %s is still there: %v", folder, err)
	}
	p.leftAtOnce(home)
	p.busyConsole(home)
}

// leftAtOnce leaves a lesson whose scene is still being set: the console is back
// where it stood, and stays there.
func (p *player) leftAtOnce(home string) {
	p.t.Helper()
	if err := p.Start("L09"); err != nil {
		p.t.Fatal(err)
	}
	p.do("leave")
	if now := p.where(); now != home {
		p.t.Errorf("at once the console stands in %s, and stood in %s before", now, home)
	}
	p.Wait()
	if now := p.where(); now != home {
		p.t.Errorf("in the end the console stands in %s, and stood in %s before", now, home)
	}
}

// busyConsole begins and leaves a lesson while a command of the person runs: it goes
// on, and the line after it stands in the lesson's folder, or where they stood.
func (p *player) busyConsole(home string) {
	p.t.Helper()
	ctx, interrupt := context.WithCancel(context.Background())
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.c.Exec(ctx, "kubectl get namespaces -w", control.Streams{In: strings.NewReader(""), Out: &first{said: begun}, Err: io.Discard, Source: "console"})
	}()
	<-begun
	if err := p.Start("L09"); err != nil {
		p.t.Fatal(err)
	}
	p.Wait()
	folder := p.where()
	if folder == home {
		p.t.Error("the lesson has set its scene among somebody's files")
	}
	interrupt()
	<-ended
	if now := p.where(); now != folder {
		p.t.Errorf("after their command the console stands in %s, want the lesson's %s", now, folder)
	}
	p.do("leave")
	p.Wait()
	if now := p.where(); now != home {
		p.t.Errorf("the console stands in %s after the lesson, and stood in %s before", now, home)
	}
}

// first tells of the first thing written to it.
type first struct {
	once sync.Once
	said chan struct{}
}

func (f *first) Write(p []byte) (int, error) {
	f.once.Do(func() { close(f.said) })
	return len(p), nil
}
