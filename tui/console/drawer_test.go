package console

import (
	"context"
	"testing"

	"kviz/tui/safe"
)

// What a command did is on the screen before the command is shown as ended: who goes on by
// what is shown must not go by the time before it.
func TestACommandEndsWithTheScreenAfterIt(t *testing.T) {
	d, g := NewDrawer(), safe.NewGroup(nil)
	d.Run(context.Background(), g, shell(3), "", "kubectl get pods", 80, nil)
	g.Wait()
	if last := d.Last(); !last.Running || !d.Busy() {
		t.Errorf("before the screen was brought up to date: %+v, something new to draw %v", last, d.Busy())
	}
	d.Update()
	if last := d.Last(); last.Running || last.Exit != 3 || d.Busy() {
		t.Errorf("after that: %+v, something new to draw %v", last, d.Busy())
	}
}
