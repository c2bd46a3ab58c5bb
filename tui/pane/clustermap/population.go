package clustermap

import (
	"slices"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/pane"
	"kviz/tui/podmark"
)

// population is what the map knows of all nodes and pods. It is kept from one drawing to the next and
// folded on by the events in between: a frame with thousands of nodes reads small records and
// walks over no pods. It is always what it would be if it were made anew from the state.
type population struct {
	namespace, filter string   // that it was made for
	last              trace.ID // the event of the state that it is of

	there   map[string]bool   // every pod, by namespace/name
	total   map[string]int    // how many, by namespace
	cells   map[string]cell   // of those that are shown
	byNode  map[string][]cell // those of a node, by name, and those that room is being made for there
	pending []cell            // those of none
	owners  map[owned]*tally
	marks   map[rune]int          // how many pods have each mark
	load    map[string]*requested // of every pod, whatever the filter says
	asked   map[string]placed     // what each pod counts for in load
	nodes   map[string]*corev1.Node
	records map[string]*record // of each node
	names   []string           // of the nodes, in their order
	svcs    map[string]*service
	lost    bool // an endpoint does not say on which node it is

	users        map[string]map[string]bool // names of the pods that use each claim, by namespace/name
	claimed      map[string][]string        // the claims of each pod that has some
	vols         []*view.VolumeStanding
	volumesStale bool
}

// owned is a workload with its letter.
type owned struct {
	letter rune
	owner  string
	of     trace.Ref // the workload; zero for a pod of its own
}

// tally counts a workload's pods, and by how many of them each claim is used, by namespace/name.
type tally struct {
	fine, all int
	claims    map[string]int
}

// uses takes a pod's claims in, or away where by is -1.
func (t *tally) uses(pod *corev1.Pod, by int) {
	for _, name := range view.ClaimNames(pod) {
		if t.claims == nil {
			t.claims = map[string]int{}
		}
		key := pod.Namespace + "/" + name
		if t.claims[key] += by; t.claims[key] == 0 {
			delete(t.claims, key)
		}
	}
}

// requested is what the pods of a node have asked for.
type requested struct {
	cpu, memory int64 // thousandths of a core, bytes
	pods        int
}

// cores are what has been asked for of the CPU.
func (r requested) cores() float64 { return float64(r.cpu) / 1000 }

// placed is what one pod asks for, and where.
type placed struct {
	node        string
	cpu, memory int64
}

// record is what a frame needs of a node.
type record struct {
	on       pane.Subject
	standing standing
	lease    time.Duration // when its Lease was renewed; negative where it has none
	cpu      int64         // that it has for pods, in thousandths of a core
}

// enough is how many events are folded on; after more, all is made anew.
const enough = 20000

// population is that of a frame's state.
func (m *Map) population(f *pane.Frame) *population {
	if len(m.populations) > 3 {
		clear(m.populations)
	}
	if m.populations == nil {
		m.populations = map[*view.History]*population{}
	}
	c := m.populations[f.H]
	if c == nil || c.namespace != m.namespace || c.filter != f.Filter || !c.fold(f) {
		c = newPopulation(f, m.namespace)
		m.populations[f.H] = c
	}
	return c
}

// newPopulation makes a population of a state.
func newPopulation(f *pane.Frame, namespace string) *population {
	c := &population{
		namespace: namespace, filter: f.Filter, last: f.S.Last, there: map[string]bool{}, total: map[string]int{}, cells: map[string]cell{}, byNode: map[string][]cell{}, owners: map[owned]*tally{}, marks: map[rune]int{},
		users: map[string]map[string]bool{}, claimed: map[string][]string{}, volumesStale: true,
		load: map[string]*requested{}, asked: map[string]placed{}, nodes: map[string]*corev1.Node{}, records: map[string]*record{},
	}
	f.S.EachObject("pods", "", func(o *view.Object) bool { c.pod(f, o.Namespace(), o.Name()); return true })
	f.S.EachObject("nodes", "", func(o *view.Object) bool { c.node(f, o.Name()); return true })
	for _, n := range f.S.Nodes() {
		c.node(f, n.Name)
	}
	c.services(f)
	return c
}

// fold folds on to a later state by the events in between, and reports whether it could.
func (c *population) fold(f *pane.Frame) bool {
	if f.S.Last == c.last {
		return true
	}
	if f.H == nil {
		return false
	}
	stream := f.H.Stream()
	_, from, was := stream.At(c.last)
	_, to, is := stream.At(f.S.Last)
	if !was || !is || to < from || to-from > enough {
		return false
	}
	services := false
	for from++; from <= to; {
		events, next, _ := stream.Read(from, int(to-from+1))
		if len(events) == 0 {
			return false
		}
		for _, e := range events {
			touched, ok := c.take(f, e)
			if !ok {
				return false
			}
			services = services || touched
		}
		from = next
	}
	c.last = f.S.Last
	if services {
		c.services(f)
	}
	return true
}

// take takes in one event: what it has changed is looked up in the state. It reports whether the
// Services have to be looked at again, and false where all has to be made anew.
func (c *population) take(f *pane.Frame, e *trace.Event) (services, ok bool) {
	switch p := e.Payload.(type) {
	case *trace.Commit:
		for _, change := range p.Changes {
			switch at := change.Object; at.Kind {
			case "Pod":
				c.pod(f, at.Namespace, at.Name)
				services = services || c.lost
			case "Node":
				c.node(f, at.Name)
			case "Lease":
				if r := c.records[at.Name]; r != nil && at.Namespace == "kube-node-lease" {
					c.node(f, at.Name)
				}
			case "Service", "EndpointSlice":
				services = true
			case "PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment", "StorageClass":
				c.volumesStale = true
			default: // who owns a pod is known by those above it
				if workloads[at.Kind] && (change.Deleted || change.Version == 1) {
					return false, false
				}
			}
		}
	case *trace.StorageCall:
		c.volumesStale = true
	case *trace.NodeReport:
		c.node(f, p.Node)
	case *trace.Process:
		if _, node, of := strings.Cut(e.Lane.String(), "/"); of {
			c.node(f, node)
		}
	case *trace.Fault, *trace.Restore: // of anything; and of everything
		return false, false
	}
	return services, true
}

// workloads are the kinds above a pod.
var workloads = map[string]bool{"ReplicaSet": true, "Deployment": true, "StatefulSet": true, "DaemonSet": true, "Job": true, "CronJob": true, "ReplicationController": true}

// pod takes a pod in as it is in the state; away where it is not there.
func (c *population) pod(f *pane.Frame, namespace, name string) {
	key := namespace + "/" + name
	c.leave(key)
	o := f.S.Object("pods", namespace, name)
	if o == nil {
		return
	}
	c.there[key] = true
	c.total[namespace]++
	pod, ok := o.Value.(*corev1.Pod)
	if !ok {
		return
	}
	if names := view.ClaimNames(pod); len(names) > 0 {
		c.uses(namespace, name, names)
	}
	c.count(key, pod)
	if c.namespace != "" && c.namespace != namespace {
		return
	}
	x := cell{obj: o, pod: pod, mark: podmark.Of(pod), owner: podmark.Workload(f.S, o)}
	if !f.Match(o.Name(), o.Namespace(), x.owner, x.mark.Word, pod.Spec.NodeName) {
		return
	}
	x.letter = podmark.Letter(o.Namespace(), x.owner)
	if top := podmark.Top(f.S, o); top != o {
		x.of = top.Ref
	}
	c.cells[key] = x
	c.marks[x.mark.Glyph]++
	t := c.owners[x.owned()]
	if t == nil {
		t = &tally{}
		c.owners[x.owned()] = t
	}
	t.all++
	t.uses(pod, 1)
	if x.fine() {
		t.fine++
	}
	if pod.Spec.NodeName == "" {
		c.pending = inserted(c.pending, x)
		if at := pod.Status.NominatedNodeName; at != "" && pod.DeletionTimestamp == nil {
			ghost := x
			ghost.ghost, ghost.mark = true, podmark.Room
			c.byNode[at] = inserted(c.byNode[at], ghost)
			c.marks[ghost.mark.Glyph]++
		}
	} else {
		c.byNode[pod.Spec.NodeName] = inserted(c.byNode[pod.Spec.NodeName], x)
	}
}

func (x cell) owned() owned { return owned{x.letter, x.owner, x.of} }

// fine reports whether a pod is as it should be: ready, or completed.
func (x cell) fine() bool { return x.mark.Glyph == '●' || x.mark.Glyph == '✓' }

// leave takes a pod away.
func (c *population) leave(key string) {
	if c.there[key] {
		delete(c.there, key)
		namespace, name, _ := strings.Cut(key, "/")
		if len(c.claimed[key]) > 0 {
			c.uses(namespace, name, nil)
		}
		if c.total[namespace]--; c.total[namespace] == 0 {
			delete(c.total, namespace)
		}
	}
	if was, ok := c.asked[key]; ok {
		l := c.load[was.node]
		l.cpu, l.memory, l.pods = l.cpu-was.cpu, l.memory-was.memory, l.pods-1
		if l.pods == 0 {
			delete(c.load, was.node)
		}
		delete(c.asked, key)
	}
	x, ok := c.cells[key]
	if !ok {
		return
	}
	delete(c.cells, key)
	if c.marks[x.mark.Glyph]--; c.marks[x.mark.Glyph] == 0 {
		delete(c.marks, x.mark.Glyph)
	}
	t := c.owners[x.owned()]
	t.uses(x.pod, -1)
	if t.all--; x.fine() {
		t.fine--
	}
	if t.all == 0 {
		delete(c.owners, x.owned())
	}
	node := x.pod.Spec.NodeName
	if node == "" {
		c.pending = without(c.pending, x)
		if node = x.pod.Status.NominatedNodeName; node == "" || x.pod.DeletionTimestamp != nil {
			return
		}
		if c.marks[podmark.Room.Glyph]--; c.marks[podmark.Room.Glyph] == 0 {
			delete(c.marks, podmark.Room.Glyph)
		}
	}
	if c.byNode[node] = without(c.byNode[node], x); len(c.byNode[node]) == 0 {
		delete(c.byNode, node)
	}
}

// count adds what a pod asks for to its node.
func (c *population) count(key string, pod *corev1.Pod) {
	node := pod.Spec.NodeName
	if node == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	p := placed{node: node}
	for _, ct := range pod.Spec.Containers {
		p.cpu += ct.Resources.Requests.Cpu().MilliValue()
		p.memory += ct.Resources.Requests.Memory().Value()
	}
	l := c.load[node]
	if l == nil {
		l = &requested{}
		c.load[node] = l
	}
	l.cpu, l.memory, l.pods = l.cpu+p.cpu, l.memory+p.memory, l.pods+1
	c.asked[key] = p
}

// byKey orders pods as the state lists them.
func byKey(a, b cell) int {
	if n := strings.Compare(a.obj.Namespace(), b.obj.Namespace()); n != 0 {
		return n
	}
	return strings.Compare(a.obj.Name(), b.obj.Name())
}

// inserted are cells with one more, in a list of their own: the old one may be drawn still.
func inserted(all []cell, x cell) []cell {
	i, _ := slices.BinarySearchFunc(all, x, byKey)
	return slices.Insert(slices.Clip(all), i, x)
}

func without(all []cell, x cell) []cell {
	i, there := slices.BinarySearchFunc(all, x, byKey)
	if !there {
		return all
	}
	return append(slices.Clone(all[:i]), all[i+1:]...)
}

// node takes a node in as it is in the state; away where it is not there.
func (c *population) node(f *pane.Frame, name string) {
	o := f.S.Object("nodes", "", name)
	if o == nil && f.S.Node(name) == nil {
		if c.records[name] != nil {
			delete(c.records, name)
			delete(c.nodes, name)
			c.names = slices.DeleteFunc(slices.Clone(c.names), func(n string) bool { return n == name })
		}
		return
	}
	r := &record{lease: -1}
	delete(c.nodes, name)
	if o != nil {
		if n, ok := o.Value.(*corev1.Node); ok {
			c.nodes[name] = n
			r.cpu = n.Status.Allocatable.Cpu().MilliValue()
		}
	}
	if lease := f.S.Object("leases", "kube-node-lease", name); lease != nil {
		r.lease = lease.At
	}
	r.on, _, _, _ = nodeSubject(f, name)
	r.standing = standingOf(f.S, name)
	if c.records[name] == nil {
		i := sort.Search(len(c.names), func(i int) bool { return !natural(c.names[i], name) })
		c.names = slices.Insert(slices.Clip(c.names), i, name)
	}
	c.records[name] = r
}

// stands is how a node stands now: how long it has been silent goes on without any event.
func (c *population) stands(s *view.State, name string) standing {
	r := c.records[name]
	if r == nil {
		return standing{}
	}
	return r.standing.at(s, r.lease)
}

// shown is how many pods there are in a namespace; in all for "".
func (c *population) shown(namespace string) int {
	if namespace != "" {
		return c.total[namespace]
	}
	n := 0
	for _, k := range c.total {
		n += k
	}
	return n
}

// of is what a node's pods have asked for.
func (c *population) of(node string) requested {
	if l := c.load[node]; l != nil {
		return *l
	}
	return requested{}
}

// legend are the workloads of each letter: the first by name, and "…" where there are more.
func (c *population) legend() map[rune]string {
	all := map[rune]string{}
	more := map[rune]bool{}
	for o := range c.owners {
		have, ok := all[o.letter]
		more[o.letter] = ok
		if !ok || o.owner < have {
			all[o.letter] = o.owner
		}
	}
	for letter, yes := range more {
		if yes {
			all[letter] += ", …"
		}
	}
	return all
}

// tallies count the pods of each letter.
func (c *population) tallies() map[rune]tally {
	all := map[rune]tally{}
	for o, t := range c.owners {
		n := all[o.letter]
		all[o.letter] = tally{fine: n.fine + t.fine, all: n.all + t.all}
	}
	return all
}

// services looks at all Services anew.
func (c *population) services(f *pane.Frame) {
	c.svcs = services(f)
	c.lost = false
	for _, s := range c.svcs {
		c.lost = c.lost || s.lost
	}
}
