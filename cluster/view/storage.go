package view

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// StorageDisk is a disk of the storage driver, as its calls tell of it; also one that could not be made, and one that is
// deleted.
type StorageDisk struct {
	gen
	ID     string    // "" as long as none could be made
	Volume string    // the PersistentVolume that it was, or is to be, made for
	For    trace.Ref // the claim that it was, or is to be, made for
	Gone   bool      // the driver has deleted it
	Size   string    // as the last call that made it larger gave it
	Nodes  []string  // that it is attached to
	Staged []string  // nodes where it is mounted
	Pods   []string  // "node namespace/name" of those that have it
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
func (s *State) Disks() []*StorageDisk {
	return slices.DeleteFunc(s.disks.values(), func(d *StorageDisk) bool { return d.Gone })
}

// Disk is a disk by its id, also one of the last that were deleted, or nil.
func (s *State) Disk(id string) *StorageDisk { d, _ := s.disks.get(id); return d }

// Unmade are the claims for which the driver was asked for a disk and has made none, by the name that the volume would
// have.
func (s *State) Unmade() []*StorageDisk { return s.unmade.values() }

// DiskOf is the disk behind a volume or a claim, or what was tried to make one; nil where the driver was not asked.
func (s *State) DiskOf(o *Object) *StorageDisk {
	if o == nil {
		return nil
	}
	name := ""
	switch v := o.Value.(type) {
	case *corev1.PersistentVolume:
		if v.Spec.CSI != nil {
			return s.Disk(v.Spec.CSI.VolumeHandle)
		}
	case *corev1.PersistentVolumeClaim:
		if name = v.Spec.VolumeName; name == "" {
			name = "pvc-" + string(v.UID) // external-provisioner's name of the volume
		}
		if d, ok := s.unmade.get(name); ok {
			return d
		}
		var of *StorageDisk
		s.disks.all(func(_ string, d *StorageDisk) bool {
			if d.Volume == name {
				of = d
			}
			return of == nil
		})
		return of
	}
	return nil
}

const (
	maxDiskCalls = 32      // of a disk
	maxGoneDisks = maxGone // that are kept of those that were deleted
	maxUnmade    = 64      // claims for which no disk could be made
)

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
	pod := p.Pod
	if pod == "" && trace.StorageNodeCall(p.Call) && e.Object.Kind == "Pod" { // staging is for all pods of the node; it is done for one
		pod = e.Object.Key()
	}
	if n := b.s.Node(p.Node); n != nil && pod != "" && n.Pod(pod) != nil {
		x := b.nodePod(e, p.Node, pod)
		x.step(e, Step{What: p.Call, Detail: p.Volume, Error: p.Error, Took: p.Took})
	}
	id := p.Volume
	if p.Call == "CreateVolume" {
		if id = p.Result; p.Error != "" {
			b.notMade(e, p)
			return
		}
	}
	if id == "" {
		return
	}
	d := edit(b, b.s.disks, id)
	d.ID = id
	if was, ok := b.s.unmade.get(p.Name); ok && p.Call == "CreateVolume" {
		d.Calls = slices.Clone(was.Calls)
		b.s.unmade.delete(p.Name)
	}
	d.Calls = recent(d.Calls, StorageStep{p, e.ID, e.At}, maxDiskCalls)
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
		d.Volume, d.Size, d.For, d.Gone = p.Name, p.Arg, e.Object, false
	case "DeleteVolume":
		d.Gone = true
		b.s.goneDisks.set(b.s.Events, id)
		b.forgetDisks()
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

// notMade keeps a call that could not make a disk.
func (b *Builder) notMade(e *trace.Event, p *trace.StorageCall) {
	if p.Name == "" {
		return
	}
	if b.s.unmade.len() >= maxUnmade {
		if _, there := b.s.unmade.get(p.Name); !there {
			var oldest *StorageDisk
			b.s.unmade.all(func(_ string, d *StorageDisk) bool {
				if oldest == nil || d.Calls[len(d.Calls)-1].At < oldest.Calls[len(oldest.Calls)-1].At {
					oldest = d
				}
				return true
			})
			b.s.unmade.delete(oldest.Volume)
		}
	}
	d := edit(b, b.s.unmade, p.Name)
	d.Volume, d.For, d.Calls = p.Name, e.Object, recent(d.Calls, StorageStep{p, e.ID, e.At}, maxDiskCalls)
}

// forgetDisks forgets those that were deleted first, where too many are kept.
func (b *Builder) forgetDisks() {
	for b.s.goneDisks.len() > maxGoneDisks {
		oldest := b.s.goneDisks.keys()[0]
		id, _ := b.s.goneDisks.delete(oldest)
		if d, ok := b.s.disks.get(id); ok && d.Gone {
			b.s.disks.delete(id)
		}
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
