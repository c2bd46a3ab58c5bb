package csi

import (
	"slices"
	"strings"
	"time"

	"kviz/cluster/folder"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Node is the driver's node service on one machine. What is mounted there outlasts the
// kubelet, but not the machine's power.
type Node struct {
	s      *Service
	name   string
	staged map[string]bool
	mounts []Mount // in the order in which they were published
	grown  func(id string)
}

// Mount is a volume that a pod has.
type Mount struct {
	Volume string // id
	PodUID string
	Pod    string // namespace/name
	Name   string // of the volume in the pod
}

// Node is the service on the machine of a name.
func (s *Service) Node(name string) *Node {
	n := s.nodes[name]
	if n == nil {
		n = &Node{s: s, name: name, staged: map[string]bool{}}
		s.nodes[name] = n
	}
	return n
}

// Staged are the volumes that are mounted on the node, sorted.
func (n *Node) Staged() []string {
	var ids []string
	for id := range n.staged {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Mounts are what the pods of the node have.
func (n *Node) Mounts() []Mount { return slices.Clone(n.mounts) }

// OnGrown sets the function that is called when a disk that is staged has become larger: the
// kubelet's. A new kubelet replaces the old one.
func (n *Node) OnGrown(fn func(id string)) { n.grown = fn }

// PowerOff is the machine losing its power: nothing is mounted when it comes back.
func (n *Node) PowerOff() {
	clear(n.staged)
	n.mounts = nil
}

// torn forgets what is mounted of a disk that was taken away. The mounts are still to be
// unmounted.
func (n *Node) torn(id string) { delete(n.staged, id) }

func podRef(key string) trace.Ref {
	namespace, name, _ := strings.Cut(key, "/")
	return trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name}
}

// NodeStageVolume mounts a disk that is attached, for all pods of the node. name is its
// PersistentVolume, pod the one for which it is done.
func (n *Node) NodeStageVolume(t *sim.Task, id, name, pod string, timeout time.Duration) error {
	e := trace.StorageCall{Call: "NodeStageVolume", Volume: id, Name: name, Node: n.name, Arg: "/var/lib/kubelet/plugins/" + PluginName + "/" + Name + "/" + id + "/globalmount"}
	return n.s.call(t, podRef(pod), e, timeout, func() (string, error) {
		d, err := n.s.find(id)
		if err != nil {
			return "", err
		}
		if !slices.Contains(d.attached, n.name) {
			return "", fail("NotFound", "there is no device of %s: it is not attached to node %s", id, n.name)
		}
		n.staged[id] = true
		return "", nil
	})
}

// NodePublishVolume gives a volume that is staged to a pod: the files on it.
func (n *Node) NodePublishVolume(t *sim.Task, m Mount, timeout time.Duration) (files *folder.Folder, err error) {
	e := trace.StorageCall{Call: "NodePublishVolume", Volume: m.Volume, Node: n.name, Pod: m.Pod, Arg: target(m)}
	err = n.s.call(t, podRef(m.Pod), e, timeout, func() (string, error) {
		d, err := n.s.find(m.Volume)
		switch {
		case err != nil:
			return "", err
		case !n.staged[m.Volume]:
			return "", fail("FailedPrecondition", "%s is not staged on node %s", m.Volume, n.name)
		}
		if !slices.Contains(n.mounts, m) {
			n.mounts = append(n.mounts, m)
		}
		files = d.files
		return "", nil
	})
	return files, err
}

func target(m Mount) string {
	return "/var/lib/kubelet/pods/" + m.PodUID + "/volumes/kubernetes.io~csi/" + m.Name + "/mount"
}

// Files are those of a volume that a pod of the node has; nil if it has none.
func (n *Node) Files(m Mount) *folder.Folder {
	if d := n.s.disks[m.Volume]; d != nil && n.staged[m.Volume] && slices.Contains(n.mounts, m) {
		return d.files
	}
	return nil
}

// NodeUnpublishVolume takes a volume from a pod.
func (n *Node) NodeUnpublishVolume(t *sim.Task, m Mount, timeout time.Duration) error {
	e := trace.StorageCall{Call: "NodeUnpublishVolume", Volume: m.Volume, Node: n.name, Pod: m.Pod, Arg: target(m)}
	return n.s.call(t, podRef(m.Pod), e, timeout, func() (string, error) {
		n.mounts = slices.DeleteFunc(n.mounts, func(o Mount) bool { return o == m })
		return "", nil
	})
}

// NodeUnstageVolume unmounts a disk from the node. pod is the last that had it.
func (n *Node) NodeUnstageVolume(t *sim.Task, id, pod string, timeout time.Duration) error {
	e := trace.StorageCall{Call: "NodeUnstageVolume", Volume: id, Node: n.name}
	return n.s.call(t, podRef(pod), e, timeout, func() (string, error) {
		if slices.ContainsFunc(n.mounts, func(m Mount) bool { return m.Volume == id }) {
			return "", fail("FailedPrecondition", "%s is still published to a pod of node %s", id, n.name)
		}
		delete(n.staged, id)
		return "", nil
	})
}

// NodeExpandVolume has the filesystem of a staged volume take all of its disk.
func (n *Node) NodeExpandVolume(t *sim.Task, id, pod string, timeout time.Duration) (capacity int64, err error) {
	err = n.s.call(t, podRef(pod), trace.StorageCall{Call: "NodeExpandVolume", Volume: id, Node: n.name}, timeout, func() (string, error) {
		d, err := n.s.find(id)
		switch {
		case err != nil:
			return "", err
		case !n.staged[id]:
			return "", fail("FailedPrecondition", "%s is not staged on node %s", id, n.name)
		}
		d.files.SetLimit(d.capacity)
		capacity = d.capacity
		return bytes(capacity), nil
	})
	return capacity, err
}
