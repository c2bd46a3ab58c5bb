package steady_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

func TestTheSameSeedEachTime(t *testing.T) {
	draws := func() (all []int) {
		steady.Check(t, func(r *rapid.T) { all = append(all, rapid.Int().Draw(r, "n")) })
		return all
	}
	if a, b := draws(), draws(); !slices.Equal(a, b) {
		t.Errorf("one property drew %v and then %v", a, b)
	}
}

func TestABubbleHasItsOwnTime(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		began := time.Now()
		time.Sleep(time.Hour)
		if took := time.Since(began); took != time.Hour {
			t.Errorf("an hour took %s", took)
		}
		looks := 0
		steady.Until(t, "the tenth look", func() bool { looks++; return looks == 10 })
		if took := time.Since(began) - time.Hour; took != 9*time.Millisecond {
			t.Errorf("ten looks took %s", took)
		}
	})
}

// A test that fails in a bubble fails alone, whatever it leaves running there.
func TestABubbleThatFailsEndsAlone(t *testing.T) {
	if os.Getenv("KVIZ_TEST_FAIL") != "" {
		t.Run("fails", func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				go func() { select {} }()
				t.Fatal("for good")
			})
		})
		t.Run("follows", func(*testing.T) {})
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestABubbleThatFailsEndsAlone$", "-test.v")
	child.Env = append(os.Environ(), "KVIZ_TEST_FAIL=1")
	out, err := child.CombinedOutput()
	for _, want := range []string{"for good", "FAIL: TestABubbleThatFailsEndsAlone/fails", "PASS: TestABubbleThatFailsEndsAlone/follows"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%v: no %q in\n%s", err, want, out)
		}
	}
	if strings.Contains(string(out), "panic") {
		t.Errorf("it took the others along:\n%s", out)
	}
}

// failing is a test that notes how it failed instead of failing.
type failing struct {
	testing.TB
	with string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.with = fmt.Sprintf(format, args...)
	panic(f)
}

func TestAwaitSaysWhatItSawLast(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		f := &failing{TB: t}
		func() {
			defer func() { _ = recover() }()
			seen := 0
			steady.Await(f, "a leader", func() error { seen++; return fmt.Errorf("look %d: three followers", seen) })
		}()
		want := "after 1m0s still not: a leader (look 60002: three followers)"
		if !strings.HasPrefix(f.with, want) {
			t.Errorf("it said %q, want %q", f.with, want)
		}
	})
}

// TestTurns has processes write "in" and "out" to one file in their turns.
func TestTurns(t *testing.T) {
	const turn = "KVIZ_TEST_TURN"
	if file := os.Getenv(turn); file != "" {
		for range 5 {
			t.Run("turn", func(t *testing.T) {
				steady.RealTime(t, "to see who else is in")
				note(t, file, "in")
				time.Sleep(time.Millisecond)
				note(t, file, "out")
			})
		}
		return
	}
	t.Setenv("TMPDIR", t.TempDir()) // turns of this test's own
	file := t.TempDir() + "/turns"
	var children []*exec.Cmd
	for range 4 {
		child := exec.Command(os.Args[0], "-test.run=^TestTurns$")
		child.Env = append(os.Environ(), turn+"="+file)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	for _, child := range children {
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("in out ", 20); string(text) != want {
		t.Errorf("turns: %s", text)
	}
}

func note(t *testing.T, file, text string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text + " "); err != nil {
		t.Fatal(err)
	}
}
