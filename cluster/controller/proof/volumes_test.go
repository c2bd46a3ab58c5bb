package proof

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Volumes and attachments are the cluster's. A volume is the story's whose namespace its name begins with, or whose claim it
// has; an attachment is the story's that has the node.

// at is the text at a path of an object.
func at(o *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

// volumeOf is the namespace of the story that has a volume.
func volumeOf(o *unstructured.Unstructured) string {
	if ns, _, ok := strings.Cut(o.GetName(), "-"); ok && ns != "pvc" {
		return ns
	}
	return at(o, "spec", "claimRef", "namespace")
}

// allVolumes are a story's volumes.
func (s *side) allVolumes(ns string) (found []*unstructured.Unstructured) {
	for _, item := range s.caches["persistentvolumes"].GetStore().List() {
		if o, ok := item.(*unstructured.Unstructured); ok && volumeOf(o) == ns {
			found = append(found, o)
		}
	}
	return found
}

// volumes is a line for each volume, each attachment, and for what the nodes' statuses say is attached.
func (s *side) volumes(ns string, nodes []string) (lines []string) {
	for _, o := range s.allVolumes(ns) {
		o = o.DeepCopy()
		if strings.HasPrefix(o.GetName(), "pvc-") {
			unstructured.RemoveNestedField(o.Object, "spec", "csi", "volumeHandle") // the service's number
		}
		lines = append(lines, s.line(o))
	}
	for _, item := range s.caches["volumeattachments"].GetStore().List() {
		o, ok := item.(*unstructured.Unstructured)
		if !ok || !slices.Contains(nodes, at(o, "spec", "nodeName")) {
			continue
		}
		o = o.DeepCopy()
		o.SetName("csi-#") // a hash of the volume's handle and the node
		lines = append(lines, s.line(o))
	}
	n := 0
	for _, name := range nodes {
		node := s.node(name)
		if node == nil {
			continue
		}
		attached, _, _ := unstructured.NestedSlice(node.Object, "status", "volumesAttached")
		n += len(attached)
	}
	return append(lines, fmt.Sprintf("Nodes: %d volumes attached", n))
}

// eventsOfVolumes are the Events about volumes that a story has made, which are in the namespace default.
func (s *side) eventsOfVolumes(ns string) (found []*unstructured.Unstructured) {
	for _, e := range s.all("events", "default") {
		if at(e, "involvedObject", "kind") == "PersistentVolume" && strings.HasPrefix(at(e, "involvedObject", "name"), ns+"-") {
			found = append(found, e)
		}
	}
	return found
}
