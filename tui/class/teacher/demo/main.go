// Command demo shows the teacher's screens over a story written by hand, without a cluster and without students: for looking
// at the screens.
//
// Start reading at main.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing/fstest"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/lead"
	"kviz/tui/class/teacher"
	"kviz/tui/panes"
	"kviz/tui/safe"
	"kviz/tui/tuitest"
)

func main() {
	theme := flag.String("theme", "", "dark, light, 16, none")
	notes := flag.Bool("notes", false, "the notes instead of the projector")
	file := flag.String("lesson", "tui/class/teacher/testdata/lesson.md", "a lesson for the story")
	students := flag.Int("students", 24, "how many are there")
	flag.Parse()
	if err := run(*file, *theme, *notes, *students); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file, theme string, notes bool, students int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: text}}, panes.Names())
	if err != nil {
		return err
	}
	tape := tuitest.Calm(3, 3)
	calm := int(tape.Stream.Len())
	tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(3, 2))
	tape.After(300 * time.Millisecond)
	tape.Down("a", "crashed", tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/a"}))
	c := tuitest.NewCluster(tape, calm)
	player := lessons.NewPlayer(c, all, lessons.NewProgress(time.Now))
	defer player.Close()
	room := class.NewRoom(time.Now, nil)
	room.Begin("L50@1")
	l := lead.New(lead.Config{Cluster: c, History: view.NewHistory(c.Trace()), Player: player, Panes: panes.All, Room: room, Lesson: "L50"})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	group := safe.NewGroup(stop)
	defer group.Wait()
	defer stop()
	group.Go(func() { _ = l.Run(ctx) })
	group.Go(func() {
		for ctx.Err() == nil {
			c.Play(2)
			time.Sleep(tuitest.Tick)
		}
	})
	names := strings.Fields("anna bo carla dmitri elif farid gerd hana ivo jonas kim lea mira noor otto pia qiu rosa sam tarek uma vera wim xena yusuf zoe ada")
	for i := range students {
		room.Come(fmt.Sprintf("%s%s", names[i%len(names)], strings.Repeat("2", i/len(names))))
	}
	group.Go(func() { // they answer whatever is asked
		for ctx.Err() == nil {
			next := room.Changed.Next()
			st := room.State()
			for i, s := range st.Seats {
				for beat, p := range st.Polls {
					if _, said := s.Answers[beat]; p.State == class.Open && !said && i%4 != 3 {
						a := lessons.Answer{Said: lessons.Said{Parts: []int{i % 3 / 2}}, Sure: 1 + i%3}
						_ = room.Answer(s.Name, beat, &a, player.Words(beat, a)) // it was closed meanwhile
					}
				}
			}
			select {
			case <-next:
			case <-ctx.Done():
			}
		}
	})
	cfg := teacher.Config{
		Lead: l, Scenes: &l.Changed, Room: room, Seats: &room.Changed, Panes: panes.All, Beats: teacher.Beats(all[0]), Title: "L50 A write",
		Time: 5 * time.Minute, Theme: theme, End: stop, Hints: player.HintsOf, Folder: os.TempDir(),
		Join: teacher.Join{Address: "ssh -p 2222 lab.example.org", Code: "plum-42", Fingerprint: "SHA256:mVPwvezndPv/ARoIadVY98vAC0g+P/5633yTC4d/wXE"},
	}
	var m tea.Model = teacher.NewProjector(ctx, cfg)
	if notes {
		m = teacher.NewNotes(ctx, cfg)
	}
	_, err = tea.NewProgram(m, tea.WithContext(ctx)).Run()
	return err
}
