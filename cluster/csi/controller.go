package csi

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The access modes, as CSI calls them (csi.proto VolumeCapability.AccessMode).
const (
	SingleWriter      = "SINGLE_NODE_WRITER"
	SingleNodeSingle  = "SINGLE_NODE_SINGLE_WRITER"
	MultiReader       = "MULTI_NODE_READER_ONLY"
	MultiMultiWriters = "MULTI_NODE_MULTI_WRITER"
)

const mebibyte = 1 << 20

// CreateRequest is what CreateVolume is asked for.
type CreateRequest struct {
	Name     string // the same name is the same volume
	Required int64  // bytes; 0 is what the driver likes
	Modes    []string
	Block    bool // a device, no filesystem
}

// usualSize is that of a disk for which none is asked.
const usualSize = 1 << 30

// CreateVolume makes a disk. about is the object for which it is made.
func (s *Service) CreateVolume(t *sim.Task, about trace.Ref, r CreateRequest, timeout time.Duration) (v Volume, err error) {
	size := r.Required
	if size == 0 {
		size = usualSize
	}
	size = (size + mebibyte - 1) / mebibyte * mebibyte
	err = s.call(t, about, trace.StorageCall{Call: "CreateVolume", Name: r.Name, Arg: bytes(size) + " " + strings.Join(r.Modes, ", ")}, timeout, func() (string, error) {
		if d := s.byName[r.Name]; d != nil {
			if d.capacity < size {
				return "", fail("AlreadyExists", "%s of the name %s has %s, and %s are asked for", d.id, r.Name, bytes(d.capacity), bytes(size))
			}
			v = Volume{d.id, d.capacity}
			return d.id, nil
		}
		switch {
		case r.Name == "":
			return "", fail("InvalidArgument", "name is missing")
		case r.Block:
			return "", fail("InvalidArgument", "block devices are not supported")
		case slices.Contains(r.Modes, MultiMultiWriters):
			return "", fail("InvalidArgument", "a disk is attached to one node at a time: access mode %s is not supported", MultiMultiWriters)
		case size > maxSize || size < 0:
			return "", fail("OutOfRange", "a disk has at most %s", bytes(maxSize))
		case s.full:
			return "", fail("ResourceExhausted", "the disk service has no room for %s", bytes(size))
		case len(s.disks) >= maxDisks:
			return "", fail("ResourceExhausted", "the disk service has %d disks, and no more are possible", maxDisks)
		}
		d := s.add(s.newID(), r.Name, size)
		v = Volume{d.id, d.capacity}
		return d.id, nil
	})
	return v, err
}

// DeleteVolume deletes a disk and what is on it.
func (s *Service) DeleteVolume(t *sim.Task, about trace.Ref, id string, timeout time.Duration) error {
	return s.call(t, about, trace.StorageCall{Call: "DeleteVolume", Volume: id}, timeout, func() (string, error) {
		d := s.disks[id]
		if d == nil {
			return "", nil
		}
		if len(d.attached) > 0 {
			return "", fail("FailedPrecondition", "%s is still attached to node %s", id, d.attached[0])
		}
		d.files.Clear()
		delete(s.disks, id)
		delete(s.byName, d.name)
		return "", nil
	})
}

// ControllerPublishVolume attaches a disk to a node, and gives its device there.
func (s *Service) ControllerPublishVolume(t *sim.Task, about trace.Ref, id, node string, readOnly bool, timeout time.Duration) (device string, err error) {
	err = s.call(t, about, trace.StorageCall{Call: "ControllerPublishVolume", Volume: id, Node: node}, timeout, func() (string, error) {
		d, err := s.find(id)
		if err != nil {
			return "", err
		}
		at := "/dev/disk/by-id/kviz-" + id
		switch {
		case slices.Contains(d.attached, node):
			if d.readOnly != readOnly {
				return "", fail("AlreadyExists", "%s is attached to node %s in another way", id, node)
			}
		case len(d.attached) > 0 && !(readOnly && d.readOnly):
			return "", fail("FailedPrecondition", "%s is already attached to node %s, and can be at one node only", id, d.attached[0])
		case s.attachedTo(node) >= AttachLimit:
			return "", fail("ResourceExhausted", "node %s has %d disks, and no more are possible", node, AttachLimit)
		default:
			d.attached, d.readOnly = append(d.attached, node), readOnly
		}
		device = at
		return at, nil
	})
	return device, err
}

func (s *Service) attachedTo(node string) (n int) {
	for _, d := range s.disks {
		if slices.Contains(d.attached, node) {
			n++
		}
	}
	return n
}

// ControllerUnpublishVolume detaches a disk from a node. Whoever has it mounted there still
// finds an I/O error.
func (s *Service) ControllerUnpublishVolume(t *sim.Task, about trace.Ref, id, node string, timeout time.Duration) error {
	return s.call(t, about, trace.StorageCall{Call: "ControllerUnpublishVolume", Volume: id, Node: node}, timeout, func() (string, error) {
		d := s.disks[id]
		if d == nil || !slices.Contains(d.attached, node) {
			return "", nil
		}
		d.attached = slices.DeleteFunc(d.attached, func(n string) bool { return n == node })
		if n := s.nodes[node]; n != nil && n.staged[id] {
			n.torn(id)
			if len(d.attached) == 0 { // nobody else reads the same files
				d.files = d.files.Part()
			}
		}
		return "", nil
	})
}

// ControllerExpandVolume makes a disk larger. The filesystem on it grows on the node.
func (s *Service) ControllerExpandVolume(t *sim.Task, about trace.Ref, id string, required int64, timeout time.Duration) (capacity int64, nodeExpansion bool, err error) {
	size := (required + mebibyte - 1) / mebibyte * mebibyte
	err = s.call(t, about, trace.StorageCall{Call: "ControllerExpandVolume", Volume: id, Arg: bytes(size)}, timeout, func() (string, error) {
		d, err := s.find(id)
		if err != nil {
			return "", err
		}
		switch {
		case size > maxSize || size < 0:
			return "", fail("OutOfRange", "a disk has at most %s", bytes(maxSize))
		case size > d.capacity && s.full:
			return "", fail("ResourceExhausted", "the disk service has no room for %s more", bytes(size-d.capacity))
		}
		d.capacity = max(d.capacity, size)
		for _, name := range d.attached {
			if n := s.nodes[name]; n != nil && n.staged[id] && n.grown != nil {
				n.grown(id)
			}
		}
		capacity = d.capacity
		return bytes(capacity), nil
	})
	return capacity, true, err
}

// bytes is a size as people write it.
func bytes(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprint(n)
}
