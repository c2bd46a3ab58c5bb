package upstream_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

var (
	cases = flag.Int("cases", 25, "random clusters of each class")
	first = flag.Uint64("seed", 1, "the first seed")
)

// verdict is why a node is rejected; nothing of one that is feasible.
type verdict struct{ by, code, reasons string }

type score struct{ raw, normalized, weighted int64 }

// scores are a node's, by plugin; "total" is their sum.
type scores map[string]score

// The scheduler as a whole, on an API server in memory, against upstream's plugins on the
// objects that this API server has.
func TestCyclesAreUpstreams(t *testing.T) {
	for _, c := range classes {
		t.Run(c.name, func(t *testing.T) {
			rejected, scored, failed, bindings, reasons := 0, 0, 0, 0, map[string]int{}
			devices = 0
			for i := range *cases {
				r, s, f, b := cycles(t, *first+uint64(i), c, usual, reasons)
				rejected, scored, failed, bindings = rejected+r, scored+s, failed+f, bindings+b
			}
			t.Logf("%d rejections, %d scored nodes, %d errors, %d bindings that wait for claims, %d devices", rejected, scored, failed, bindings, devices)
			for _, reason := range slices.Sorted(maps.Keys(reasons)) {
				t.Logf("%5d %s", reasons[reason], reason)
			}
			if *cases >= 25 && (rejected == 0 || scored == 0) {
				t.Errorf("only %d rejections and %d scored nodes to compare", rejected, scored)
			}
			if *cases >= 25 && c.devices && devices == 0 {
				t.Error("no devices to compare")
			}
			if *cases >= 25 && c.volumes && (len(reasons) < 10 || bindings == 0) {
				t.Errorf("only %d different reasons, and %d bindings that wait", len(reasons), bindings)
			}
		})
	}
}

// devices counts those that were compared.
var devices int

// cycles schedules a few pods in a random cluster.
func cycles(t *testing.T, seed uint64, c class, p configured, reasons map[string]int) (rejected, scored, failed, bindings int) {
	t.Helper()
	d := roll(seed, c)
	clienttest.Run(t, seed, func(b *clienttest.Bench, task *sim.Task) {
		api := b.Client()
		d.world().create(task, api)
		for _, o := range b.Objects(client.Pods) {
			if d.one(10) { // on their way out
				clienttest.Must(0, api.Delete(task, client.Pods, o.(*corev1.Pod).Namespace, o.(*corev1.Pod).Name, metav1.DeleteOptions{}))
			}
		}
		scheduler.Start(b.Kernel.NewProcess(trace.Lane{Component: trace.CompScheduler}), api, scheduler.Config{NoElection: true, Configuration: p.config})
		task.Sleep(20 * time.Millisecond)
		for range 3 {
			before, seen := stored(b), len(b.Events)
			pod := clienttest.Must(client.Create(task, api, client.Pods, "", d.pod()))
			task.Sleep(20 * time.Millisecond)
			gotVerdicts, gotScores, decision := told(b.Events[seen:], pod.Namespace+"/"+pod.Name)
			dropZeros(gotScores)
			k := newConfigured(before, p)
			if gate := k.gate(pod); gate != "" {
				if got := gatedBy(b.Events[seen:], pod.Namespace+"/"+pod.Name); got != gate {
					t.Errorf("class %s, seed %d, %s: upstream gates the pod: %q, here %q", c.name, seed, pod.Name, gate, got)
				}
				reasons[gate]++
				clienttest.Must(0, api.Delete(task, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
				continue
			}
			want, wantScores := k.schedule(pod)
			wantVerdicts := want.verdicts
			switch {
			case want.failed != "":
				if decision.Message != want.failed && !slices.Contains(want.failures, decision.Message) {
					t.Errorf("class %s, seed %d, %s: upstream fails with %q, here the message is %q", c.name, seed, pod.Name, want.failed, decision.Message)
				}
				failed++
				continue
			case want.rejected != "":
				if says := fmt.Sprintf("0/%d nodes are available: %s.", len(before.nodes), want.rejected); !strings.HasPrefix(decision.Message, says) {
					t.Errorf("class %s, seed %d, %s: upstream says %q, here the message is %q", c.name, seed, pod.Name, says, decision.Message)
				}
				reasons[want.rejected]++
			}
			if diff := cmp.Diff(wantVerdicts, gotVerdicts, cmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("class %s, seed %d, %s: verdicts (-upstream +here):\n%s", c.name, seed, pod.Name, diff)
			}
			if diff := cmp.Diff(wantScores, gotScores, cmp.AllowUnexported(score{})); diff != "" {
				t.Errorf("class %s, seed %d, %s: scores (-upstream +here):\n%s", c.name, seed, pod.Name, diff)
			}
			for node, s := range wantScores {
				if s["total"].weighted > wantScores[decision.Node]["total"].weighted {
					t.Errorf("class %s, seed %d: %s is on %q, and %s has a higher total", c.name, seed, pod.Name, decision.Node, node)
				}
			}
			for _, v := range wantVerdicts {
				if v.by != "" {
					rejected++
					reasons[v.reasons]++
				}
			}
			scored += len(wantScores)
			if c.devices && decision.Node != "" {
				devices += k.sameDevices(t, fmt.Sprintf("class %s, seed %d", c.name, seed), want, pod, decision, b)
			}
			if c.devices && decision.Node == "" { // a claim that is taken back brings it back, in the middle of the next cycle
				clienttest.Must(0, api.Delete(task, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
				task.Sleep(20 * time.Millisecond)
				continue
			}
			if p := b.Object(client.Pods, pod.Namespace, pod.Name).(*corev1.Pod); decision.Node != "" && p.Spec.NodeName == "" {
				bindings++
				break // its binding waits for claims, and only this scheduler knows of it
			}
		}
	})
	return rejected, scored, failed, bindings
}

func create[T interface {
	runtime.Object
	metav1.Object
}](t *sim.Task, api client.Interface, r client.Resource, list []T) {
	for _, o := range list {
		clienttest.Must(client.Create(t, api, r, o.GetNamespace(), o))
	}
}

func (w *world) create(t *sim.Task, api client.Interface) {
	create(t, api, client.Namespaces, w.namespaces)
	create(t, api, client.Nodes, w.nodes)
	create(t, api, client.Services, w.services)
	create(t, api, client.ReplicaSets, w.replicaSets)
	create(t, api, client.StorageClasses, w.classes)
	create(t, api, client.PersistentVolumes, w.volumes)
	create(t, api, client.PersistentVolumeClaims, w.claims)
	create(t, api, client.CSINodes, w.csiNodes)
	create(t, api, client.CSIDrivers, w.csiDrivers)
	create(t, api, client.CSIStorageCapacities, w.capacities)
	create(t, api, client.VolumeAttachments, w.attachments)
	create(t, api, client.DeviceClasses, w.deviceClasses)
	create(t, api, client.ResourceSlices, w.slices)
	create(t, api, client.DeviceTaintRules, w.taintRules)
	create(t, api, client.ResourceClaims, w.resourceClaims)
	create(t, api, client.Pods, w.pods)
}

// stored is the world that the API server has.
func stored(b *clienttest.Bench) *world {
	w := &world{nodes: all[*corev1.Node](b, client.Nodes), namespaces: all[*corev1.Namespace](b, client.Namespaces)}
	w.services, w.replicaSets = all[*corev1.Service](b, client.Services), all[*appsv1.ReplicaSet](b, client.ReplicaSets)
	w.claims, w.volumes = all[*corev1.PersistentVolumeClaim](b, client.PersistentVolumeClaims), all[*corev1.PersistentVolume](b, client.PersistentVolumes)
	w.classes, w.csiNodes = all[*storagev1.StorageClass](b, client.StorageClasses), all[*storagev1.CSINode](b, client.CSINodes)
	w.csiDrivers, w.capacities = all[*storagev1.CSIDriver](b, client.CSIDrivers), all[*storagev1.CSIStorageCapacity](b, client.CSIStorageCapacities)
	w.attachments = all[*storagev1.VolumeAttachment](b, client.VolumeAttachments)
	w.resourceClaims, w.deviceClasses = all[*resourcev1.ResourceClaim](b, client.ResourceClaims), all[*resourcev1.DeviceClass](b, client.DeviceClasses)
	w.slices, w.taintRules = all[*resourcev1.ResourceSlice](b, client.ResourceSlices), all[*resourcev1.DeviceTaintRule](b, client.DeviceTaintRules)
	for _, p := range all[*corev1.Pod](b, client.Pods) {
		if p.Spec.NodeName != "" {
			w.pods = append(w.pods, p)
		}
	}
	return w
}

func all[T runtime.Object](b *clienttest.Bench, r client.Resource) (list []T) {
	for _, o := range b.Objects(r) {
		list = append(list, o.(T))
	}
	return list
}

// told is what the trace says of a pod's first cycle.
func told(events []*trace.Event, pod string) (map[string]verdict, map[string]scores, *trace.Decision) {
	verdicts := map[string]verdict{}
	var rated map[string]scores
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.FilterVerdict:
			if p.Pod == pod {
				verdicts[p.Node] = verdict{p.By, p.Code, strings.Join(p.Reasons, ", ")}
			}
		case *trace.NodeScore:
			if p.Pod != pod {
				continue
			}
			if rated == nil {
				rated = map[string]scores{}
			}
			rated[p.Node] = scores{"total": {weighted: p.Total}}
			for _, s := range p.Scores {
				rated[p.Node][s.Plugin] = score{s.Raw, s.Normalized, s.Weighted}
			}
		case *trace.Decision:
			if p.Pod == pod {
				return verdicts, rated, p
			}
		}
	}
	return verdicts, rated, &trace.Decision{}
}
