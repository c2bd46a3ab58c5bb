package apiserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/flowcontrol"

	"k8s.io/utils/ptr"

	"kviz/cluster/apiserver/request"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func person(name string) *authn.User { return &authn.User{Name: name, Groups: []string{"people"}} }

func listPods(u *authn.User) *request.Request {
	return &request.Request{Verb: "list", Resource: client.Pods.GroupVersionResource, User: u, Client: u.Name}
}

// told are the stages "priority-and-fairness" of the trace by user: how many had
// which outcome, and the first of each in full.
func fairnessTold(events []*trace.Event) string {
	var b strings.Builder
	users := map[uint64]string{}
	count := map[string]int{}
	first := map[string]string{}
	longest := map[string]time.Duration{}
	var order []string
	note := func(key, text string, waited time.Duration) {
		if count[key]++; count[key] == 1 {
			order = append(order, key)
			first[key] = text
		}
		longest[key] = max(longest[key], waited)
	}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.FlowLimits:
			note("concurrency", fmt.Sprintf("%d: %v", p.Total, p.Levels), 0)
		case *trace.Request:
			users[p.Request] = p.User
		case *trace.FlowWait:
			note(users[p.Request]+" queues", fmt.Sprintf("%+v", *p), 0)
		case *trace.Stage:
			if p.Stage != trace.StageFairness {
				continue
			}
			outcome, waited := "at once", time.Duration(0)
			if p.Flow != nil {
				outcome, waited = p.Flow.Outcome, p.Flow.Waited
			}
			note(users[p.Request]+" "+outcome, "["+p.By+"] "+p.Note, waited)
		}
	}
	for _, key := range order {
		fmt.Fprintf(&b, "%4d × %s", count[key], key)
		if longest[key] > 0 {
			fmt.Fprintf(&b, ", longest wait %v", longest[key])
		}
		fmt.Fprintf(&b, "\n       %s\n", first[key])
	}
	return b.String()
}

// A storm of one user fills the queues of his flow, and what does not fit there is
// rejected. Another user of the same priority level waits a little, as his queue
// gets its turn; a node, the scheduler and the administrator do not notice.
func TestStorm(t *testing.T) {
	var from int
	w := run(t, Config{}, func(w *world, task *sim.Task) {
		w.must(w.s.Seats().SetConcurrency(task, 30))
		from = len(w.sink.events) - 1
		w.user.Go("others", func(task *sim.Task) {
			task.Sleep(200 * time.Microsecond) // the storm has begun
			for _, u := range []*authn.User{person("bob"), ptr.To(authn.Node("node-1")), ptr.To(authn.Component("kube-scheduler")), ptr.To(authn.Admin())} {
				w.s.Handle(task, listPods(u))
			}
		})
		answered, rejected := flowcontrol.Storm(task, w.s, listPods(person("alice")), 400)
		if answered != 302 || rejected != 98 { // two seats, and a hand of 6 queues of 50
			t.Errorf("%d answered, %d rejected; want 302 and 98", answered, rejected)
		}
		for _, l := range w.s.Seats().Stand() {
			if l.InUse != 0 || l.Waiting != 0 {
				t.Errorf("after the storm: %+v", l)
			}
		}
	})
	golden(t, "storm", fairnessTold(w.sink.events[from:]))
}

// Who waits longer than a quarter of a minute is turned away; Retry-After grows
// with the number of those who are.
func TestQueueTimesOut(t *testing.T) {
	var from int
	slow := DefaultCost
	slow.Respond = 4 * time.Second
	w := run(t, Config{Cost: slow}, func(w *world, task *sim.Task) {
		w.must(w.s.Seats().SetConcurrency(task, 30))
		from = len(w.sink.events)
		if answered, rejected := flowcontrol.Storm(task, w.s, listPods(person("alice")), 100); answered != 44 || rejected != 56 {
			t.Errorf("%d answered, %d rejected; want 44 and 56", answered, rejected)
		}
		if resp := w.s.Handle(task, listPods(person("alice"))); resp.Code != 403 {
			t.Errorf("when all is over alice gets %d", resp.Code)
		}
	})
	golden(t, "queue-timeout", fairnessTold(w.sink.events[from:]))
}

// Who names a time waits a quarter of it at most: the level has two seats, for two turns,
// and has not borrowed any yet.
func TestQueueTimesOutByTheRequestsTime(t *testing.T) {
	slow := DefaultCost
	slow.Respond = 4 * time.Second
	run(t, Config{Cost: slow}, func(w *world, task *sim.Task) {
		w.must(w.s.Seats().SetConcurrency(task, 30))
		hasty := *listPods(person("alice"))
		hasty.Timeout = 20 * time.Second
		if answered, rejected := flowcontrol.Storm(task, w.s, &hasty, 100); answered != 4 || rejected != 96 {
			t.Errorf("%d answered, %d rejected; want 4 and 96", answered, rejected)
		}
	})
}

// A request that is made of others holds one seat, so it ends also where there is
// only one; and a server that dies with requests in its queues leaves nobody
// waiting.
func TestSeatsAreNotLost(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.must(w.s.Seats().SetConcurrency(task, 1))
		for i := range 3 {
			_, err := w.admin().Create(task, client.ConfigMaps, "default", configMap(fmt.Sprint("c", i)))
			w.must(err)
		}
		gc := authn.ServiceAccount("kube-system", "namespace-controller")
		resp := w.s.Handle(task, &request.Request{Verb: "deletecollection", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", User: &gc})
		w.must(resp.Err)
		items, _, err := w.admin().List(task, client.ConfigMaps, "default", metav1.ListOptions{})
		if w.must(err); len(items) != 0 {
			t.Errorf("%d are left", len(items))
		}

		asked, unreachable := 20, 0
		for range asked {
			w.user.Go("alice", func(task *sim.Task) {
				if r := w.s.Handle(task, listPods(person("alice"))); client.IsUnreachable(r.Err) {
					unreachable++
				}
			})
		}
		task.Sleep(60 * time.Microsecond) // the first is being answered, the others wait
		w.restart(task)
		task.Sleep(time.Second)
		if unreachable != asked {
			t.Errorf("%d of %d heard that the server died", unreachable, asked)
		}
		if w.s.Seats().Total() != 1 {
			t.Error("the new process has another concurrency")
		}
		if r := w.s.Handle(task, listPods(person("alice"))); r.Code != 403 || r.Flow.Schema != "global-default" || r.Flow.SchemaUID == "" || r.Flow.LevelUID == "" {
			t.Errorf("alice gets %d", r.Code)
		}
	})
}

// What a client gets that is turned away.
func TestTooManyRequests(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.must(w.s.Seats().SetConcurrency(task, 1))
		var last *request.Response
		for range 400 {
			w.user.Go("alice", func(task *sim.Task) {
				if r := w.s.Handle(task, listPods(person("alice"))); r.Stage == trace.StageFairness {
					last = r
				}
			})
		}
		task.Sleep(5 * time.Second)
		if last == nil || !apierrors.IsTooManyRequests(last.Err) || last.Code != 429 || last.Err.Error() != "Too many requests, please try again later." {
			t.Fatalf("%+v", last)
		}
		if after, ok := apierrors.SuggestsClientDelay(last.Err); !ok || after != 1 {
			t.Errorf("Retry-After %d", after)
		}
		if err := w.s.Seats().SetConcurrency(task, 0); err == nil {
			t.Error("no seats at all are accepted")
		}
	})
}
