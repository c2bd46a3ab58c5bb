package drive_test

import (
	"testing"

	"kviz/cluster/control"
	"kviz/tui/drive"
	"kviz/tui/keymap"
	"kviz/tui/tuitest"
)

// Two presses of a key that come before the clock is looked at again are two steps.
func TestFasterTwice(t *testing.T) {
	c := tuitest.NewCluster(tuitest.Calm(3, 3), -1)
	d := drive.New(late{c, c.Clock()}, "")
	d.Update()
	for range 2 {
		d.Do(keymap.Faster)
	}
	if got, want := c.Clock().Speed, drive.NextSpeed(drive.NextSpeed(1, true), true); got != want {
		t.Errorf("after two presses the cluster runs at %gx, want %gx", got, want)
	}
	d = drive.New(c, "")
	d.Update()
	d.Do(keymap.Slower)
	if got, want := c.Clock().Speed, drive.NextSpeed(1, true); got != want {
		t.Errorf("after one back it runs at %gx, want %gx", got, want)
	}
}

// late is a cluster whose clock shows for a while what it showed before: requests of it are carried out in their turn.
type late struct {
	*tuitest.Cluster
	shows control.Clock
}

func (l late) Clock() control.Clock { return l.shows }
