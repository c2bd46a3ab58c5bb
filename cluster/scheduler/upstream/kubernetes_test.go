package upstream_test

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/imagelocality"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodedeclaredfeatures"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"

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
	plugins []fwk.Plugin
	weights map[string]int64
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

// SharedDRAManager is for pods with claims, of which there are none.
func (k *kubernetes) SharedDRAManager() fwk.SharedDRAManager { return nil }

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

func newKubernetes(w *world) *kubernetes {
	k := &kubernetes{factory: informers.NewSharedInformerFactory(nil, 0), claimed: map[string]bool{}, weights: map[string]int64{
		"TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1, "PodTopologySpread": 2, "InterPodAffinity": 2,
		"VolumeBinding": 1, "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1,
	}}
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
	resources := []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
	k.add(nodename.New, nil)
	k.add(nodeunschedulable.New, nil)
	k.add(tainttoleration.New, nil)
	k.add(nodeaffinity.New, &config.NodeAffinityArgs{})
	k.add(nodeports.New, nil)
	k.add(noderesources.NewFit, &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{Type: config.LeastAllocated, Resources: resources}})
	k.add(volumerestrictions.New, nil)
	k.add(nodevolumelimits.NewCSI, nil)
	k.add(volumebinding.New, &config.VolumeBindingArgs{BindTimeoutSeconds: 600, Shape: []config.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}}})
	k.add(volumezone.New, nil)
	k.add(podtopologyspread.New, &config.PodTopologySpreadArgs{DefaultingType: config.SystemDefaulting})
	k.add(interpodaffinity.New, &config.InterPodAffinityArgs{HardPodAffinityWeight: 1})
	k.add(noderesources.NewBalancedAllocation, &config.NodeResourcesBalancedAllocationArgs{Resources: resources})
	k.add(nodedeclaredfeatures.New, nil)
	k.plugins = append(k.plugins, clienttest.Must(imagelocality.New(context.Background(), nil, k)))
	return k
}

// gates are Kubernetes' features as they are by default.
var gates = feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)

func (k *kubernetes) add(make func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error), args runtime.Object) {
	k.plugins = append(k.plugins, clienttest.Must(make(context.Background(), args, k, gates)))
}

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
}

func (k *kubernetes) cycle(pod *corev1.Pod) *cycle {
	ctx := context.Background()
	c := &cycle{k: k, state: framework.NewCycleState(), skipped: sets.New[string](), verdicts: map[string]verdict{}, statuses: map[string]*fwk.Status{}}
	for _, pl := range k.plugins {
		if pre, ok := pl.(fwk.PreFilterPlugin); ok {
			_, st := pre.PreFilter(ctx, c.state, pod, k.nodes)
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
	}
	for _, n := range k.nodes {
		st := c.filter(ctx, c.state, pod, n)
		if st.Code() == fwk.Error {
			c.failed = fmt.Sprintf("running %q filter plugin: %s", st.Plugin(), st.Message())
			return c
		}
		if st.IsSuccess() {
			c.verdicts[n.Node().Name] = verdict{}
			c.feasible = append(c.feasible, n)
			continue
		}
		c.verdicts[n.Node().Name], c.statuses[n.Node().Name] = verdict{st.Plugin(), st.Code().String(), st.Message()}, st
	}
	return c
}

func (c *cycle) filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, n fwk.NodeInfo) *fwk.Status {
	for _, pl := range c.k.plugins {
		if f, ok := pl.(fwk.FilterPlugin); ok && !c.skipped.Has(pl.Name()) {
			if st := f.Filter(ctx, state, pod, n); !st.IsSuccess() {
				return st.WithPlugin(pl.Name())
			}
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
	for _, pl := range k.plugins {
		s, ok := pl.(fwk.ScorePlugin)
		if !ok {
			continue
		}
		if pre, ok := pl.(fwk.PreScorePlugin); ok {
			if st := pre.PreScore(ctx, state, pod, nodes); st.IsSkip() {
				continue
			} else if !st.IsSuccess() {
				panic(pl.Name() + ": " + st.Message())
			}
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
			weighted := l.Score * k.weights[pl.Name()]
			all[l.Name][pl.Name()] = score{all[l.Name][pl.Name()].raw, l.Score, weighted}
			total := all[l.Name]["total"]
			total.weighted += weighted
			all[l.Name]["total"] = total
		}
	}
	dropZeros(all)
	return all
}

// dropZeros leaves out VolumeBinding where it rates all nodes 0: here it is not asked at all
// for pods that have nothing to bind.
func dropZeros(all map[string]scores) {
	for _, s := range all {
		if s["VolumeBinding"] != (score{}) {
			return
		}
	}
	for _, s := range all {
		delete(s, "VolumeBinding")
	}
}
