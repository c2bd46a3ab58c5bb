package expr

import (
	"fmt"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kviz/cluster/view"
)

// ms is a duration as a text says it: "271 ms", from ten seconds on "12.3 s".
func ms(x ref.Val) ref.Val {
	d, ok := x.Value().(time.Duration)
	switch {
	case !ok:
		return types.NewErr("ms wants a duration, such as time - at")
	case d < 10*time.Second:
		return types.String(fmt.Sprintf("%d ms", d.Milliseconds()))
	}
	return types.String(fmt.Sprintf("%.1f s", d.Seconds()))
}

// gap is the longest time between two commits of the store since a moment, the time before
// the first included, in milliseconds.
func gap(state, since ref.Val) ref.Val {
	s, ok := state.Value().(*view.State)
	last, isTime := since.Value().(time.Duration)
	if !ok || !isTime {
		return types.NewErr("gap wants a virtual time, such as one that a name was bound to: let: {at: time}")
	}
	longest := time.Duration(0)
	for _, c := range s.Store.Commits() {
		if c.At < last {
			continue
		}
		longest, last = max(longest, c.At-last), c.At
	}
	return types.Int(longest.Milliseconds())
}
