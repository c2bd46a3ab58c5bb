package own

import (
	"strings"
	"testing"
	"time"

	"kviz/tui/tuitest"
)

// spender is a cluster that spends what a test says.
type spender struct {
	*tuitest.Cluster
	spent time.Duration
}

func (s *spender) Busy() time.Duration { return s.spent }
func (s *spender) Close() error        { return nil }

// TestAClusterThatSpendsTooMuchRunsSlowly until it has spent little for a while, and its student cannot make it faster.
func TestAClusterThatSpendsTooMuchRunsSlowly(t *testing.T) {
	c := &spender{Cluster: tuitest.NewCluster(tuitest.Story(), 10)}
	if err := c.Speed(2); err != nil {
		t.Fatal(err)
	}
	one, err := newRun(c, Limits{}.orUsual(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer one.close()
	now := time.Unix(0, 0)
	pass := func(seconds int, spends time.Duration) (said string) {
		for range seconds {
			now = now.Add(time.Second)
			c.spent += spends
			said += one.spends(now)
		}
		return said
	}
	if said := pass(120, 400*time.Millisecond); said != "" || c.Clock().Speed != 2 {
		t.Errorf("24 s of 30 in a minute, and it says %q at speed %g", said, c.Clock().Speed)
	}
	if said := pass(60, 900*time.Millisecond); !strings.Contains(said, "runs slowly") || c.Clock().Speed != 0.2 {
		t.Errorf("54 s of 30 in a minute, and it says %q at speed %g", said, c.Clock().Speed)
	}
	if err := one.limited.Speed(10); err == nil || c.Clock().Speed != 0.2 {
		t.Errorf("made faster: %v, speed %g", err, c.Clock().Speed)
	}
	if said := pass(60, 10*time.Millisecond); !strings.Contains(said, "as before") || c.Clock().Speed != 2 {
		t.Errorf("after a minute of rest it says %q at speed %g", said, c.Clock().Speed)
	}
	if err := one.limited.Speed(10); err != nil {
		t.Error(err)
	}
}

// TestALineThatComputesIsEnded, and what it has computed counts as spent.
func TestALineThatComputesIsEnded(t *testing.T) {
	l := &Limited{limits: Limits{}.orUsual(), running: map[*guard]struct{}{}, in: &spender{}}
	var why error
	g := &guard{of: l, end: func(err error) { why = err }}
	l.running[g] = struct{}{}
	g.Computes(1)
	now := time.Now()
	if spent := l.spent(now.Add(time.Second)); why != nil || spent < time.Second {
		t.Errorf("after a second it has spent %v and is ended with %v", spent, why)
	}
	g.Computes(-1) // it waits for a command
	l.spent(now.Add(time.Hour))
	if why != nil {
		t.Errorf("a line that waits is ended with %v", why)
	}
	g.Computes(1)
	if spent := l.spent(now.Add(3 * time.Second)); why == nil || spent < 3*time.Second/2 {
		t.Errorf("after three seconds it has spent %v and is ended with %v", spent, why)
	}
}

// TestAMachineThatIsFull has room for nobody else, and says where there is some.
func TestAMachineThatIsFull(t *testing.T) {
	used := int64(100 << 20)
	r := New(Config{Limits: Limits{Memory: 200, Each: 50}, Used: func() int64 { return used }})
	defer r.Close()
	if why := r.Alone("mira"); why != "" {
		t.Error(why)
	}
	used = 160 << 20
	r.memory.at = time.Time{}
	if why := r.Alone("mira"); !strings.Contains(why, "no memory left") || !strings.Contains(why, OwnMachine) {
		t.Errorf("it says %q", why)
	}
	r.kept["mira"] = &run{}
	if why := r.Alone("mira"); why != "" {
		t.Errorf("whose run is there is told %q", why)
	}
	r.kept = nil
}
