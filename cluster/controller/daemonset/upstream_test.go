package daemonset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientset "k8s.io/client-go/kubernetes"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"
	upstream "k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/daemonset"
	"kviz/cluster/controller/history"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Of any DaemonSet, nodes, pods and revisions, both controllers create and delete the same pods, make,
// number and delete the same revisions, write the same status, and record the same Events. Which of
// several like nodes comes first differs: upstream takes them from a map.
func TestSyncIsUpstreams(t *testing.T) {
	was := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil // they print what is compared here
	t.Cleanup(func() { utilruntime.ErrorHandlers = was })
	upstreamtest.Check(t, "150", func(r *rapid.T) {
		w := anyScene(r)
		here, there := &wishes{scene: w}, &wishes{scene: w}
		var failed [2]error
		clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			w.create(b, t)
			now := t.Now()
			w.read(b, now)
			failed[0] = ours(b, t, here)
			failed[1] = theirs(b, now, there)
		})
		if (failed[0] == nil) != (failed[1] == nil) {
			r.Fatalf("here: %v\nupstream: %v", failed[0], failed[1])
		}
		if a, b := there.String(), here.String(); a != b {
			r.Fatalf("-upstream +here:\n%s", cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n")))
		}
	})
}

// wishes are what a controller asks of the API server in one sync, and the Events. Nothing of
// it happens: all that it reads stays as it was.
type wishes struct {
	*scene
	sync.Mutex
	list []string
}

func (w *wishes) add(format string, args ...any) {
	w.Lock()
	defer w.Unlock()
	w.list = append(w.list, fmt.Sprintf(format, args...))
}

func (w *wishes) String() string {
	w.Lock()
	defer w.Unlock()
	slices.Sort(w.list)
	// Orphans are adopted again by each look at the pods, since nothing changes.
	var out []string
	for _, s := range w.list {
		if !strings.HasPrefix(s, "adopt or release") || !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}

func words(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// create notes a new object, and says what becomes of it.
func (w *wishes) create(obj runtime.Object) error {
	switch o := obj.(type) {
	case *corev1.Pod:
		node := clienttest.Must(util.GetTargetNodeName(o))
		if w.refused {
			w.add("create refused")
			return apierrors.NewForbidden(client.Pods.GroupResource(), "", errors.New("exceeded quota"))
		}
		spec := o.Spec.DeepCopy()
		w.add("create %s %v %v %v of %s on %s %s", o.GenerateName, o.Labels, o.Annotations, o.Finalizers, words(o.OwnerReferences), w.kindOf(node), strings.ReplaceAll(words(spec), node, "NODE"))
		o.Name = "agent-new"
	case *appsv1.ControllerRevision:
		w.add("create revision %s %d %v %v of %s: %s", o.Name, o.Revision, o.Labels, o.Annotations, words(o.OwnerReferences), o.Data.Raw)
		if w.taken > 0 {
			return apierrors.NewAlreadyExists(client.ControllerRevisions.GroupResource(), o.Name)
		}
	}
	return nil
}

// takenBy is the revision whose name a new one was to have.
func (w *wishes) takenBy(name string) *appsv1.ControllerRevision {
	rev := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: "taken"}}}
	if w.taken == 1 {
		rev.Data = clienttest.Must(history.PatchExactly(w.ds))
	}
	return rev
}

// fresh is the DaemonSet as the API server has it.
func (w *wishes) fresh() *appsv1.DaemonSet {
	ds := w.ds.DeepCopy()
	if w.taken == 3 {
		ds.Status.CollisionCount = ptr.To[int32](7)
	}
	return ds
}

func (w *wishes) update(obj runtime.Object, sub string) {
	switch o := obj.(type) {
	case *appsv1.DaemonSet:
		w.add("write %s %s", sub, words(o.Status))
	case *appsv1.ControllerRevision:
		w.add("update revision %s %d %v", o.Name, o.Revision, o.Labels)
	}
}

func (w *wishes) patch(name string, data []byte) {
	if strings.Contains(string(data), "ownerReferences") {
		var of struct {
			Metadata struct{ OwnerReferences []map[string]any }
		}
		if err := json.Unmarshal(data, &of); err != nil {
			panic(err)
		}
		w.add("adopt or release %s %s", name, words(of))
		return
	}
	w.add("patch %s %s", name, data)
}

func (w *wishes) remove(kind, name string) { w.add("delete %s %s", kind, w.podOf(name)) }

func (w *wishes) event(kind, reason, message string) {
	if w.refused && reason == "FailedCreate" {
		message = strings.ReplaceAll(message, "agent-", "")
	}
	for name := range w.pods {
		message = strings.ReplaceAll(message, name+" ", w.podOf(name)+" ")
		if strings.HasSuffix(message, name) {
			message = strings.TrimSuffix(message, name) + w.podOf(name)
		}
	}
	w.add("event %s %s %s", kind, reason, message)
}

// frozen is a connection through which nothing changes but Events.
type frozen struct {
	client.Interface
	w *wishes
}

func (f frozen) Create(t *sim.Task, r client.Resource, ns string, obj runtime.Object) (runtime.Object, error) {
	if r != client.Pods && r != client.ControllerRevisions {
		return f.Interface.Create(t, r, ns, obj)
	}
	obj = obj.DeepCopyObject()
	return obj, f.w.create(obj)
}

func (f frozen) Get(t *sim.Task, r client.Resource, ns, name string) (runtime.Object, error) {
	switch r {
	case client.ControllerRevisions:
		return f.w.takenBy(name), nil
	case client.DaemonSets:
		return f.w.fresh(), nil
	}
	return f.Interface.Get(t, r, ns, name)
}

func (f frozen) Update(t *sim.Task, r client.Resource, ns string, obj runtime.Object, sub string) (runtime.Object, error) {
	if r != client.DaemonSets && r != client.ControllerRevisions {
		return f.Interface.Update(t, r, ns, obj, sub)
	}
	f.w.update(obj, sub)
	return obj.DeepCopyObject(), nil
}

func (f frozen) Patch(t *sim.Task, r client.Resource, ns, name string, pt types.PatchType, data []byte, sub string) (runtime.Object, error) {
	if r != client.Pods && r != client.ControllerRevisions {
		return f.Interface.Patch(t, r, ns, name, pt, data, sub)
	}
	f.w.patch(name, data)
	return f.Interface.Get(t, r, ns, name)
}

func (f frozen) Delete(_ *sim.Task, r client.Resource, _, name string, _ metav1.DeleteOptions) error {
	f.w.remove(r.Resource, name)
	return nil
}

// ours runs our controller once.
func ours(b *clienttest.Bench, t *sim.Task, w *wishes) (failed error) {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	env := reconcile.NewEnv(p, daemonset.Name, daemonset.Name, frozen{b.Client(), w}, f, 1)
	done, from := false, len(b.Events)
	env.Around = func(queue string, sync reconcile.Sync) reconcile.Sync {
		return func(run *reconcile.Run) error {
			if queue != "daemonset" || done {
				return nil
			}
			done = true
			failed = sync(run)
			return failed
		}
	}
	daemonset.New(env).Start()
	f.Start()
	t.Sleep(500 * time.Millisecond)
	p.Kill()
	for _, e := range b.Events[from:] {
		if p, ok := e.Payload.(*trace.KubeEvent); ok && e.Kind == trace.EventRecorded {
			w.event(p.Type, p.Reason, p.Message)
		}
	}
	if !done {
		panic("the DaemonSet was not looked at")
	}
	return failed
}

// kube is the connection of upstream's controller.
type kube struct {
	clientset.Interface
	w *wishes
}

type (
	core struct {
		coreclient.CoreV1Interface
		w *wishes
	}
	apps struct {
		appsclient.AppsV1Interface
		w *wishes
	}
	sets struct {
		appsclient.DaemonSetInterface
		w *wishes
	}
	revisions struct {
		appsclient.ControllerRevisionInterface
		w *wishes
	}
	podsOf struct {
		coreclient.PodInterface
		w *wishes
	}
)

func (k *kube) CoreV1() coreclient.CoreV1Interface             { return core{w: k.w} }
func (k *kube) AppsV1() appsclient.AppsV1Interface             { return apps{w: k.w} }
func (core) Events(string) coreclient.EventInterface           { return upstreamtest.Events{} }
func (c core) Pods(string) coreclient.PodInterface             { return podsOf{w: c.w} }
func (a apps) DaemonSets(string) appsclient.DaemonSetInterface { return sets{w: a.w} }
func (a apps) ControllerRevisions(string) appsclient.ControllerRevisionInterface {
	return revisions{w: a.w}
}

func (s sets) Get(context.Context, string, metav1.GetOptions) (*appsv1.DaemonSet, error) {
	return s.w.fresh(), nil
}

func (s sets) UpdateStatus(_ context.Context, ds *appsv1.DaemonSet, _ metav1.UpdateOptions) (*appsv1.DaemonSet, error) {
	s.w.update(ds, "status")
	return ds, nil
}

func (r revisions) Get(_ context.Context, name string, _ metav1.GetOptions) (*appsv1.ControllerRevision, error) {
	return r.w.takenBy(name), nil
}

func (r revisions) Create(_ context.Context, rev *appsv1.ControllerRevision, _ metav1.CreateOptions) (*appsv1.ControllerRevision, error) {
	return rev, r.w.create(rev)
}

func (r revisions) Update(_ context.Context, rev *appsv1.ControllerRevision, _ metav1.UpdateOptions) (*appsv1.ControllerRevision, error) {
	r.w.update(rev, "")
	return rev, nil
}

func (r revisions) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	r.w.remove("controllerrevisions", name)
	return nil
}

func (r revisions) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*appsv1.ControllerRevision, error) {
	r.w.patch(name, data)
	return &appsv1.ControllerRevision{}, nil
}

func (p podsOf) Create(_ context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	return pod, p.w.create(pod)
}

func (p podsOf) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	p.w.remove("pods", name)
	return nil
}

func (p podsOf) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Pod, error) {
	p.w.patch(name, data)
	return &corev1.Pod{}, nil
}

// recorder notes upstream's Events.
type recorder struct {
	record.EventRecorder
	w *wishes
}

func (r recorder) Eventf(_ runtime.Object, kind, reason, format string, args ...any) {
	r.w.event(kind, reason, fmt.Sprintf(format, args...))
}

// theirs runs upstream's controller once.
func theirs(b *clienttest.Bench, now time.Time, w *wishes) error {
	all, nodes, daemons, revs := upstreamtest.NewCache(), upstreamtest.NewCache(), upstreamtest.NewCache(), upstreamtest.NewCache()
	ctx := klog.NewContext(context.Background(), klog.Logger{})
	k := &kube{w: w}
	backoff := flowcontrol.NewFakeBackOff(time.Second, 15*time.Minute, clocktesting.NewFakeClock(now))
	c, err := upstream.NewDaemonSetsController(ctx, upstreamtest.DaemonSets{Cache: daemons}, upstreamtest.Revisions{Cache: revs}, upstreamtest.Pods{Cache: all}, upstreamtest.Nodes{Cache: nodes}, k, backoff)
	if err != nil {
		panic(err)
	}
	*upstreamtest.Field[record.EventRecorder](c, "eventRecorder") = recorder{w: w}
	*upstreamtest.Field[controller.PodControlInterface](c, "podControl") = controller.RealPodControl{KubeClient: k, Recorder: recorder{w: w}}
	for cache, r := range map[*upstreamtest.Cache]client.Resource{all: client.Pods, nodes: client.Nodes, daemons: client.DaemonSets, revs: client.ControllerRevisions} {
		var list []runtime.Object
		for _, o := range b.Objects(r) {
			list = append(list, o.DeepCopyObject())
		}
		cache.Hold(list...)
	}
	return (*upstreamtest.Field[func(context.Context, string) error](c, "syncHandler"))(ctx, "demo/agent")
}

// scene is what both look at.
type scene struct {
	ds      *appsv1.DaemonSet
	nodes   []*corev1.Node
	of      []*corev1.Pod
	revs    []revision
	refused bool // no pod can be created
	taken   int  // the name of a new revision: 0 free; by one of 1 this template, 2 another; 3 another, and the set has changed
	any     bool // which of like nodes comes first is upstream's choice

	pods map[string]*corev1.Pod // as they are, by name
	on   map[string][]*corev1.Pod
	now  time.Time
}

type revision struct {
	*appsv1.ControllerRevision
	same  bool // of the template now
	owner int  // 0 the set, 1 nobody, 2 another
}

// read notes the objects as they are.
func (w *scene) read(b *clienttest.Bench, now time.Time) {
	w.ds = b.Object(client.DaemonSets, "demo", "agent").(*appsv1.DaemonSet).DeepCopy()
	w.pods, w.on, w.now = map[string]*corev1.Pod{}, map[string][]*corev1.Pod{}, now
	for _, o := range b.Objects(client.Pods) {
		p := o.(*corev1.Pod)
		w.pods[p.Name] = p
		if node, err := util.GetTargetNodeName(p); err == nil {
			w.on[node] = append(w.on[node], p)
		}
	}
}

// available reports whether a pod is one of those of which upstream replaces any first.
func (w *scene) available(p *corev1.Pod) bool {
	return w.any && p.DeletionTimestamp == nil && podutil.IsPodAvailable(p, w.ds.Spec.MinReadySeconds, metav1.NewTime(w.now))
}

// kindOf is a node, or what it is where others like it are as good.
func (w *scene) kindOf(node string) string {
	if slices.ContainsFunc(w.on[node], w.available) {
		return "a node with an available pod"
	}
	return node
}

// podOf is a pod, or what it is where others like it are as good.
func (w *scene) podOf(name string) string {
	switch p := w.pods[name]; {
	case p == nil:
	case w.available(p):
		return "an available pod"
	case p.Status.Phase == corev1.PodFailed:
		node, _ := util.GetTargetNodeName(p) // where several have failed, only one is deleted now
		return "a failed pod of " + node
	}
	return name
}

const hashLabel = appsv1.DefaultDaemonSetUniqueLabelKey

func anyScene(r *rapid.T) *scene {
	draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(r, what) }
	w := &scene{ds: agent("agent:1"), refused: draw("refused", 9) == 0, any: true}
	if draw("name taken", 4) == 0 {
		w.taken = 1 + draw("by", 2)
	}
	w.ds.Spec.Template.Spec.Tolerations = nil
	anySpec(r, w)
	for i := range draw("nodes", 6) {
		w.nodes = append(w.nodes, anyNode(r, i))
	}
	hashes := []string{"one", "two", "three"}
	for i := range draw("revisions", 3) {
		rev := revision{&appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "agent-" + hashes[i], Labels: maps.Clone(w.ds.Spec.Template.Labels)},
			Revision:   int64(1 + draw(fmt.Sprint("number ", i), 4)),
		}, draw(fmt.Sprint("same ", i), 1) == 0, max(draw(fmt.Sprint("owner of revision ", i), 6)-4, 0)}
		if draw(fmt.Sprint("labelled ", i), 5) > 0 {
			rev.Labels[hashLabel] = hashes[i]
		}
		if slices.ContainsFunc(w.revs, func(o revision) bool { return o.Revision == rev.Revision }) {
			rev.Revision += 10 + int64(i) // which of two with one number is the newer upstream does not say
		}
		w.revs = append(w.revs, rev)
	}
	for i := range draw("pods", 8) {
		w.of = append(w.of, anyPod(r, i, len(w.nodes), hashes))
	}
	return w
}

func anySpec(r *rapid.T, w *scene) {
	draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(r, what) }
	ds := w.ds
	spec := &ds.Spec.Template.Spec
	amount := func(what string) *intstr.IntOrString {
		return ptr.To([]intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("50%"), intstr.FromString("100%"), intstr.FromString("bad")}[draw(what, 20)%6])
	}
	switch draw("strategy", 5) {
	case 0:
		ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
		w.any = false
	case 1:
		all, none := ptr.To(intstr.FromInt32(100)), ptr.To(intstr.FromInt32(0))
		ds.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: all, MaxSurge: none}
		if draw("surge of all", 1) == 0 {
			ds.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: none, MaxSurge: all}
		}
		w.any = false
	case 2:
		ds.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: amount("surge")}
	case 3:
		ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = amount("unavailable")
	case 4:
		if draw("no numbers", 4) == 0 {
			ds.Spec.UpdateStrategy.RollingUpdate = nil
		}
	}
	if w.refused {
		w.any = true // where it stops depends on the order
	}
	if draw("selector of nodes", 3) == 0 {
		spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	if n := draw("affinity", 5); n < 3 {
		req := corev1.NodeSelectorRequirement{Key: "disk", Operator: []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, "Bad"}[n], Values: []string{"hdd"}}
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{req}}}}}}
	}
	switch draw("tolerations", 4) {
	case 0:
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	case 1:
		spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	case 2:
		spec.Tolerations = []corev1.Toleration{{Key: "sick", Operator: corev1.TolerationOpEqual, Value: "yes", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](1<<53 + 1)}}
	}
	spec.HostNetwork = draw("host network", 3) == 0
	if draw("one node", 9) == 0 {
		spec.NodeName = "node-1"
	}
	ds.Spec.MinReadySeconds = int32(5 * draw("ready for", 1))
	ds.Spec.RevisionHistoryLimit = ptr.To(int32(draw("limit", 2)))
	if draw("generation", 5) == 0 {
		ds.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: []string{"1", "bad"}[draw("of the template", 1)]}
	}
	if draw("selector", 19) == 0 {
		ds.Spec.Selector = &metav1.LabelSelector{}
	}
	if draw("deleted", 14) == 0 {
		ds.Finalizers, ds.DeletionTimestamp = []string{"example.com/hold"}, &metav1.Time{Time: time.Unix(1, 0)}
	}
	st := &ds.Status
	for i, n := range []*int32{&st.DesiredNumberScheduled, &st.CurrentNumberScheduled, &st.NumberMisscheduled, &st.NumberReady, &st.UpdatedNumberScheduled, &st.NumberAvailable, &st.NumberUnavailable} {
		*n = int32(draw(fmt.Sprint("status ", i), 5) / 4)
	}
	st.ObservedGeneration = int64(draw("observed", 1))
	if draw("collisions", 4) == 0 {
		st.CollisionCount = ptr.To[int32](1)
	}
}

func anyNode(r *rapid.T, i int) *corev1.Node {
	draw := func(what string, most int) int {
		return rapid.IntRange(0, most).Draw(r, fmt.Sprint(what, " of node ", i))
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}
	if d := draw("disk", 2); d < 2 {
		n.Labels = map[string]string{"disk": []string{"ssd", "hdd"}[d]}
	}
	taints := []corev1.Taint{
		{Key: "gpu", Effect: corev1.TaintEffectNoSchedule},
		{Key: "sick", Value: "yes", Effect: corev1.TaintEffectNoExecute},
		{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
	}
	if draw("plain", 3) == 0 {
		return n
	}
	for range max(0, draw("taints", 4)-2) {
		n.Spec.Taints = append(n.Spec.Taints, taints[draw("taint", len(taints)-1)])
	}
	return n
}

func anyPod(r *rapid.T, i, nodes int, hashes []string) *corev1.Pod {
	draw := func(what string, most int) int {
		return rapid.IntRange(0, most).Draw(r, fmt.Sprint(what, " of pod ", i))
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprint("agent-", i), Labels: map[string]string{"app": "agent"}}}
	owner := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}
	if nodes > 0 && draw("as usual", 1) == 0 {
		p.Spec.NodeName, p.Labels[hashLabel] = fmt.Sprint("node-", i%nodes), hashes[draw("hash", len(hashes)-1)]
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, client.DaemonSets.GVK())}
		p.Status.Phase, p.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: []corev1.ConditionStatus{"True", "True", "False"}[draw("ready", 2)], LastTransitionTime: metav1.Unix(-100, 0)}}
		return p
	}
	node := fmt.Sprint("node-", draw("node", nodes)) // the last one is none
	switch draw("bound", 7) {
	case 0:
		p.Spec.Affinity = util.ReplaceDaemonSetPodNodeNameNodeAffinity(nil, node)
	case 1:
		if draw("nowhere", 2) == 0 {
			break
		}
		fallthrough
	default:
		p.Spec.NodeName = node
	}
	if n := draw("hash", len(hashes)); n < len(hashes) {
		p.Labels[hashLabel] = hashes[n]
	}
	if draw("generation", 5) == 0 {
		p.Labels["pod-template-generation"] = "1"
	}
	switch draw("owner", 9) {
	case 0: // an orphan
	case 1:
		p.Labels["app"] = "other"
		fallthrough
	default:
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, client.DaemonSets.GVK())}
	}
	p.Status.Phase = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}[draw("phase", 6)]
	if p.Status.Phase == corev1.PodRunning {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: []corev1.ConditionStatus{"True", "True", "False"}[draw("ready", 2)], LastTransitionTime: metav1.Unix([]int64{-100, -2}[draw("since", 1)], 0)}}
	}
	if draw("deleting", 6) == 0 {
		p.Finalizers, p.DeletionTimestamp = []string{"example.com/hold"}, &metav1.Time{Time: time.Unix(1, 0)}
	}
	return p
}

// create makes all of it, the pods each a second younger than the one before or as old as it.
func (w *scene) create(b *clienttest.Bench, t *sim.Task) {
	c := b.Client()
	for _, n := range w.nodes {
		clienttest.Must(client.Create(t, c, client.Nodes, "", n))
	}
	ds := clienttest.Must(client.Create(t, c, client.DaemonSets, "demo", w.ds))
	for _, rev := range w.revs {
		switch rev.owner {
		case 0:
			rev.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, client.DaemonSets.GVK())}
		case 2:
			rev.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "other"}}, client.DaemonSets.GVK())}
		}
		of := ds.DeepCopy()
		if !rev.same {
			of.Spec.Template.Spec.Containers[0].Image = rev.Name
		}
		rev.Data = clienttest.Must(history.PatchExactly(of))
		clienttest.Must(client.Create(t, c, client.ControllerRevisions, "demo", rev.ControllerRevision))
	}
	end := t.Now().Add(time.Duration(len(w.of)) * time.Second)
	for i, p := range w.of {
		for k := range p.OwnerReferences {
			p.OwnerReferences[k].UID = ds.UID
		}
		for k := range p.Status.Conditions {
			at := &p.Status.Conditions[k].LastTransitionTime
			*at = metav1.NewTime(end.Add(time.Duration(at.Unix()) * time.Second))
		}
		clienttest.Must(client.Create(t, c, client.Pods, "demo", p))
		if i%3 > 0 {
			t.Sleep(time.Second)
		}
	}
}
