package verbs

import (
	"context"
	"fmt"
	"time"

	"kviz/cluster/view"
)

// cascadeColumns is how many steps of time the chart shows.
const cascadeColumns = 60

// cascade prints the chart that the store pane draws.
func cascade(_ context.Context, inv *use, args []string) int {
	step := time.Second
	if len(args) > 1 {
		return inv.badUse()
	}
	if len(args) == 1 {
		d, err := time.ParseDuration(args[0])
		if err != nil || d < time.Second || d%time.Second != 0 {
			return inv.did(fmt.Errorf("%q: want whole seconds, such as 5s or 1m", args[0]))
		}
		step = d
	}
	h := view.NewHistory(inv.cfg.Cluster.Trace)
	h.CatchUp(0)
	_, err := fmt.Fprint(inv.Out, h.Latest().Cascade(cascadeColumns, step).Describe())
	return inv.did(err)
}
