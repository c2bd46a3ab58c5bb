package runtime_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
)

// repeat is a script that is long where it is run and short where it is written.
func repeat(s string, n int) string { return strings.Repeat(s, n) }

// What a script costs is bounded, in the words of a shell that has run out of something.
func TestScriptsAreBounded(t *testing.T) {
	const doubled = "a=abcdefgh; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do a=$a$a; done"
	many := "a=1; for i in 1 2 3 4 5 6 7 8 9 10 11; do a=\"$a $a\"; done; "
	for name, c := range map[string]struct{ script, says string }{
		"brackets":                  {repeat("(", 100_000), "out of memory"},
		"braces":                    {repeat("{ ", 50_000), "out of memory"},
		"functions":                 {repeat("a()", 30_000) + ":", "out of memory"},
		"conditions":                {repeat("if ", 40_000), "out of memory"},
		"brackets closed in quotes": {repeat("(: \")\";", 15_000), "out of memory"},
		"signs":                     {"echo $((" + repeat("-", 100_000) + "1))", "out of memory"},
		"signs apart":               {"echo $((" + repeat("- ", 50_000) + "1))", "out of memory"},
		"a choice of choices":       {"echo $((" + repeat("1?", 50_000) + "1))", "out of memory"},
		"a pipe of many":            {repeat(":|", 60_000) + ":", "out of memory"},
		"a variable that doubles":   {doubled, "out of memory"},
		"many variables in a word":  {"a=" + repeat("x", 100_000) + "; echo " + repeat("$a", 1000), "out of memory"},
		"a wide format":             {"printf %100000000d 1", "out of memory"},
		"shells in shells":          {"export X='sh -c \"$X\"'; sh -c \"$X\"", "can't fork"},
		"jobs":                      {many + "for i in $a; do sleep 100000 & done", "can't fork"},
		"jobs that make jobs":       {many + "for i in $a; do (for j in $a; do sleep 100000 & done) & done; sleep 60; echo can\\'t fork", "can't fork"},
		"a pipe without an end":     {"a=" + repeat("x", 1000) + "; while true; do echo $a; done | cat; echo done", "done"},
		"an output without an end":  {"a=$(while true; do echo x; done); echo never", "out of memory"},
		"a file without an end":     {"a=" + repeat("x", 100_000) + "; while true; do echo $a >> f; done", "No space left on device"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, "10.244.1.0/24", func(b *bench) {
				id, err := b.start("web", runtime.ContainerConfig{Image: "busybox", Command: []string{"sh", "-c", c.script}})
				if err != nil {
					t.Error(err)
					return
				}
				b.t.Sleep(20 * time.Minute)
				lines, err := b.rt.Logs(id)
				if err != nil {
					t.Error(err)
				}
				var said strings.Builder
				for _, l := range lines {
					said.WriteString(l.Text + "\n")
				}
				if text := said.String(); !strings.Contains(text, c.says) {
					t.Errorf("it says %.200q, want %q", text, c.says)
				}
			})
		})
	}
}

// An argument may be as long as Linux lets it; a longer one starts nothing.
func TestAnArgumentThatIsTooLong(t *testing.T) {
	run(t, "10.244.1.0/24", func(b *bench) {
		_, err := b.start("web", runtime.ContainerConfig{Image: "busybox", Command: []string{"sh", "-c", repeat("(", 1_000_000)}})
		if err == nil || !strings.Contains(err.Error(), "argument list too long") {
			t.Errorf("%v", err)
		}
		env := map[string]string{}
		for i := range 30 {
			env[fmt.Sprint("A", i)] = repeat("x", 100_000)
		}
		if _, err := b.start("environment", runtime.ContainerConfig{Image: "nginx", Env: env}); err == nil || !strings.Contains(err.Error(), "argument list too long") {
			t.Errorf("environment: %v", err)
		}
		id, err := b.start("other", runtime.ContainerConfig{Image: "busybox", Command: []string{"sleep", "1000"}})
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := b.rt.Exec(b.t, id, []string{"sh", "-c", repeat("(", 1_000_000)}, 0); err == nil || !strings.Contains(err.Error(), "argument list too long") {
			t.Errorf("exec: %v", err)
		}
		in := stdio.NewInput(nil)
		in.Feed([]byte(repeat("(", 2_000_000)))
		in.End(nil)
		var errw strings.Builder
		code, err := b.rt.ExecStream(b.t, id, []string{"sh"}, &stdio.Streams{In: in, Err: &errw})
		if code != 2 || err != nil || !strings.Contains(errw.String(), "out of memory") {
			t.Errorf("a script from standard input: %d, %v, %s", code, err, errw.String())
		}
	})
}

// While one container computes without an end others go on: its shells share one processor, and give
// way after at most a slice of it.
func TestALoopLeavesTimeToOthers(t *testing.T) {
	run(t, "10.244.1.0/24", func(b *bench) {
		id, err := b.start("web", runtime.ContainerConfig{Image: "busybox", Command: []string{"sleep", "1000"}})
		if err != nil {
			t.Error(err)
			return
		}
		var said lines
		streams := &stdio.Streams{Out: &said}
		b.t.Process().Go("client", func(ct *sim.Task) {
			loop := "for i in 1 2 3 4 5 6 7 8 9 10; do (while true; do for j in 1 2 3; do echo x; done; done) & done; while true; do echo x; done"
			_, _ = b.rt.ExecStream(ct, id, []string{"sh", "-c", loop}, streams)
		})
		b.t.Sleep(10 * time.Second)
		streams.Close()
		if said < 2000 || said > 20_000 { // a command takes half a millisecond
			t.Errorf("%d commands of eleven shells in ten seconds", said)
		}
	})
}

// lines counts them.
type lines int

func (n *lines) Write(p []byte) (int, error) {
	*n += lines(strings.Count(string(p), "\n"))
	return len(p), nil
}

// A command ends with its client, whether it has a terminal or not.
func TestExecEndsWithItsClient(t *testing.T) {
	run(t, "10.244.1.0/24", func(b *bench) {
		id, err := b.start("web", runtime.ContainerConfig{Image: "busybox", Command: []string{"sleep", "1000"}})
		if err != nil {
			t.Error(err)
			return
		}
		for _, tty := range []bool{false, true} {
			streams := &stdio.Streams{Out: io.Discard, TTY: tty}
			ended := false
			b.t.Process().Go("client", func(ct *sim.Task) {
				_, err := b.rt.ExecStream(ct, id, []string{"sh", "-c", "while true; do echo x; done"}, streams)
				ended = err == nil
			})
			b.t.Sleep(time.Second)
			streams.Close()
			b.t.Sleep(time.Second)
			if !ended {
				t.Errorf("terminal %v: the command outlives its client", tty)
			}
		}
	})
}
