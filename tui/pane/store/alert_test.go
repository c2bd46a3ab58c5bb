package store

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/theme"
	"kviz/tui/tuitest"
)

// A lesson points at the quorum of the members, whatever is told above it of alarms and slow disks.
func TestTheQuorumIsFoundBelowAlerts(t *testing.T) {
	g, host := onStage("members", tuitest.StoreStory().History().Latest(), 80, 14)
	r, whole := host.Find("quorum")
	if row := g.Area().Screen(r).Row(0); !whole || !strings.HasPrefix(row, "quorum ■") {
		t.Errorf("the quorum is found at %v, whole %v: %q; there are %q", r, whole, row, host.Things())
	}
	if above := g.Area().Row(1); !strings.Contains(above, "alarm") {
		t.Errorf("nothing is told above it: %q", above)
	}
}

// The disk of the machine that kviz runs on may be slow: that is said, but no alarm, also
// when a member is broken in another way. A disk that somebody slowed is one.
func TestOnlyASlowedDiskIsAnAlert(t *testing.T) {
	fault := func(name string) []*view.Fault {
		return []*view.Fault{{Fault: trace.Fault{Fault: name, Target: "member/a"}}}
	}
	for name, want := range map[string]bool{"slow": true, "stop": false, "cut": false} {
		if slowed(fault(name)) != want {
			t.Errorf("the fault %s slows a disk: %v", name, !want)
		}
	}
	if slowSpan(true, "10ms", "a 40ms").Style != theme.Warn || slowSpan(false, "10ms", "a 40ms").Style == theme.Warn {
		t.Error("the disk of the machine warns, or a slowed one does not")
	}
}
