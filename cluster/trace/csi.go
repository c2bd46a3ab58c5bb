package trace

import (
	"strings"
	"time"
)

// CSICall is a call of the storage driver.
var CSICall = define[StorageCall]("csi.call", GrainStage,
	"The storage driver was called: its controller side by a sidecar (make, attach, grow a disk), its node side by a kubelet (stage, publish a volume).",
	"The order: CreateVolume, ControllerPublishVolume, NodeStageVolume, NodePublishVolume, and back.",
	"container-storage-interface csi.proto; pkg/volume/csi csi_client.go; kubernetes-csi/external-provisioner, -attacher, -resizer")

// StorageCall is one CSI call having returned.
type StorageCall struct {
	Driver string // disk.csi.kviz.dev
	Call   string // CreateVolume, ControllerPublishVolume, NodeStageVolume …
	Volume string `json:",omitempty"` // the disk's id, once it has one
	Name   string `json:",omitempty"` // the PersistentVolume's name, where the caller knows it
	Node   string `json:",omitempty"`
	Pod    string `json:",omitempty"` // namespace/name, of NodePublishVolume and NodeUnpublishVolume
	Arg    string `json:",omitempty"` // capacity, target path …
	Result string `json:",omitempty"` // id, device …
	Error  string `json:",omitempty"`
	Took   time.Duration
}

// StorageNodeCall reports whether a CSI call is one of a driver's node service, which a kubelet
// calls on its own node.
func StorageNodeCall(call string) bool { return strings.HasPrefix(call, "Node") }
