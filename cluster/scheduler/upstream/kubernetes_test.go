package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"

	"kviz/cluster/client/clienttest"
)

// world is what a scheduler knows of a cluster.
type world struct {
	nodes       []*corev1.Node
	pods        []*corev1.Pod // on nodes
	namespaces  []*corev1.Namespace
	services    []*corev1.Service
	replicaSets []*appsv1.ReplicaSet

	claims      []*corev1.PersistentVolumeClaim
	volumes     []*corev1.PersistentVolume
	classes     []*storagev1.StorageClass
	csiNodes    []*storagev1.CSINode
	csiDrivers  []*storagev1.CSIDriver
	capacities  []*storagev1.CSIStorageCapacity
	attachments []*storagev1.VolumeAttachment

	resourceClaims []*resourcev1.ResourceClaim
	deviceClasses  []*resourcev1.DeviceClass
	slices         []*resourcev1.ResourceSlice
	taintRules     []*resourcev1.DeviceTaintRule
}

// kubernetes is upstream's plugins on a world. It is a handle and the listers of a snapshot
// too: what is not overridden is nil, and nobody may call it.
type kubernetes struct {
	fwk.Handle
	fwk.SharedLister
	fwk.NodeInfoLister
	factory informers.SharedInformerFactory
	nodes   []fwk.NodeInfo
	claimed map[string]bool // the claims that pods on nodes name
	devices *deviceManager
	plugins []fwk.Plugin
	points  *config.Plugins // where they run, with which weights
}

func (k *kubernetes) SnapshotSharedLister() fwk.SharedLister                 { return k }
func (k *kubernetes) SharedInformerFactory() informers.SharedInformerFactory { return k.factory }
func (k *kubernetes) Parallelizer() fwk.Parallelizer                         { return k }
func (k *kubernetes) NodeInfos() fwk.NodeInfoLister                          { return k }
func (k *kubernetes) List() ([]fwk.NodeInfo, error)                          { return k.nodes, nil }

func (k *kubernetes) StorageInfos() fwk.StorageInfoLister { return k }
func (k *kubernetes) IsPVCUsedByPods(key string) bool     { return k.claimed[key] }
func (k *kubernetes) ClientSet() clientset.Interface      { return nil }

func (k *kubernetes) SharedCSIManager() fwk.CSIManager {
	return nodevolumelimits.NewCSIManager(k.factory.Storage().V1().CSINodes().Lister())
}

func (k *kubernetes) SharedDRAManager() fwk.SharedDRAManager { return k.devices }
func (k *kubernetes) ProfileName() string                    { return "default-scheduler" }

// Until does the pieces one after another, so that nothing depends on the machine.
func (k *kubernetes) Until(_ context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for i := range pieces {
		do(i)
	}
}

func (k *kubernetes) that(have func(fwk.NodeInfo) int) (list []fwk.NodeInfo, err error) {
	for _, n := range k.nodes {
		if have(n) > 0 {
			list = append(list, n)
		}
	}
	return list, nil
}

func (k *kubernetes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return k.that(func(n fwk.NodeInfo) int { return len(n.GetPodsWithAffinity()) })
}

func (k *kubernetes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return k.that(func(n fwk.NodeInfo) int { return len(n.GetPodsWithRequiredAntiAffinity()) })
}

func (k *kubernetes) Get(name string) (fwk.NodeInfo, error) {
	for _, n := range k.nodes {
		if n.Node().Name == name {
			return n, nil
		}
	}
	return nil, errors.New("no node " + name)
}

func newKubernetes(w *world) *kubernetes { return newConfigured(w, usual) }

// newConfigured is it with a profile.
func newConfigured(w *world, p configured) *kubernetes {
	k := &kubernetes{factory: informers.NewSharedInformerFactory(nil, 0), claimed: map[string]bool{}, points: p.points}
	k.devices = newDeviceManager(w, k.factory)
	for _, n := range w.nodes {
		k.nodes = append(k.nodes, nodeInfo(n, w.pods))
	}
	for _, p := range w.pods {
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				k.claimed[p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName] = true
			}
		}
	}
	k.addImages(w)
	k.fillStorage(w)
	fill(k.factory.Core().V1().Namespaces().Informer(), w.namespaces)
	fill(k.factory.Core().V1().Services().Informer(), w.services)
	fill(k.factory.Apps().V1().ReplicaSets().Informer(), w.replicaSets)
	for _, name := range slices.Sorted(maps.Keys(makers)) {
		k.plugins = append(k.plugins, clienttest.Must(makers[name](context.Background(), p.args[name], k, gates)))
	}
	return k
}

// gates are Kubernetes' features as they are by default.
var gates = feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)

func fill[T any](i cache.SharedIndexInformer, objects []T) {
	for _, o := range objects {
		clienttest.Must(0, i.GetIndexer().Add(o))
	}
}

func (k *kubernetes) fillStorage(w *world) {
	core, storage := k.factory.Core().V1(), k.factory.Storage().V1()
	fill(core.PersistentVolumeClaims().Informer(), w.claims)
	fill(core.PersistentVolumes().Informer(), w.volumes)
	fill(storage.StorageClasses().Informer(), w.classes)
	fill(storage.CSINodes().Informer(), w.csiNodes)
	fill(storage.CSIDrivers().Informer(), w.csiDrivers)
	fill(storage.CSIStorageCapacities().Informer(), w.capacities)
	fill(storage.VolumeAttachments().Informer(), w.attachments)
}

func nodeInfo(node *corev1.Node, pods []*corev1.Pod) *framework.NodeInfo {
	n := framework.NewNodeInfo()
	n.SetNode(node)
	for _, p := range pods {
		if p.Spec.NodeName == node.Name {
			n.AddPod(p)
		}
	}
	return n
}

// addImages does what the cache does.
func (k *kubernetes) addImages(w *world) {
	where := map[string]sets.Set[string]{}
	for _, n := range w.nodes {
		for _, image := range n.Status.Images {
			for _, name := range image.Names {
				if where[name] == nil {
					where[name] = sets.New[string]()
				}
				where[name].Insert(n.Name)
			}
		}
	}
	for _, n := range k.nodes {
		states := map[string]*fwk.ImageStateSummary{}
		for _, image := range n.Node().Status.Images {
			for _, name := range image.Names {
				states[name] = &fwk.ImageStateSummary{Size: image.SizeBytes, NumNodes: where[name].Len(), Nodes: where[name]}
			}
		}
		n.(*framework.NodeInfo).ImageStates = states
	}
}

// at are the plugins of an extension point, in the order in which they run.
func at[T fwk.Plugin](k *kubernetes, set config.PluginSet) (list []T) {
	for _, e := range set.Enabled {
		list = append(list, k.plugin(e.Name).(T))
	}
	return list
}

// cycle is what the filters of a cycle say.
type cycle struct {
	k        *kubernetes
	state    fwk.CycleState
	skipped  sets.Set[string]
	verdicts map[string]verdict
	statuses map[string]*fwk.Status
	feasible []fwk.NodeInfo
	// rejected is why the pod fits on no node, whatever the nodes are like; failed is what is broken.
	rejected, failed string
	// failures are what is broken on each node: which one is met first depends on where the search starts.
	failures []string
}

func (k *kubernetes) cycle(pod *corev1.Pod) *cycle {
	ctx := context.Background()
	c := &cycle{k: k, state: framework.NewCycleState(), skipped: sets.New[string](), verdicts: map[string]verdict{}, statuses: map[string]*fwk.Status{}}
	for _, pl := range at[fwk.PreFilterPlugin](k, k.points.PreFilter) {
		_, st := pl.PreFilter(ctx, c.state, pod, k.nodes)
		switch {
		case st.IsSkip():
			c.skipped.Insert(pl.Name())
		case st.IsRejected():
			c.rejected = st.Message()
			return c
		case !st.IsSuccess():
			c.failed = fmt.Sprintf("running PreFilter plugin %q: %s", pl.Name(), st.Message())
			return c
		}
	}
	for _, n := range k.nodes {
		st := c.filter(ctx, c.state, pod, n)
		if st.Code() == fwk.Error {
			c.failures = append(c.failures, fmt.Sprintf("running %q filter plugin: %s", st.Plugin(), st.Message()))
			continue
		}
		if st.IsSuccess() {
			c.verdicts[n.Node().Name] = verdict{}
			c.feasible = append(c.feasible, n)
			continue
		}
		c.verdicts[n.Node().Name], c.statuses[n.Node().Name] = verdict{st.Plugin(), st.Code().String(), st.Message()}, st
	}
	if len(c.failures) > 0 {
		c.failed = c.failures[0]
	}
	return c
}

func (c *cycle) filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, n fwk.NodeInfo) *fwk.Status {
	for _, pl := range at[fwk.FilterPlugin](c.k, c.k.points.Filter) {
		if c.skipped.Has(pl.Name()) {
			continue
		}
		if st := pl.Filter(ctx, state, pod, n); !st.IsSuccess() {
			return st.WithPlugin(pl.Name())
		}
	}
	return nil
}

// schedule runs a cycle, as pkg/scheduler/schedule_one.go does.
func (k *kubernetes) schedule(pod *corev1.Pod) (*cycle, map[string]scores) {
	c := k.cycle(pod)
	if len(c.feasible) < 2 || c.failed != "" {
		return c, nil
	}
	return c, k.score(context.Background(), c.state, pod, c.feasible)
}

func (k *kubernetes) score(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) map[string]scores {
	all := map[string]scores{}
	for _, n := range nodes {
		all[n.Node().Name] = scores{}
	}
	skipped := sets.New[string]()
	for _, pl := range at[fwk.PreScorePlugin](k, k.points.PreScore) {
		if st := pl.PreScore(ctx, state, pod, nodes); st.IsSkip() {
			skipped.Insert(pl.Name())
		} else if !st.IsSuccess() {
			panic(pl.Name() + ": " + st.Message())
		}
	}
	for i, s := range at[fwk.ScorePlugin](k, k.points.Score) {
		pl, weight := s.(fwk.Plugin), int64(k.points.Score.Enabled[i].Weight)
		if skipped.Has(pl.Name()) {
			continue
		}
		list := make(fwk.NodeScoreList, len(nodes))
		for i, n := range nodes {
			raw, st := s.Score(ctx, state, pod, n)
			if !st.IsSuccess() {
				panic(pl.Name() + ": " + st.Message())
			}
			list[i] = fwk.NodeScore{Name: n.Node().Name, Score: raw}
			all[n.Node().Name][pl.Name()] = score{raw: raw}
		}
		if e := s.ScoreExtensions(); e != nil {
			if st := e.NormalizeScore(ctx, state, pod, list); !st.IsSuccess() {
				panic(pl.Name() + ": " + st.Message())
			}
		}
		for _, l := range list {
			weighted := l.Score * weight
			all[l.Name][pl.Name()] = score{all[l.Name][pl.Name()].raw, l.Score, weighted}
			total := all[l.Name]["total"]
			total.weighted += weighted
			all[l.Name]["total"] = total
		}
	}
	dropZeros(all)
	return all
}

// dropZeros leaves out VolumeBinding and DynamicResources where they rate all nodes 0: here they are not
// asked at all for pods that have nothing to bind, and no alternatives.
func dropZeros(all map[string]scores) {
	for _, plugin := range []string{"VolumeBinding", "DynamicResources"} {
		zero := true
		for _, s := range all {
			zero = zero && s[plugin] == (score{})
		}
		for _, s := range all {
			if zero {
				delete(s, plugin)
			}
		}
	}
}

// emptyFactory has listers of nothing.
func emptyFactory() informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(nil, 0)
}
