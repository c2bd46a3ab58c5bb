package drive

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/tui/action"
)

// Followed is a command or a fault whose effects a step goes along; the zero value is
// none.
type Followed struct {
	ID    trace.ID
	Words string
}

// follows are those that were done and may still have effects, the newest last.
type follows struct {
	list []Followed
	left bool // a step goes by its grain, because the person chose one
}

// mostFollowed is how many are remembered.
const mostFollowed = 8

// Follow makes steps follow the effects of something that was just done, unless the
// user has chosen a grain.
func (d *Driver) Follow(f Followed) {
	for _, known := range d.follows.list {
		if known.ID == f.ID {
			return
		}
	}
	d.follows.list = append(d.follows.list, f)
	if n := len(d.follows.list); n > mostFollowed {
		d.follows.list = d.follows.list[n-mostFollowed:]
	}
}

// FollowAgain has steps go along the newest command's effects again.
func (d *Driver) FollowAgain() action.Action {
	d.follows.left = false
	return action.Notice{Text: "a step now goes along what comes of a command or a fault"}
}

// Along reports whether steps follow a path: the user has chosen no grain.
func (d *Driver) Along() bool { return !d.follows.left }

// Newest is the newest command or fault that may still have effects.
func (d *Driver) Newest() Followed {
	if n := len(d.follows.list); n > 0 {
		return d.follows.list[n-1]
	}
	return Followed{}
}

// Followed is whose effects a step goes along now.
func (d *Driver) Followed() Followed {
	if d.follows.left {
		return Followed{}
	}
	return d.Newest()
}

// over forgets what the cluster stands for because nothing more comes of it.
func (f *follows) over(why string) {
	n := len(f.list)
	if n == 0 {
		return
	}
	switch id := "#" + f.list[n-1].ID.String(); {
	case why == id+" only read":
		f.list = f.list[:n-1]
	case strings.HasPrefix(why, "nothing new came of "+id+" "):
		f.list = nil // a step does not run on along what was done long ago
	}
}
