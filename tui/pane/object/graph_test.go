package object

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// workloads are those of [tuitest.Workloads], one of each kind.
var workloads = []trace.Ref{
	tuitest.Ref("Deployment", "demo", "shop"), tuitest.Ref("StatefulSet", "demo", "db"), tuitest.Ref("DaemonSet", "demo", "log"), tuitest.Ref("Job", "demo", "pi"), tuitest.Ref("CronJob", "demo", "report"),
}

// A workload of each kind, on its way, at every size.
func TestWorkloads(t *testing.T) {
	h := tuitest.Workloads().History()
	for _, ref := range workloads {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
			p := New()
			p.Show(ref)
			g := tuitest.Pane(p, h, h.Latest(), size[0], size[1])
			name := fmt.Sprintf("%s-%dx%d", strings.ToLower(ref.Kind), size[0], size[1])
			tuitest.Golden(t, name, tuitest.Planes(g))
			if size[0] == 120 {
				tuitest.Golden(t, name+"-none", tuitest.Colourless(t, g))
			}
		}
	}
}

// Of a thousand pods those on their way are drawn, the others folded with their counts.
func TestLargeWorkloads(t *testing.T) {
	h := tuitest.Large(1000).History()
	for _, ref := range workloads[:4] {
		p := New()
		p.Show(ref)
		tuitest.Golden(t, "large-"+strings.ToLower(ref.Kind), tuitest.Planes(tuitest.Pane(p, h, h.Latest(), 100, 30)))
	}
}

// Drawing an owner costs as much as it draws, however much it owns.
func TestDrawingCostsWhatItDraws(t *testing.T) {
	cost := map[string][]float64{}
	for _, n := range []int{100, 2000} {
		h := tuitest.Large(n).History()
		for _, ref := range workloads[:4] {
			p := New()
			p.Show(ref)
			s := h.Latest()
			f := &pane.Frame{S: s, H: h, Rows: 40}
			o := s.ObjectOf(ref)
			cost[ref.Kind] = append(cost[ref.Kind], testing.AllocsPerRun(3, func() {
				tr := &tree{p: p, f: f, self: o, way: map[*view.Object]bool{o: true}, room: 10, rollouts: map[*view.Object]*view.Rollout{}}
				tr.of(o, nil)
				s.Rollout(o)
				s.JobRun(o)
			}))
		}
	}
	for kind, c := range cost {
		if c[1] > 1.5*c[0]+20 {
			t.Errorf("%s: %.0f allocations for 100 pods, %.0f for 2000", kind, c[0], c[1])
		}
	}
}

// Enter unfolds what is folded a piece at a time, and then folds it again; on an object it shows that.
func TestUnfold(t *testing.T) {
	h := tuitest.Large(60).History()
	p := New()
	p.Show(workloads[0])
	f := &pane.Frame{S: h.Latest(), H: h, Rows: 40}
	pods := func() int {
		host, g := pane.NewHost(p, ""), grid.New(90, 120)
		host.Draw(g, g.Area().R, pane.Frame{S: h.Latest(), H: h, Stage: true})
		return strings.Count(g.Plane(), " Pod shop-1a-")
	}
	fold := "fold/ReplicaSet-shop-1a/pods"
	folded := pods()
	var seen []int
	for range 3 {
		p.Do(keymap.Open, pane.Subject{ID: fold}, f)
		seen = append(seen, pods())
	}
	if folded >= 20 || seen[0] <= folded+30 || seen[1] != 60 || seen[2] != folded {
		t.Errorf("%d pods are drawn, then %v", folded, seen)
	}
	p.Do(keymap.Open, pane.Subject{ID: "tree/x", Ref: tuitest.Ref("Pod", "demo", "shop-1a-00001")}, f)
	if o := p.chosen(f); o == nil || o.Name() != "shop-1a-00001" {
		t.Errorf("enter on a pod shows %v", o.Ref)
	}
}

// Nodes on which a DaemonSet has no pod are there too, with why; and a Job whose pods have no indexes has a gauge.
func TestNodesWithoutAPod(t *testing.T) {
	tape := tuitest.Workloads()
	for name, taint := range map[string]string{"node-4": "dedicated", "node-5": ""} {
		n := tuitest.Node(name, "4")
		if taint != "" {
			n.Spec.Taints = []corev1.Taint{{Key: taint, Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}
		}
		tape.Commit(tuitest.Ref("Node", "", name), "nodes", n)
	}
	h := tape.History()
	p := New()
	p.Show(tuitest.Ref("DaemonSet", "demo", "log"))
	text := tuitest.Pane(p, h, h.Latest(), 100, 24).Plane()
	for _, want := range []string{"node-4 gets none: it has the taint dedicated=gpu:NoSchedule, which the pods do not tolerate", "node-5 no pod yet"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// A Job whose pods have no indexes is a gauge of its completions.
func TestJobWithoutIndexes(t *testing.T) {
	tape := tuitest.Workloads()
	limit, completions, at := int32(4), int32(6), int32(2)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "mail", UID: "Job-mail"}, Spec: batchv1.JobSpec{Completions: &completions, Parallelism: &at, BackoffLimit: &limit}}
	j.Status.Succeeded, j.Status.Failed, j.Status.Active = 3, 1, 1
	tape.Commit(tuitest.Ref("Job", "demo", "mail"), "jobs", j)
	tape.Emit("job-controller", "", trace.QueueDelay, trace.Ref{}, &trace.QueueItem{Queue: "job", Key: "demo/mail", After: 9 * time.Second})
	h := tape.History()
	p := New()
	p.Show(tuitest.Ref("Job", "demo", "mail"))
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		tuitest.Golden(t, fmt.Sprintf("completions-%dx%d", size[0], size[1]), tuitest.Planes(tuitest.Pane(p, h, h.Latest(), size[0], size[1])))
	}
}
