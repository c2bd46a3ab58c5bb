package view

import (
	"fmt"
	"slices"
	"time"

	"kviz/cluster/trace"
)

// StorageDisk is a disk of the storage driver, as its calls tell of it.
type StorageDisk struct {
	gen
	ID     string
	Volume string   // the PersistentVolume that it was made for
	Size   string   // as the last call that made it larger gave it
	Nodes  []string // that it is attached to
	Staged []string // nodes where it is mounted
	Pods   []string // "node namespace/name" of those that have it
	Calls  []StorageStep
}

// StorageStep is a call about a disk.
type StorageStep struct {
	*trace.StorageCall
	Event trace.ID
	At    time.Duration
}

func (d *StorageDisk) seal() {
	d.Nodes, d.Staged, d.Pods, d.Calls = slices.Clone(d.Nodes), slices.Clone(d.Staged), slices.Clone(d.Pods), slices.Clip(d.Calls)
}

// Storage is the storage driver as a whole.
type Storage struct {
	Calls  int // that were answered
	Failed int // of these, with an error
	Last   *trace.StorageCall
	Event  trace.ID // of that
}

// Disks lists the disks that there are, by id.
func (s *State) Disks() []*StorageDisk { return s.disks.values() }

// Disk is a disk by its id, or nil.
func (s *State) Disk(id string) *StorageDisk { d, _ := s.disks.get(id); return d }

// maxDiskCalls is how many calls are kept of a disk.
const maxDiskCalls = 32

func init() {
	on(trace.CSICall, storageCall)
	say(trace.CSICall, explainCSI)
}

func storageCall(b *Builder, e *trace.Event, p *trace.StorageCall) {
	s := &b.s.Storage
	s.Calls, s.Last, s.Event = s.Calls+1, p, e.ID
	if p.Error != "" {
		s.Failed++
	}
	if n := b.s.Node(p.Node); n != nil && p.Pod != "" && n.Pod(p.Pod) != nil {
		x := b.nodePod(e, p.Node, p.Pod)
		x.step(e, Step{What: p.Call, Detail: p.Volume, Error: p.Error, Took: p.Took})
	}
	id := p.Volume
	if p.Call == "CreateVolume" {
		id = p.Result
	}
	if id == "" {
		return
	}
	if p.Call == "DeleteVolume" && p.Error == "" {
		b.s.disks.delete(id)
		return
	}
	d := edit(b, b.s.disks, id)
	d.ID, d.Calls = id, recent(d.Calls, StorageStep{p, e.ID, e.At}, maxDiskCalls)
	if p.Error != "" {
		return
	}
	with := func(list []string, x string) []string {
		if slices.Contains(list, x) {
			return list
		}
		return append(list, x)
	}
	without := func(list []string, x string) []string {
		return slices.DeleteFunc(list, func(o string) bool { return o == x })
	}
	switch p.Call {
	case "CreateVolume":
		d.Volume, d.Size = p.Name, p.Arg
	case "ControllerExpandVolume":
		d.Size = p.Result
	case "ControllerPublishVolume":
		d.Nodes = with(d.Nodes, p.Node)
	case "ControllerUnpublishVolume":
		d.Nodes, d.Staged = without(d.Nodes, p.Node), without(d.Staged, p.Node)
	case "NodeStageVolume":
		d.Staged = with(d.Staged, p.Node)
	case "NodeUnstageVolume":
		d.Staged = without(d.Staged, p.Node)
	case "NodePublishVolume":
		d.Pods = with(d.Pods, p.Node+" "+p.Pod)
	case "NodeUnpublishVolume":
		d.Pods = without(d.Pods, p.Node+" "+p.Pod)
	}
}

// explainCSI tells of a call of the storage driver.
func explainCSI(_ *trace.Event, p *trace.StorageCall) string {
	volume := p.Volume
	if volume == "" {
		volume = orElse(p.Name, "a volume")
	}
	if p.Error != "" {
		where := ""
		if p.Node != "" {
			where = " on " + p.Node
		}
		return fmt.Sprintf("the storage driver failed: %s of %s%s: %s", p.Call, volume, where, p.Error)
	}
	switch p.Call {
	case "CreateVolume":
		return fmt.Sprintf("the storage driver made %s for volume %s%s", p.Result, p.Name, tail(": ", p.Arg))
	case "DeleteVolume":
		return fmt.Sprintf("the storage driver deleted %s and what was on it", p.Volume)
	case "ControllerPublishVolume":
		return fmt.Sprintf("the storage driver attached %s to %s", p.Volume, p.Node)
	case "ControllerUnpublishVolume":
		return fmt.Sprintf("the storage driver detached %s from %s", p.Volume, p.Node)
	case "ControllerExpandVolume":
		return fmt.Sprintf("the storage driver made %s larger: it has %s", p.Volume, p.Result)
	case "NodeStageVolume":
		return fmt.Sprintf("the storage driver on %s mounted %s for the pods of the node", p.Node, p.Volume)
	case "NodeUnstageVolume":
		return fmt.Sprintf("the storage driver on %s unmounted %s: no pod of the node has it any more", p.Node, p.Volume)
	case "NodePublishVolume":
		return fmt.Sprintf("the storage driver on %s gave %s to %s", p.Node, p.Volume, p.Pod)
	case "NodeUnpublishVolume":
		return fmt.Sprintf("the storage driver on %s took %s from %s", p.Node, p.Volume, p.Pod)
	case "NodeExpandVolume":
		return fmt.Sprintf("the storage driver on %s had the filesystem of %s take all of its disk: %s", p.Node, p.Volume, p.Result)
	}
	return fmt.Sprintf("the storage driver answered %s of %s", orElse(p.Call, "a call"), volume)
}
