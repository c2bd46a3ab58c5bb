package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// election is two candidates for one Lease.
type election struct {
	s       *soak
	mu      sync.Mutex
	leaders map[string]context.CancelFunc
	terms   int
	wrong   []string
}

// run is a candidate that tries again whenever it has lost.
func (e *election) run(ctx context.Context, name string) {
	api := e.s.client(func(c *rest.Config) { c.Timeout = 5 * time.Second })
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: soakSpace, Name: "leader"}, Client: api.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	for ctx.Err() == nil {
		mine, cancel := context.WithCancel(ctx)
		le, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, Name: "soak", LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 100 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					if ctx.Err() == nil {
						e.begin(name, cancel)
						<-ctx.Done()
					}
					e.stop(name)
				},
				OnStoppedLeading: func() { e.stop(name) },
			},
		})
		if err != nil {
			e.s.t.Error(err)
			cancel()
			return
		}
		le.Run(mine)
		cancel()
	}
}

func (e *election) begin(name string, cancel context.CancelFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leaders == nil {
		e.leaders = map[string]context.CancelFunc{}
	}
	e.leaders[name] = cancel
	e.terms++
	if len(e.leaders) > 1 {
		e.wrong = append(e.wrong, fmt.Sprintf("in term %d there are %d leaders", e.terms, len(e.leaders)))
	}
}

func (e *election) stop(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.leaders, name)
}

// handOver has the leader stop, and waits for the next term.
func (e *election) handOver() {
	var before int
	e.s.await("there is a leader", func() string {
		e.mu.Lock()
		defer e.mu.Unlock()
		for name, cancel := range e.leaders {
			before = e.terms
			delete(e.leaders, name) // it has stopped before it lets the Lease go
			cancel()
			return ""
		}
		return "nobody"
	})
	e.s.await("the next one leads", func() string {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.terms == before {
			return "nobody"
		}
		return ""
	})
}

func (e *election) judge() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.wrong) > 0 || e.terms < 2 {
		e.s.t.Errorf("%d terms; %s", e.terms, strings.Join(e.wrong, "\n"))
	}
}
