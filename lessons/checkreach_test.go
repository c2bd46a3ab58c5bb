package lessons_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/lessons"
)

// Each beat is begun on a cluster of its own, and the time is told; one that takes long is refused.
func TestReach(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	booted, told := 0, []string{}
	err := counted(t, "", "").Reach(ctx, func() (lessons.Cluster, io.Closer, error) {
		booted++
		c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, Nodes: 1, Bare: true})
		if err != nil {
			return nil, nil, err
		}
		return c, c, c.WaitReady(ctx)
	}, func(r lessons.Reached) {
		if r.Took <= 0 {
			t.Errorf("beat %s took %s", r.Beat, r.Took)
		}
		told = append(told, r.Beat)
	})
	if got := strings.Join(told, " "); got != "look count which do free" || booted != 5 {
		t.Errorf("on %d clusters it tells of %q: %v", booted, got, err)
	}
	if err := lessons.Late(10*time.Second + 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), "reached after 10.1s") {
		t.Errorf("what takes too long: %v", err)
	}
	if err := lessons.Late(10 * time.Second); err != nil {
		t.Errorf("what does not: %v", err)
	}
}
