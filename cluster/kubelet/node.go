package kubelet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"kviz/cluster/client"
	"kviz/cluster/csi"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Nodes, How: simulated.Simplified,
	What: "a kubelet sees the first extended resource that somebody writes into its Node's capacity with its next report, within five minutes, and makes it allocatable; later changes it sees within ten seconds, as upstream sees all",
	Seen: "kubectl describe node",
})

// Upstream's periods (pkg/kubelet/apis/config/v1beta1/defaults.go).
const (
	leaseSeconds    = 40
	leaseRenew      = 10 * time.Second // a quarter of the lease
	statusUpdate    = 10 * time.Second // nodeStatusUpdateFrequency
	statusReport    = 5 * time.Minute  // nodeStatusReportFrequency: when nothing changed
	runtimeDeadline = 30 * time.Second // a runtime silent for longer is down
	leaseNamespace  = "kube-node-lease"
)

// nodeState is what the kubelet reports of its node
// (pkg/kubelet/kubelet_node_status.go).
type nodeState struct {
	kl         *Kubelet
	registered bool
	uid        types.UID
	written    corev1.NodeStatus // as last written
	reported   time.Duration
	silent     bool // it could not tell for a while: others may have written its status since
	ready      corev1.ConditionStatus
	told       map[corev1.NodeConditionType]corev1.ConditionStatus // the shortages as Events have told them
	updating   bool
	again      bool
	cause      trace.ID                            // of again
	pressure   map[corev1.NodeConditionType]string // condition -> message
	runtimeOK  time.Duration                       // when the runtime answered last
	lease      *coordv1.Lease
	labels     map[string]string
	extended   corev1.ResourceList // resources of the node that others know of
}

func (n *nodeState) init(kl *Kubelet) {
	n.kl, n.runtimeOK, n.ready = kl, kl.k.Elapsed(), corev1.ConditionUnknown
	n.pressure, n.told = map[corev1.NodeConditionType]string{}, map[corev1.NodeConditionType]corev1.ConditionStatus{}
	n.labels = map[string]string{
		"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelHostname: kl.cfg.Node,
	}
	for k, v := range kl.cfg.Labels {
		n.labels[k] = v
	}
}

// object is the Node as the kubelet knows it.
func (n *nodeState) object() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.kl.cfg.Node, Labels: n.labels}, Status: corev1.NodeStatus{Allocatable: n.kl.allocatable()}}
}

// SetPressure makes the node short of something (MemoryPressure, DiskPressure,
// PIDPressure), or takes it back with an empty message.
func (kl *Kubelet) SetPressure(c corev1.NodeConditionType, message string, cause trace.ID) {
	if message == "" {
		delete(kl.node.pressure, c)
	} else {
		kl.node.pressure[c] = message
	}
	kl.node.check("pressure", cause)
}

// registerNode creates the Node object, or takes over the one that is there, and
// then keeps status and lease going (kubelet_node_status.go
// registerWithAPIServer). It tries until the API server takes it.
func (kl *Kubelet) registerNode(t *sim.Task) {
	n := &kl.node
	t.SetCauses(kl.p.Began())
	delay := 100 * time.Millisecond
	annotations := map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
	if kl.cfg.Storage != nil {
		annotations[annNodeID] = fmt.Sprintf("{%q:%q}", csi.Name, kl.cfg.Node)
	}
	for {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: kl.cfg.Node, Labels: n.labels, Annotations: annotations},
			Spec:       corev1.NodeSpec{Taints: kl.cfg.taints()},
			Status:     n.status(t.Now()),
		}
		if kl.cfg.PodCIDR != "" {
			node.Spec.PodCIDR, node.Spec.PodCIDRs = kl.cfg.PodCIDR, []string{kl.cfg.PodCIDR}
		}
		made, err := client.Create(t, kl.c, client.Nodes, "", node)
		if apierrors.IsAlreadyExists(err) {
			made, err = client.Get[*corev1.Node](t, kl.c, client.Nodes, "", kl.cfg.Node)
		}
		if err == nil {
			n.uid, n.registered, n.written = made.UID, true, made.Status
			n.look(made)
			break
		}
		t.Sleep(delay)
		delay = min(2*delay, 7*time.Second)
	}
	ref := node(kl.cfg.Node, n.uid)
	kl.event2(t, ref, corev1.EventTypeNormal, "Starting", "Starting kubelet.")
	n.tellPressure(t, n.written.Conditions)
	if s := n.status(t.Now()); sameNodeStatus(&n.written, &s) && n.written.NodeInfo == s.NodeInfo {
		n.reported = max(t.Elapsed(), 1) // the object was made with this status
		t.Emit(trace.Event{Kind: trace.NodeStatus, Object: client.RefOf(ref), Payload: report(kl.cfg.Node, s.Conditions, s.Conditions[len(s.Conditions)-1].Message)})
	} else {
		n.update(t, "registered")
	}
	n.renewLease(t)
	kl.p.Go("csinode", kl.registerDriver)
	if kl.cfg.PodCIDR == "" {
		kl.awaitPodCIDR()
	}
	// Everything from here on is timers: spread, so that a thousand nodes do
	// not speak at once.
	kl.every(statusUpdate, 0.04, func() { n.check("status", trace.ID{}) })
	kl.every(leaseRenew, 0.04, func() { kl.p.Go("lease", n.renewLease) })
}

// uninitialized is the taint of a node until its cloud has said what it is
// (cloudproviderapi.TaintExternalCloudProvider).
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// taints are those that the node registers with (kubelet_node_status.go initialNode).
func (cfg *Config) taints() []corev1.Taint {
	if !cfg.External {
		return cfg.Taints
	}
	return append(slices.Clone(cfg.Taints), corev1.Taint{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule})
}

// addresses are the node's. Those that cloud-controller-manager has written stay; before that
// nothing but the host name is known (nodestatus/setters.go NodeAddress, without --node-ip).
func (n *nodeState) addresses() []corev1.NodeAddress {
	cfg := &n.kl.cfg
	hostname := corev1.NodeAddress{Type: corev1.NodeHostName, Address: cfg.Node}
	switch {
	case !cfg.External:
		return []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: cfg.Address}, hostname}
	case len(n.written.Addresses) > 0:
		return n.written.Addresses
	}
	return []corev1.NodeAddress{hostname}
}

func node(name string, uid types.UID) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
}

func (kl *Kubelet) event2(t *sim.Task, obj *corev1.Node, typ, reason, message string) {
	if !kl.cfg.Quiet {
		// The kubelet's Events about its node carry the name as uid.
		obj.UID = types.UID(obj.Name)
		kl.rec.Event(t, obj, typ, reason, "%s", message)
	}
}

// every runs fn about every d while the kubelet lives.
func (kl *Kubelet) every(d time.Duration, factor float64, fn func()) {
	var again func()
	again = func() {
		if kl.p.Alive() {
			fn()
			kl.k.After(kl.jitter(d, factor), again)
		}
	}
	kl.k.After(kl.jitter(d, factor), again)
}

func (kl *Kubelet) capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:                   resource.MustParse(kl.cfg.CPU),
		corev1.ResourceMemory:                resource.MustParse(kl.cfg.Memory),
		corev1.ResourcePods:                  *resource.NewQuantity(kl.cfg.Pods, resource.DecimalSI),
		corev1.ResourceEphemeralStorage:      resource.MustParse("100Gi"),
		corev1.ResourceName("hugepages-1Gi"): resource.MustParse("0"),
		corev1.ResourceName("hugepages-2Mi"): resource.MustParse("0"),
	}
}

// allocatable is the capacity less the hard eviction threshold of memory
// (100 Mi).
func (kl *Kubelet) allocatable() corev1.ResourceList {
	a := kl.capacity()
	mem := a[corev1.ResourceMemory]
	mem.Sub(resource.MustParse("100Mi"))
	a[corev1.ResourceMemory] = mem
	return a
}

// status is the node's whole status now (pkg/kubelet/nodestatus/setters.go).
func (n *nodeState) status(now time.Time) corev1.NodeStatus {
	kl := n.kl
	s := corev1.NodeStatus{
		Capacity: kl.capacity(), Allocatable: kl.allocatable(),
		Addresses:        n.addresses(),
		DaemonEndpoints:  corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		DeclaredFeatures: declaredFeatures(acts),
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: machineID(kl.cfg.Node, 1), SystemUUID: machineID(kl.cfg.Node, 2), BootID: machineID(kl.cfg.Node, 3),
			KernelVersion: "6.12.0-kviz", OSImage: "kviz (simulated)", ContainerRuntimeVersion: runtime.Version,
			KubeletVersion: Version, OperatingSystem: "linux", Architecture: "amd64",
		},
	}
	for _, img := range kl.rt.Images() {
		repo := img.Name
		if i := strings.LastIndexByte(repo, ':'); i > strings.LastIndexByte(repo, '/') {
			repo = repo[:i]
		}
		s.Images = append(s.Images, corev1.ContainerImage{Names: []string{repo + "@" + img.Digest, img.Name}, SizeBytes: img.Size})
	}
	s.Conditions = n.conditions(now)
	s.VolumesInUse = kl.volumes.inUse()
	maps.Copy(s.Capacity, n.extended)
	maps.Copy(s.Allocatable, n.extended)
	return s
}

func (n *nodeState) conditions(now time.Time) []corev1.NodeCondition {
	pressure := func(typ corev1.NodeConditionType, no, yes, fine string) corev1.NodeCondition {
		c := corev1.NodeCondition{Type: typ, Status: corev1.ConditionFalse, Reason: no, Message: fine}
		if m, ok := n.pressure[typ]; ok {
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, yes, m
		}
		return c
	}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}
	if why := n.notReady(); why != "" {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, "KubeletNotReady", why
	}
	list := []corev1.NodeCondition{
		pressure(corev1.NodeMemoryPressure, "KubeletHasSufficientMemory", "KubeletHasInsufficientMemory", "kubelet has sufficient memory available"),
		pressure(corev1.NodeDiskPressure, "KubeletHasNoDiskPressure", "KubeletHasDiskPressure", "kubelet has no disk pressure"),
		pressure(corev1.NodePIDPressure, "KubeletHasSufficientPID", "KubeletHasInsufficientPID", "kubelet has sufficient PID available"),
		ready,
	}
	for i := range list {
		list[i].LastHeartbeatTime, list[i].LastTransitionTime = seconds(now), seconds(now)
		for _, o := range n.written.Conditions {
			if o.Type == list[i].Type && o.Status == list[i].Status {
				list[i].LastTransitionTime = o.LastTransitionTime
			}
		}
	}
	return list
}

// notReady says what keeps the node from being ready (setters.go
// ReadyCondition), "" if nothing does.
func (n *nodeState) notReady() string {
	st, err := n.kl.rt.Status()
	if err != nil {
		if n.kl.k.Elapsed()-n.runtimeOK >= runtimeDeadline {
			return "container runtime is down"
		}
		return ""
	}
	n.runtimeOK = n.kl.k.Elapsed()
	if !st.NetworkReady {
		return fmt.Sprintf("container runtime network not ready: NetworkReady=false reason:%s message:%s", st.NetworkReason, st.NetworkMessage)
	}
	return ""
}

// check has the status written if it changed or is due. It may be called from
// anywhere.
func (n *nodeState) check(what string, cause trace.ID) {
	if !n.registered || !n.kl.p.Alive() {
		return
	}
	if n.updating {
		n.again, n.cause = true, cause
		return
	}
	n.updating = true
	n.kl.p.Go("node-status", func(t *sim.Task) {
		defer func() { n.updating = false }()
		t.SetCauses(cause)
		n.report(t, what)
		for n.again {
			n.again = false
			t.SetCauses(n.cause)
			n.report(t, what)
		}
	})
}

// report is update, of which a panic is the end: the next one is due soon.
func (n *nodeState) report(t *sim.Task, what string) {
	_ = t.HandleCrashOn(client.RefOf(node(n.kl.cfg.Node, n.uid)), "the status of the node", func() { n.update(t, what) })
}

// update writes the status: every 10 s if something changed, else every 5 min.
// After a silence it looks first at what the Node says: the node lifecycle controller
// may have made it Unknown (upstream looks every time, in the watch cache).
func (n *nodeState) update(t *sim.Task, what string) {
	if n.silent || len(n.extended) > 0 {
		if len(t.Causes()) == 0 {
			t.SetCauses(n.kl.p.Began()) // as what it does by the clock
		}
		seen, err := client.Get[*corev1.Node](t, n.kl.beat, client.Nodes, "", n.kl.cfg.Node)
		if err != nil {
			n.lost(err)
			return
		}
		n.written, n.silent = seen.Status, false
		n.look(seen)
	}
	s := n.status(t.Now())
	changed := n.reported == 0 || !sameNodeStatus(&n.written, &s)
	if what == "images" && onlyImages(&n.written, &s) {
		return // the next regular report takes them along
	}
	if !changed && t.Elapsed()-n.reported < statusReport {
		// A volume can have left a pod and come to the next one since: the Node says all the time that it is in use.
		n.kl.volumes.reported(n.written.VolumesInUse) // markVolumesFromNode
		return
	}
	old := n.written
	if n.reported == 0 {
		old = corev1.NodeStatus{}
	}
	patch := nodePatch(&old, &s)
	ready := s.Conditions[len(s.Conditions)-1]
	n.tellPressure(t, s.Conditions)
	id := t.Emit(trace.Event{Kind: trace.NodeStatus, Object: client.RefOf(node(n.kl.cfg.Node, n.uid)), Payload: report(n.kl.cfg.Node, s.Conditions, ready.Message)})
	t.SetCauses(id)
	answer, err := n.kl.beat.Patch(t, client.Nodes, "", n.kl.cfg.Node, types.StrategicMergePatchType, patch, "status")
	if err != nil {
		n.lost(err)
		return
	}
	if seen, ok := answer.(*corev1.Node); ok && n.look(seen) {
		n.again, n.cause = true, id
	}
	n.written, n.reported = s, max(t.Elapsed(), 1)
	n.kl.volumes.reported(s.VolumesInUse)
	if ready.Status != n.ready {
		if ready.Status == corev1.ConditionTrue {
			n.kl.event2(t, node(n.kl.cfg.Node, n.uid), corev1.EventTypeNormal, "NodeReady", fmt.Sprintf("Node %s status is now: NodeReady", n.kl.cfg.Node))
		} else if n.ready == corev1.ConditionTrue {
			n.kl.event2(t, node(n.kl.cfg.Node, n.uid), corev1.EventTypeNormal, "NodeNotReady", fmt.Sprintf("Node %s status is now: NodeNotReady", n.kl.cfg.Node))
		}
		n.ready = ready.Status
	}
}

// look notes the extended resources that somebody has written into the Node's capacity; it reports whether
// they are others than before.
func (n *nodeState) look(node *corev1.Node) bool {
	var extended corev1.ResourceList
	for name, amount := range node.Status.Capacity {
		if v1helper.IsExtendedResourceName(name) {
			if extended == nil {
				extended = corev1.ResourceList{}
			}
			extended[name] = amount
		}
	}
	changed := !equality.Semantic.DeepEqual(n.extended, extended)
	n.extended = extended
	return changed
}

// lost notes that the API server was not told.
func (n *nodeState) lost(err error) {
	n.silent = true
	if apierrors.IsNotFound(err) { // somebody deleted the node
		n.registered = false
	}
}

// pressureEvents are the Events that tell of a shortage, and of its end
// (setters.go MemoryPressureCondition …).
var pressureEvents = map[corev1.NodeConditionType][2]string{
	corev1.NodeMemoryPressure: {"NodeHasInsufficientMemory", "NodeHasSufficientMemory"},
	corev1.NodeDiskPressure:   {"NodeHasDiskPressure", "NodeHasNoDiskPressure"},
	corev1.NodePIDPressure:    {"NodeHasInsufficientPID", "NodeHasSufficientPID"},
}

// tellPressure writes an Event for every shortage that began or ended.
func (n *nodeState) tellPressure(t *sim.Task, conditions []corev1.NodeCondition) {
	for _, c := range conditions {
		reasons, ok := pressureEvents[c.Type]
		if !ok || n.told[c.Type] == c.Status {
			continue
		}
		n.told[c.Type] = c.Status
		reason := reasons[1]
		if c.Status == corev1.ConditionTrue {
			reason = reasons[0]
		}
		n.kl.event2(t, node(n.kl.cfg.Node, n.uid), corev1.EventTypeNormal, reason, fmt.Sprintf("Node %s status is now: %s", n.kl.cfg.Node, reason))
	}
}

func report(name string, cs []corev1.NodeCondition, note string) *trace.NodeReport {
	r := &trace.NodeReport{Node: name, By: "kubelet", Conditions: map[string]string{}, Note: note}
	for _, c := range cs {
		r.Conditions[string(c.Type)] = string(c.Status)
		if c.Type == corev1.NodeReady {
			r.Ready = string(c.Status)
		}
	}
	return r
}

// sameNodeStatus compares all but the heartbeats.
func sameNodeStatus(a, b *corev1.NodeStatus) bool {
	return sameConditions(a.Conditions, b.Conditions) && equality.Semantic.DeepEqual(a.Images, b.Images) &&
		equality.Semantic.DeepEqual(a.Capacity, b.Capacity) && equality.Semantic.DeepEqual(a.Allocatable, b.Allocatable) && slices.Equal(a.VolumesInUse, b.VolumesInUse) && equality.Semantic.DeepEqual(a.Addresses, b.Addresses)
}

func onlyImages(a, b *corev1.NodeStatus) bool { return sameConditions(a.Conditions, b.Conditions) }

func sameConditions(a, b []corev1.NodeCondition) bool {
	for i := range b {
		found := false
		for j := range a {
			if a[j].Type == b[i].Type {
				found = a[j].Status == b[i].Status && a[j].Reason == b[i].Reason && a[j].Message == b[i].Message
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// nodePatch is the strategic merge patch of a node's status
// (component-helpers/node PatchNodeStatus).
func nodePatch(old, s *corev1.NodeStatus) []byte {
	d := map[string]any{"conditions": s.Conditions}
	if !equality.Semantic.DeepEqual(old.Images, s.Images) {
		d["images"] = s.Images
	}
	if !equality.Semantic.DeepEqual(old.Capacity, s.Capacity) || !equality.Semantic.DeepEqual(old.Allocatable, s.Allocatable) {
		capacity, allocatable := map[corev1.ResourceName]any{}, map[corev1.ResourceName]any{}
		for name, amount := range s.Capacity {
			if !v1helper.IsExtendedResourceName(name) { // those are others' to write
				capacity[name] = amount
			}
		}
		for name := range old.Allocatable {
			allocatable[name] = nil
		}
		for name, amount := range s.Allocatable {
			allocatable[name] = amount
		}
		d["capacity"], d["allocatable"] = capacity, allocatable
	}
	if !equality.Semantic.DeepEqual(old.Addresses, s.Addresses) {
		d["addresses"] = s.Addresses
	}
	if !slices.Equal(old.VolumesInUse, s.VolumesInUse) {
		d["volumesInUse"] = s.VolumesInUse
	}
	if old.NodeInfo != s.NodeInfo {
		d["nodeInfo"], d["daemonEndpoints"] = s.NodeInfo, s.DaemonEndpoints
	}
	b, err := json.Marshal(map[string]any{"status": d})
	if err != nil {
		panic("kubelet: a node status does not marshal: " + err.Error())
	}
	return b
}

// renewLease is the node's heartbeat (component-helpers/apimachinery/lease):
// cheap, every 10 s; the node lifecycle controller watches it.
func (n *nodeState) renewLease(t *sim.Task) {
	kl, now := n.kl, metav1.NewMicroTime(t.Now())
	secs, holder := int32(leaseSeconds), kl.cfg.Node
	if n.lease == nil {
		l := &coordv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Name: kl.cfg.Node, Namespace: leaseNamespace,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: kl.cfg.Node, UID: n.uid}},
			},
			Spec: coordv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &secs, RenewTime: &now},
		}
		made, err := client.Create(t, kl.beat, client.Leases, leaseNamespace, l)
		if apierrors.IsAlreadyExists(err) {
			made, err = client.Get[*coordv1.Lease](t, kl.beat, client.Leases, leaseNamespace, kl.cfg.Node)
		}
		if err != nil {
			return // the next heartbeat tries again
		}
		n.lease = made.DeepCopy()
		if made.Spec.RenewTime != nil && made.Spec.RenewTime.Equal(&now) {
			return
		}
	}
	l := n.lease.DeepCopy()
	l.Spec.RenewTime, l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = &now, &holder, &secs
	upd, err := client.Update(t, kl.beat, client.Leases, leaseNamespace, l)
	if err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			n.lease = nil // look at it again
		} else {
			n.silent = true
		}
		return
	}
	n.lease = upd.DeepCopy()
}

// machineID is a number that is the same on every run.
func machineID(name string, salt int) string {
	h := uint64(salt) * 0x9e3779b97f4a7c15
	for _, c := range name {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return fmt.Sprintf("%016x%016x", h, h*0x9e3779b97f4a7c15)
}
