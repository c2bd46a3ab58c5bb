package queues

import (
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	tuitest.Frames(t, pane.Make(New),
		tuitest.Case{Name: "taken", W: 76, H: 24, Kind: trace.QueueGet, N: 2},
		tuitest.Case{Name: "end", W: 76, H: 30, Moves: []string{keymap.Down}},
	)
}

// managed is a controller manager in which a controller is stopped, one is slow and has a key, and
// one has done its work.
func managed() *tuitest.Tape {
	tape := tuitest.NewTape()
	started := tape.Emit(trace.CompKCM, "", trace.ProcessStart, trace.Ref{}, &trace.Process{Process: trace.CompKCM})
	tape.Emit(trace.CompKCM, "", trace.LeaderElected, trace.Ref{}, &trace.Election{Lease: "kube-controller-manager", Holder: "controller-manager_c222d9ce", Won: true}, started)
	tape.Emit(trace.CompAPIServer, "", trace.WatchOpened, trace.Ref{}, &trace.Watch{Watch: 1, Client: trace.CompKCM, Resource: "replicasets"})
	tape.Emit(trace.CompKCM, "", trace.InformerSync, trace.Ref{}, &trace.Informer{Informer: trace.CompKCM, Resource: "replicasets", Items: 1})
	web := tuitest.Ref("ReplicaSet", "demo", "web-1")
	for _, name := range []string{"deployment-controller", "job-controller", "replicaset-controller"} {
		tape.Emit(name, "", trace.ClientLimited, trace.Ref{}, &trace.ClientLimit{Client: name, QPS: 20, Burst: 30})
	}
	sync := func(name, queue, key, result, why, wanted, found string, in time.Duration) {
		told := tape.After(time.Second).Emit(trace.CompAPIServer, "", trace.WatchDelivered, web, &trace.WatchEvent{Watch: 1, Type: "MODIFIED"})
		item := &trace.QueueItem{Queue: queue, Key: key, Ready: 1}
		added := tape.Emit(name, "", trace.QueueAdd, web, item, told)
		tape.Emit(name, "", trace.QueueGet, web, &trace.QueueItem{Queue: queue, Key: key, Processing: 1}, added)
		start := tape.Emit(name, "", trace.ReconcileStart, web, &trace.Reconcile{Controller: name, Key: key}, added)
		if why != "" {
			tape.Emit(name, "", trace.ReconcileAction, web, &trace.Action{Controller: name, Key: key, Verb: "create", Target: tuitest.Ref("Pod", "demo", "web-1-x"), Why: why, Desired: wanted, Observed: found}, start)
		}
		if result == "" {
			return
		}
		end := &trace.Reconcile{Controller: name, Key: key, Result: result, RequeueIn: in}
		if result == "error" {
			end.Error = "the object has been modified"
		}
		tape.After(20*time.Millisecond).Emit(name, "", trace.ReconcileEnd, web, end, start)
		tape.Emit(name, "", trace.QueueDone, web, &trace.QueueItem{Queue: queue, Key: key}, start)
	}
	sync("deployment-controller", "deployment", "demo/web", "done", "spec.replicas is 3, ReplicaSet web-1 has 2: scale it to 3", "3", "2", 0)
	sync("job-controller", "job", "demo/pi", "requeue", "spec.activeDeadlineSeconds is 60, 20s are over: look again in 40s", "60s", "20s", 40*time.Second)
	sync("replicaset-controller", "replicaset", "demo/web-1", "done", "spec.replicas is 3, 2 pods exist: create 1", "3", "2", 0)
	tape.Emit("replicaset-controller", "", trace.EventRecorded, web, &trace.KubeEvent{Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: web-1-x", From: "replicaset-controller", Regarding: web, Count: 1})
	sync("replicaset-controller", "replicaset", "demo/web-1", "error", "counted 3 pods, the status says 2 pods: update it", "3 pods", "2 pods", 0)
	sync("replicaset-controller", "replicaset", "demo/web-1", "done", "", "", "", 0)
	broken := tape.After(time.Second).Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "stop", Target: "controller/deployment-controller"})
	tape.Emit("deployment-controller", "", trace.ProcessExit, trace.Ref{}, &trace.Process{Process: "deployment-controller", Reason: "fault: stop"}, broken)
	tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "slow", Target: "controller/replicaset-controller", Detail: "30s"})
	sync("replicaset-controller", "replicaset", "demo/web-1", "", "", "", "", 0)
	return tape
}

// The list of the controllers, each with its queue's numbers and what it said last, and the view of
// one: what it watches, its keys, its runs with their arithmetic, and its Events.
func TestControllers(t *testing.T) {
	h := managed().History()
	list := []string{"do queues.part", "do queues.part", "do queues.part"}
	one := append(list, keymap.Down, keymap.Down, keymap.Down, "do "+keymap.Open)
	for _, size := range [][2]int{{78, 22}, {118, 38}, {198, 48}} {
		tuitest.Golden(t, fmt.Sprintf("controllers-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], list...)))
		tuitest.Golden(t, fmt.Sprintf("controller-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], one...)))
	}
}

// A cluster without a controller manager of its own: before anything is done for it, and when a real
// one, whose controllers have an identity each, and somebody with kubectl have written something.
func TestOthersControl(t *testing.T) {
	tape := tuitest.NewTape()
	tape.Emit(trace.CompSimulation, "", trace.RunStart, trace.Ref{}, &trace.Run{Store: "mvcc", Nodes: 3, Without: []string{trace.CompKCM}})
	list := []string{"do queues.part", "do queues.part", "do queues.part"}
	h := tape.History()
	tuitest.Golden(t, "without", tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), 98, 12, list...)))
	holder := "machine_0b9b"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-controller-manager"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	for i, w := range []struct {
		trace.Request
		of  trace.Ref
		obj runtime.Object
	}{
		{trace.Request{Verb: "update", Resource: "leases", User: "system:kube-controller-manager", Client: "kube-controller-manager"}, tuitest.Ref("Lease", "kube-system", "kube-controller-manager"), lease},
		{trace.Request{Verb: "create", Resource: "replicasets", User: "system:serviceaccount:kube-system:deployment-controller", Client: "kube-controller-manager"}, tuitest.Ref("ReplicaSet", "demo", "web-1"), nil},
		{trace.Request{Verb: "create", Resource: "pods", User: "system:serviceaccount:kube-system:replicaset-controller", Client: "kube-controller-manager"}, tuitest.Ref("Pod", "demo", "web-1-x"), nil},
		{trace.Request{Verb: "create", Resource: "pods", User: "system:serviceaccount:kube-system:replicaset-controller", Client: "kube-controller-manager"}, tuitest.Ref("Pod", "demo", "web-1-y"), nil},
		{trace.Request{Verb: "create", Resource: "configmaps", User: "kubernetes-admin", Client: "kubectl"}, tuitest.Ref("ConfigMap", "demo", "mine"), nil},
	} {
		w.Request.Request = uint64(i + 1)
		received := tape.After(time.Second).Emit(trace.CompAPIServer, "", trace.RequestReceived, w.of, &w.Request)
		change := trace.KeyChange{Object: w.of, Version: 1}
		if w.obj != nil {
			change.Value = &trace.Object{Value: w.obj}
		}
		tape.Emit(trace.CompStore, "", trace.StoreCommit, w.of, &trace.Commit{Revision: int64(i + 1), Changes: []trace.KeyChange{change}}, received)
		tape.Emit(trace.CompAPIServer, "", trace.RequestDone, w.of, &trace.Response{Request: w.Request.Request, Code: 201}, received)
	}
	h = tape.History()
	tuitest.Golden(t, "outside", tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), 98, 12, list...)))
	tuitest.Golden(t, "outside-narrow", tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), 60, 16, list...)))
}

// The caches that controllers decide by, beside what the store has.
func TestInformers(t *testing.T) {
	h := tuitest.WatchStory().History()
	for _, size := range [][2]int{{78, 22}, {118, 38}} {
		tuitest.Golden(t, fmt.Sprintf("informers-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], "do queues.part")))
	}
}

// Of a cache that is behind, both revisions stand on a screen of 80 columns, whole: they are what there is to see.
func TestAnOldCacheNamesBothRevisions(t *testing.T) {
	tape := tuitest.WatchStory()
	tape.Emit("controller-manager", "", trace.InformerSync, trace.Ref{}, &trace.Informer{Informer: "controller-manager", Resource: "pods", Revision: 4321, Items: 5})
	tape.Emit(trace.CompAPIServer, "", trace.WatchCacheEvent, tuitest.Ref("Pod", "demo", "late"), &trace.CacheUpdate{
		Resource: "pods", Type: "MODIFIED", Revision: 4326, Watchers: 1, Oldest: 4317, Kept: 10,
	})
	h := tape.History()
	const want = "at 4321 < 4326"
	for _, w := range []int{78, 118} {
		if text := tuitest.Pane(New(), h, h.Latest(), w, 22, "do queues.part").Plane(); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The flow at the top follows the cursor: each controller's caches, keys, worker, and what
// was asked of the API server.
func TestFlow(t *testing.T) {
	h := tuitest.Story().History()
	for _, size := range [][2]int{{78, 24}, {118, 38}} {
		first := tuitest.Pane(New(), h, h.Latest(), size[0], size[1])
		tuitest.Golden(t, fmt.Sprintf("flow-%d", size[0]), tuitest.Planes(first))
		for _, want := range []string{"watch ▶ cache", "queue ", "worker ▶ API server"} {
			if !strings.Contains(first.Plane(), want) {
				t.Errorf("%v: no %q", size, want)
			}
		}
		seen := map[string]bool{}
		for downs := range 12 {
			moves := make([]string, downs)
			for i := range moves {
				moves[i] = keymap.Down
			}
			g := tuitest.Pane(New(), h, h.Latest(), size[0], size[1], moves...)
			head := strings.Split(g.Plane(), "\n")[1]
			seen[strings.Fields(head[strings.Index(head, "queue "):])[1]] = true
		}
		for _, want := range []string{"deployment", "endpointslice", "replicaset"} {
			if !seen[want] {
				t.Errorf("%v: the cursor never brought the flow of %s, but %v", size, want, seen)
			}
		}
	}
}

// busy is a queue in which two keys wait, a third is at work and comes again, and a fourth
// waits for its time.
func busy() (*view.History, *view.State) {
	tape := tuitest.NewTape()
	item := func(k trace.Kind, key string, p trace.QueueItem, causes ...trace.ID) trace.ID {
		p.Queue, p.Key = "replicaset", "demo/"+key
		return tape.After(20*time.Millisecond).Emit("replicaset-controller", "", k, trace.Ref{}, &p, causes...)
	}
	item(trace.QueueDelay, "cron", trace.QueueItem{After: time.Second, Retries: 2, Delayed: 1})
	item(trace.QueueAdd, "api", trace.QueueItem{Ready: 1, Delayed: 1})
	took := item(trace.QueueGet, "api", trace.QueueItem{Processing: 1, Delayed: 1})
	tape.Emit("replicaset-controller", "", trace.ReconcileStart, trace.Ref{}, &trace.Reconcile{Controller: "replicaset", Key: "demo/api"}, took)
	item(trace.QueueAdd, "web", trace.QueueItem{Ready: 1, Processing: 1, Delayed: 1})
	item(trace.QueueAdd, "db", trace.QueueItem{Ready: 2, Processing: 1, Delayed: 1})
	h := tape.History()
	return h, h.Latest()
}

// A key slides in from the left, is flashed where it was merged, goes to the worker, and
// away, back to the queue's end, or to those that wait for their time. Where nothing travels
// its way is lit, and that is seen without colour too.
func TestKeysMoveThroughTheFlow(t *testing.T) {
	h, s := busy()
	for _, size := range [][2]int{{80, 18}, {120, 33}} {
		host := pane.NewHost(New(), "")
		version := uint64(0)
		var out strings.Builder
		flow := func(keys ...motion.Key) (text, styles string) {
			version++
			g := grid.New(size[0], size[1])
			host.Draw(g, g.Area().R, pane.Frame{S: s, H: h, Live: true, Motion: &motion.Shot{Version: version, Keys: keys}})
			return rows(g.Plane()), rows(g.StylePlane(theme.Letter))
		}
		rest, _ := flow()
		show := func(name string, k motion.Key) string {
			k.Queue, k.Event, k.Count = "replicaset", s.Event, 1
			text, styles := flow(k)
			fmt.Fprintf(&out, "%s\n%s%s\n", name, text, styles)
			return text
		}
		for _, c := range []struct {
			name, key string
			way       motion.Way
		}{
			{"in", "demo/db", motion.In},
			{"merged", "demo/web", motion.Onto},
			{"to the worker", "demo/api", motion.Taken},
			{"away", "demo/api", motion.Done},
			{"again", "demo/db", motion.Again},
			{"later", "demo/cron", motion.Later},
		} {
			for _, share := range []float64{0, 0.5, 1} {
				show(fmt.Sprintf("%s, share %.1f", c.name, share), motion.Key{Key: c.key, Way: c.way, Share: share})
			}
			if lit := show(c.name+", lit", motion.Key{Key: c.key, Way: c.way, Share: 1, Whole: true}); lit == rest {
				t.Errorf("%v: that a key went %s is told by colour alone", size, c.name)
			}
		}
		tuitest.Golden(t, fmt.Sprintf("moves-%d", size[0]), out.String())
		if again, _ := flow(); again != rest {
			t.Errorf("%v: after the motion the flow is\n%s\nwant\n%s", size, again, rest)
		}
		if g := grid.New(size[0], size[1]); host.Draw(g, g.Area().R, pane.Frame{S: s, H: h, Live: true, Motion: &motion.Shot{Version: version + 1}}) {
			t.Errorf("%v: drawn anew for what moves elsewhere", size)
		}
	}
}

// rows are those of the flow, of a drawing with its frame.
func rows(plane string) string {
	return strings.Join(strings.SplitAfter(plane, "\n")[1:1+flowRows-1], "")
}

// Until somebody puts the cursor on a queue, the flow is that of the queue in which something
// moves, and then stays with the controller that ran last.
func TestTheFlowFollowsWhatMoves(t *testing.T) {
	h := tuitest.Story().History()
	head := func(f pane.Frame, moves ...string) string {
		f.S, f.H = h.Latest(), h
		host, g := pane.NewHost(New(), ""), grid.New(120, 40)
		for range 2 { // the cursor is somewhere from the first drawing on
			host.Dirty()
			host.Draw(g, g.Area().R, f)
		}
		for _, m := range moves {
			host.Move(m, &f)
			host.Draw(g, g.Area().R, f)
		}
		row := strings.Split(g.Plane(), "\n")[1]
		return strings.Fields(row[strings.Index(row, "queue "):])[1]
	}
	moving := func(queue string) *motion.Shot {
		return &motion.Shot{Version: 1, Keys: []motion.Key{{Event: h.Latest().Event, Queue: queue, Key: "demo/web", Count: 1}}}
	}
	for _, queue := range []string{"endpointslice", "replicaset", "deployment"} {
		if got := head(pane.Frame{Motion: moving(queue), Focused: true}); got != queue {
			t.Errorf("a key moves in %s, and the flow is that of %s", queue, got)
		}
	}
	if got := head(pane.Frame{Motion: moving("endpointslice"), Focused: true}, keymap.Down, keymap.Up); got != "deployment" {
		t.Errorf("with the cursor on deployment the flow is that of %s", got)
	}
}

// A key is never drawn over the frame or outside of the pane, whatever waits.
func TestKeysStayInTheFlow(t *testing.T) {
	tape := tuitest.NewTape()
	for i := range 30 {
		tape.Emit("replicaset-controller", "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "replicaset", Key: fmt.Sprintf("demo/key-%d", i), Ready: i + 1})
	}
	h := tape.History()
	for w := flowWidth + 3; w < 130; w += 7 {
		f := &pane.Frame{S: h.Latest(), H: h, Rows: 30, Motion: &motion.Shot{}}
		for way := motion.In; way <= motion.Later; way++ {
			for _, key := range []string{"demo/key-0", "demo/key-29", "demo/unknown"} {
				x := &flow{f: f, q: flowing(f), cols: []int{0, 26, 46, w}}
				from, to := x.ends(&motion.Key{Event: h.Latest().Event, Queue: "replicaset", Key: key, Way: way})
				for _, p := range []point{from, to} {
					if p.x < x.cols[1] || p.x+grid.Width(chip(key)) > w || p.y < 1 || p.y > sources {
						t.Errorf("%d columns, way %d: %s goes by %v", w, way, key, p)
					}
				}
			}
		}
	}
}

// A lesson can point at a run with all that it did.
func TestMarkOfARun(t *testing.T) {
	h := tuitest.Story().History()
	host := pane.NewHost(New(), "")
	g := grid.New(80, 60)
	host.Draw(g, g.Area().R, pane.Frame{S: h.Latest(), H: h, Stage: true})
	const id = "run/replicaset/demo/web-7f9c"
	row, whole := host.Find(id)
	all, too := host.Find(id + "/actions")
	if !whole || !too || all.Y != row.Y || all.H <= row.H {
		t.Errorf("the run is at %v, with what it did at %v", row, all)
	}
}

// A client that has used up its burst: what its component may still send, what waits, and
// the run that waits; two seconds later the waits are over, and it says what they have cost.
func TestClients(t *testing.T) {
	tape := tuitest.NewTape()
	limit := func(component, instance, client string, p trace.ClientLimit, causes ...trace.ID) {
		p.Client = client
		tape.After(time.Millisecond).Emit(component, instance, trace.ClientLimited, trace.Ref{Kind: "Pod", Namespace: "demo"}, &p, causes...)
	}
	limit("scheduler", "", "scheduler", trace.ClientLimit{Verb: "create", Resource: "pods", QPS: 50, Burst: 100, Tokens: 99})
	limit("scheduler", "", "leader-election", trace.ClientLimit{Verb: "get", Resource: "leases", QPS: 50, Burst: 100, Tokens: 99})
	limit("kubelet", "node-1", "kubelet", trace.ClientLimit{Verb: "patch", Resource: "pods", QPS: 50, Burst: 100, Tokens: 31})
	run := tape.Emit("replicaset-controller", "", trace.ReconcileStart, trace.Ref{}, &trace.Reconcile{Controller: "replicaset", Key: "demo/api"})
	for n := 1; n <= 3; n++ {
		limit("replicaset-controller", "", "replicaset-controller", trace.ClientLimit{
			Verb: "create", Resource: "pods", QPS: 20, Burst: 30, Tokens: -float64(n), Delay: time.Duration(n) * 50 * time.Millisecond,
		}, run)
	}
	var out strings.Builder
	show := func(moves ...string) {
		h := tape.History()
		for _, size := range [][2]int{{78, 12}, {118, 12}} {
			out.WriteString(tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], moves...)))
		}
	}
	show()
	show("do queues.part", "do queues.part")
	tape.After(2*time.Second).Emit("replicaset-controller", "", trace.ReconcileEnd, trace.Ref{}, &trace.Reconcile{Controller: "replicaset", Key: "demo/api", Result: "done", Writes: 3}, run)
	show()
	show("do queues.part", "do queues.part")
	tuitest.Golden(t, "clients", out.String())
}

// The disruption controller has the sum of each budget in a line.
func TestBudgets(t *testing.T) {
	h := tuitest.Guarded().History()
	for _, size := range [][2]int{{78, 12}, {118, 12}} {
		p := New()
		p.ShowView("controllers")
		p.one = "disruption-controller"
		tuitest.Golden(t, fmt.Sprintf("budgets-%d", size[0]), tuitest.Planes(tuitest.Pane(p, h, h.Latest(), size[0], size[1])))
	}
}

// Of an autoscaler's run the sum is told in one line, in the list of the controllers and among the latest runs.
func TestSumOfAnAutoscaler(t *testing.T) {
	h := tuitest.Autoscaling().History()
	for _, size := range [][2]int{{160, 20}, {120, 16}, {80, 16}} {
		p := New()
		g := tuitest.Pane(p, h, h.Latest(), size[0], size[1], "do queues.part", "do queues.part", "do queues.part")
		if !strings.Contains(g.Plane(), "5 × 20 / 60 = 2 → 6") {
			t.Errorf("no sum at %d columns:\n%s", size[0], g.Plane())
		}
		tuitest.Golden(t, fmt.Sprintf("autoscaler-%d", size[0]), tuitest.Planes(g))
	}
}
