package safe_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"kviz/tui/safe"
)

// Of several goroutines that panic the first is kept, with its stack; the end is
// told once, and the others end too.
func TestTheFirstPanicIsKept(t *testing.T) {
	var told, ended atomic.Int32
	g := safe.NewGroup(func() { told.Add(1) })
	g.Go(func() { ended.Add(1) })
	g.Wait()
	if g.Crash() != nil || told.Load() != 0 {
		t.Fatalf("nobody panicked: %v", g.Crash())
	}
	for range 8 {
		g.Go(func() {
			defer ended.Add(1)
			panic("the pane is upside down")
		})
	}
	g.Wait()
	c := g.Crash()
	if c == nil || told.Load() != 1 || ended.Load() != 9 {
		t.Fatalf("crash %v, told %d times, %d goroutines ended", c, told.Load(), ended.Load())
	}
	if !strings.HasPrefix(c.Error(), "panic: the pane is upside down\n") || !strings.Contains(c.Error(), "safe_test.go") {
		t.Errorf("the crash says %s", c)
	}
	g.Keep(&safe.Crash{Value: "later"})
	if g.Crash() != c || told.Load() != 1 {
		t.Error("a later crash took the first one's place")
	}
}
