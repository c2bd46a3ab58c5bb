package tui

import (
	"testing"

	"kviz/cluster/trace"
)

// A link leads to the event on the screen, in the recording that the run is in; in no recording it leads nowhere.
func TestALinkToAnEvent(t *testing.T) {
	d := explore(t, 120, 40, -1, func(c *Config) { c.File = "run.kvrun" })
	d.press("home", "Y")
	d.shows("copied run.kvrun#" + d.m.travel.State().Last.String() + "; kviz open goes there")

	d = explore(t, 120, 40, -1)
	d.press("Y").shows("in no recording that a link could lead into")
}

// Who opens a link begins at its event, and is told what there is to say about it.
func TestTheExplorerBeginsAtALink(t *testing.T) {
	at := trace.ID{Seq: 7}
	d := explore(t, 120, 40, -1, func(c *Config) { c.Moment, c.Says = at, "the link is to version 2" })
	if got := d.m.travel.State().Last.Seq; got != at.Seq {
		t.Errorf("it begins at #%d, want #%d", got, at.Seq)
	}
	d.shows("the link is to version 2")
}
