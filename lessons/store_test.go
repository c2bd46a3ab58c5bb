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
	"kviz/lessons"
	"kviz/tui/panes"
)

// beat does what the beat on the stage asks for: it answers, and runs what is offered.
func (p *player) beat() {
	p.t.Helper()
	for {
		look := p.until("is there something to do, or is it over", func(l lessons.Look) bool {
			return l.CanNext || l.Finished || l.Beat.Offer != "" && !l.Beat.Behind || l.Ask != "" && !l.Answered
		})
		b := look.Beat
		switch {
		case b.Typed:
			p.do("number 2")
		case look.Ask != "" && !look.Answered:
			p.do(fmt.Sprintf("answer %d", 1+slices.IndexFunc(look.Choices, func(c lessons.ChoiceLook) bool { return !c.Chosen })))
		case b.Offer != "":
			if err := p.Do("next"); err == nil || !strings.Contains(err.Error(), "not over yet") {
				p.t.Fatalf("beat %s was left undone: %v", b.ID, err)
			}
			p.do("offered")
			p.c.Exec(context.Background(), b.Offer, control.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Source: "console"})
		default:
			return
		}
	}
}

func (p *player) where() string {
	p.t.Helper()
	var out strings.Builder
	p.c.Exec(context.Background(), "echo $PWD", control.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Source: "console"})
	return strings.TrimSpace(out.String())
}

// A lesson in beats from its first to its last, by what keys do: answers, the commands that are
// offered, and on.
func TestAStoreLessonIsPlayed(t *testing.T) {
	p := playLive(t, filepath.Join(t.TempDir(), "progress.json"))
	home := p.where()
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	l := all[slices.IndexFunc(all, func(l *lessons.Lesson) bool { return l.ID == "L09" })]
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
			t.Fatalf("beat %d shows beat %d, a %s with %d goals", i+1, look.Step, look.Kind, len(look.Goals))
		}
		p.beat()
		if i+1 < len(l.Steps) {
			p.until("is "+step.ID+" over", func(l lessons.Look) bool { return l.CanNext })
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
