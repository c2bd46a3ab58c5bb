package attachdetach

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// reports are what each node's status.volumesAttached is to say, for which the kubelet waits
// before it mounts (statusupdater.NodeStatusUpdater).
type reports map[string]*report

// report is a node's. It may differ from what is attached: a volume is taken out before the
// detach begins, and comes in when an attach has succeeded.
type report struct {
	volumes map[name]bool
	needed  bool // the status is to be written
	// said is what the status says, if that is sure.
	said []name
	sure bool
}

// add puts a volume in (AddVolumeToReportAsAttached).
func (r reports) add(volume name, node string) {
	if r[node] == nil {
		r[node] = &report{volumes: map[name]bool{}}
	}
	if !r[node].volumes[volume] {
		r[node].volumes[volume], r[node].needed = true, true
	}
}

// remove takes a volume out (RemoveVolumeFromReportAsAttached).
func (r reports) remove(volume name, node string) {
	if of := r[node]; of != nil && of.volumes[volume] {
		delete(of.volumes, volume)
		of.needed = true
	}
}

// again has the status written of a node that has come back, and reports whether there is
// anything to say (SetNodeStatusUpdateNeeded).
func (r reports) again(node string) bool {
	of := r[node]
	if of == nil || len(of.volumes) == 0 {
		return false
	}
	of.needed, of.sure = true, false
	return true
}

// write writes a node's status, if that is needed (UpdateNodeStatusForNode).
func (c *Controller) write(run *reconcile.Run, node, because string) error {
	r := c.reports[node]
	if r == nil || !r.needed {
		return nil
	}
	r.needed = false
	if _, there := c.nodes.Get(node); !there {
		if len(r.volumes) == 0 {
			delete(c.reports, node)
		}
		return nil // until it is
	}
	volumes := slices.Sorted(maps.Keys(r.volumes))
	if r.sure && slices.Equal(volumes, r.said) {
		return nil
	}
	run.Act("patch", client.Nodes.Ref("", node), len(volumes), len(r.said), "%s: have its status.volumesAttached say so (%s)", because, count(len(volumes)))
	r.sure = false
	_, err := c.Client.Patch(run.T, client.Nodes, "", node, types.StrategicMergePatchType, statusPatch(volumes), "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		r.needed = true
		return fmt.Errorf("write status.volumesAttached of node %s: %w", node, err)
	}
	r.said, r.sure = volumes, true
	if len(r.volumes) == 0 && !r.needed {
		delete(c.reports, node)
	}
	return nil
}

// writeAll writes the statuses that need it (UpdateNodeStatuses).
func (c *Controller) writeAll(run *reconcile.Run) (first error) {
	var nodes []string
	for node, r := range c.reports {
		if r.needed {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	for _, node := range nodes {
		because := fmt.Sprintf("volume %s is attached to node %s", c.called(name(run.Key)), node)
		if !c.reports[node].volumes[name(run.Key)] {
			because = "what is attached to node " + node + " has changed"
		}
		if err := c.write(run, node, because); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func statusPatch(volumes []name) []byte {
	list := make([]corev1.AttachedVolume, len(volumes)) // none is [], so that it replaces what was there
	for i, v := range volumes {
		list[i].Name = corev1.UniqueVolumeName(v)
	}
	b, err := json.Marshal(map[string]any{"status": map[string]any{"volumesAttached": list}})
	if err != nil {
		panic("attachdetach: a list of volumes does not marshal: " + err.Error())
	}
	return b
}

func count(volumes int) string {
	if volumes == 1 {
		return "1 volume"
	}
	return fmt.Sprintf("%d volumes", volumes)
}
