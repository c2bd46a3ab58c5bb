package throttle_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/client/throttle"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// noting says when requests come by, and answers none.
type noting struct {
	client.Interface
	came func(t *sim.Task, verb string)
}

func (c noting) Get(t *sim.Task, _ client.Resource, _, _ string) (runtime.Object, error) {
	c.came(t, "get")
	return nil, client.ErrUnreachable
}

func (c noting) Watch(t *sim.Task, _ client.Resource, _ string, _ metav1.ListOptions) (client.Watch, error) {
	c.came(t, "watch")
	return nil, client.ErrUnreachable
}

// Whatever the tasks of a component ask when, each request is sent at the moment that
// golang.org/x/time/rate says, the limiter in client-go; and watches are sent at once.
func TestSendsWhenClientGoWould(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		limits := throttle.Limits{QPS: float32(rapid.SampledFrom([]int{0, 5, 20, 50}).Draw(r, "qps")), Burst: rapid.IntRange(0, 30).Draw(r, "burst")}
		usual := limits.Or(throttle.Limits{QPS: throttle.DefaultQPS, Burst: throttle.DefaultBurst})
		theirs := rate.NewLimiter(rate.Limit(usual.QPS), usual.Burst)
		k := sim.New(sim.Config{Seed: 1})
		p := k.NewProcess(trace.Lane{Component: "test"})
		var want, got []time.Duration
		c := throttle.New(p, p.Lane, noting{came: func(t *sim.Task, verb string) {
			if verb == "get" {
				got = append(got, t.Elapsed())
			}
		}}, "test", limits)
		p.Go("main", func(t *sim.Task) {
			defer k.Stop()
			for n := range rapid.IntRange(1, 120).Draw(r, "requests") {
				t.Sleep(time.Duration(rapid.IntRange(0, 200).Draw(r, "pause ms")) * time.Millisecond)
				if rapid.IntRange(0, 5).Draw(r, "watches") == 0 {
					before := t.Elapsed()
					if _, err := c.Watch(t, client.Pods, "", metav1.ListOptions{}); err == nil || t.Elapsed() != before {
						r.Fatalf("a watch waited %v", t.Elapsed()-before)
					}
					continue
				}
				want = append(want, t.Elapsed()+theirs.ReserveN(t.Now(), 1).DelayFrom(t.Now()))
				p.Go(fmt.Sprint("request-", n), func(t *sim.Task) { _, _ = c.Get(t, client.Pods, "demo", "a") })
				t.Yield() // so that it asks now
			}
			t.Sleep(time.Hour)
		})
		if err := k.Run(context.Background()); err != nil {
			r.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			r.Fatalf("requests were sent at\n%v\ngolang.org/x/time/rate says\n%v", got, want)
		}
	})
}

// spent runs fn and lists when requests came by.
func spent(t *testing.T, fn func(t *sim.Task, c client.Interface)) []string {
	t.Helper()
	var came []string
	clienttest.Run(t, 1, func(_ *clienttest.Bench, t *sim.Task) {
		began := t.Elapsed()
		fn(t, noting{came: func(t *sim.Task, _ string) {
			came = append(came, fmt.Sprintf("%s %v", t.Name(), t.Elapsed()-began))
		}})
	})
	return came
}

func ask(t *sim.Task, c client.Interface, name string, times int) {
	t.Process().Go(name, func(t *sim.Task) {
		for range times {
			_, _ = c.Get(t, client.Pods, "demo", "a")
		}
	})
}

// What goes through one client shares its bucket; another client has one of its own.
func TestOneBucketForEachClient(t *testing.T) {
	came := spent(t, func(t *sim.Task, c client.Interface) {
		limits := throttle.Limits{QPS: 1, Burst: 2}
		one, other := throttle.New(t.Process(), t.Lane(), c, "one", limits), throttle.New(t.Process(), t.Lane(), c, "other", limits)
		ask(t, one, "one's sync", 2)
		ask(t, one, "one's events", 2)
		ask(t, other, "other's sync", 2)
		t.Sleep(time.Minute)
	})
	want := "one's sync 0s, one's sync 0s, other's sync 0s, other's sync 0s, one's events 1s, one's events 2s"
	if got := strings.Join(came, ", "); got != want {
		t.Errorf("requests were sent at\n%s\nwant\n%s", got, want)
	}
}

// A task that is killed while it waits takes no token along: the next one waits as if it had
// never asked.
func TestKilledWhileItWaits(t *testing.T) {
	came := spent(t, func(t *sim.Task, c client.Interface) {
		one := throttle.New(t.Process(), t.Lane(), c, "one", throttle.Limits{QPS: 1, Burst: 1})
		child := t.Process().Child(trace.Lane{Component: "child"})
		ask(t, one, "first", 1)
		t.Yield()
		child.Go("killed", func(t *sim.Task) { _, _ = one.Get(t, client.Pods, "demo", "a") })
		t.Sleep(100 * time.Millisecond)
		child.Kill()
		t.Sleep(100 * time.Millisecond)
		ask(t, one, "next", 2)
		t.Sleep(time.Minute)
	})
	want := "first 0s, next 1s, next 2s"
	if got := strings.Join(came, ", "); got != want {
		t.Errorf("requests were sent at\n%s\nwant\n%s", got, want)
	}
}

// The trace has the making of a client, the requests that leave less than half of the burst,
// and those that wait; what a request does that has waited is caused by its wait.
func TestWhatIsTold(t *testing.T) {
	var told []string
	b := clienttest.Run(t, 1, func(_ *clienttest.Bench, t *sim.Task) {
		c := throttle.New(t.Process(), t.Lane(), noting{came: func(t *sim.Task, _ string) { told = append(told, fmt.Sprint("sent because of ", t.Causes())) }}, "one", throttle.Limits{QPS: 2, Burst: 4})
		for range 6 {
			_, _ = c.Get(t, client.Pods, "demo", "a")
		}
		told = append(told, fmt.Sprint("afterwards ", t.Causes()))
	})
	for _, e := range b.Events {
		if p, ok := e.Payload.(*trace.ClientLimit); ok {
			told = append(told, fmt.Sprintf("#%s %s of %s: %v of %d, waits %v; %d left and %d wait, a second later %d and %d", e.ID, p.Verb, e.Object, p.Tokens, p.Burst, p.Delay,
				p.Left(0), p.Waiting(0), p.Left(time.Second), p.Waiting(time.Second)))
		}
	}
	clienttest.Golden(t, "told.txt", strings.Join(told, "\n")+"\n")
}
