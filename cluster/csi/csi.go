// Package csi is the storage driver disk.csi.kviz.dev: a disk service of the whole cluster, as
// a cloud has one, behind the calls of the Container Storage Interface.
//
// A driver has two sides. Its controller service makes disks, attaches them to nodes and makes
// them larger; the sidecars csi-provisioner, csi-attacher and csi-resizer (packages
// provisioner, attacher, resizer) call it because of what they see in the API. Its node service
// runs on every node; the kubelet there calls it to mount a disk that is attached (stage, once
// a node) and to give it to a pod (publish, for each pod). So the way of a volume is
//
//	CreateVolume → ControllerPublishVolume → NodeStageVolume → NodePublishVolume
//
// and back in the reverse order. Every call may be repeated: one that finds its work done
// answers as if it had done it. A disk is attached to one node at a time, unless it is read
// only; it outlives pods and nodes, and so do the files on it.
//
// Each call takes modelled time and is an event csi.call in the driver's lane. Faults of the
// driver (a call that fails, slowness, a service that is full or down) show as errors of these
// calls and in no other way.
//
// Simplified: a disk's bytes are kept in memory, 16 MiB of each and 256 MiB of all; there are no
// snapshots, clones, topology, block devices or secrets. Start reading at controller.go
// ([Service.CreateVolume]), then node.go.
package csi

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"kviz/cluster/folder"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simulated,
	What: "the disks of the storage driver disk.csi.kviz.dev are kept in memory, 16 MiB of each and 256 MiB of all, whatever size they have; they outlive pods and nodes, not the process",
	Seen: "kubectl exec: \"No space left on device\"; after a start on an old data directory the disks are there and empty",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Absent,
	What: "snapshots, clones, topology, block devices and secrets of the storage driver",
})

// Name is the driver's name.
const Name = "disk.csi.kviz.dev"

// AttachLimit is how many disks a node can have (NodeGetInfo max_volumes_per_node).
const AttachLimit = 24

// What the service can hold.
const (
	maxDisks = 10_000
	maxSize  = 64 << 40 // of a disk
	allBytes = 256 << 20
)

// PluginName is what the kubelet's CSI plugin is called (pkg/volume/csi CSIPluginName).
const PluginName = "kubernetes.io/csi"

// UniqueName is what Node.status.volumesInUse and volumesAttached call a volume of a driver
// (pkg/volume/csi csi_plugin.go GetVolumeName).
func UniqueName(driver, handle string) string { return PluginName + "/" + driver + "^" + handle }

// AttachmentName is the name of the VolumeAttachment of a volume to a node
// (pkg/volume/csi csi_attacher.go getAttachmentName).
func AttachmentName(driver, handle, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+node)))
}

// Error is an error as gRPC prints it.
type Error struct {
	Code string // InvalidArgument, NotFound, AlreadyExists, FailedPrecondition, ResourceExhausted, OutOfRange, Aborted, Internal, Unavailable, DeadlineExceeded
	Desc string
}

// Error is gRPC's text.
func (e *Error) Error() string { return "rpc error: code = " + e.Code + " desc = " + e.Desc }

func fail(code, format string, args ...any) error { return &Error{code, fmt.Sprintf(format, args...)} }

// Volume is a disk as its caller knows it.
type Volume struct {
	ID       string
	Capacity int64 // bytes
}

// disk is one disk.
type disk struct {
	id, name string
	capacity int64
	attached []string // nodes, more than one only if read only
	readOnly bool     // as it is attached
	files    *folder.Folder
}

// Service is the disk service and the driver before it.
type Service struct {
	k    *sim.Kernel
	p    *sim.Process
	rand *rand.Rand
	pool *folder.Pool

	disks  map[string]*disk // by id
	byName map[string]*disk
	made   int
	nodes  map[string]*Node
	busy   map[string]bool // what is being done, by call, volume and node
	late   map[string]bool // what was done when its caller did not wait any longer, likewise

	// old says that there may be disks from before this process, which are found again empty.
	old bool

	failing []string // calls
	slow    sim.Delay
	full    bool
	down    bool
}

// New makes the service. old says that the cluster may know disks from before this process.
func New(k *sim.Kernel, old bool) *Service {
	return &Service{
		k: k, p: k.NewProcess(trace.Lane{Component: trace.CompCSI}), rand: k.Rand(trace.CompCSI), pool: folder.NewPool(allBytes), old: old,
		disks: map[string]*disk{}, byName: map[string]*disk{}, nodes: map[string]*Node{}, busy: map[string]bool{}, late: map[string]bool{},
	}
}

// The calls, by the short names that faults use.
var calls = []struct{ short, call string }{
	{"create", "CreateVolume"},
	{"delete", "DeleteVolume"},
	{"attach", "ControllerPublishVolume"},
	{"detach", "ControllerUnpublishVolume"},
	{"expand", "ControllerExpandVolume"},
	{"stage", "NodeStageVolume"},
	{"publish", "NodePublishVolume"},
	{"unpublish", "NodeUnpublishVolume"},
	{"unstage", "NodeUnstageVolume"},
	{"node-expand", "NodeExpandVolume"},
}

// Calls are the short names of the calls.
func Calls() []string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.short
	}
	return names
}

// Fail has every further call of a short name answer with an error.
func (s *Service) Fail(short string) {
	for _, c := range calls {
		if c.short == short && !slices.Contains(s.failing, c.call) {
			s.failing = append(s.failing, c.call)
		}
	}
}

// Heal ends what Fail began, of all calls.
func (s *Service) Heal() { s.failing = nil }

// Slow has each call take so much longer; 0 is as it was.
func (s *Service) Slow(d time.Duration) { s.slow.Set(d) }

// SetFull says whether there is no room for a further disk, or a larger one.
func (s *Service) SetFull(yes bool) { s.full = yes }

// SetDown says whether the driver answers nobody.
func (s *Service) SetDown(yes bool) { s.down = yes }

// took is about how long each call takes.
var took = map[string]time.Duration{
	"CreateVolume": 1100 * time.Millisecond, "DeleteVolume": 800 * time.Millisecond,
	"ControllerPublishVolume": 1500 * time.Millisecond, "ControllerUnpublishVolume": 1200 * time.Millisecond,
	"ControllerExpandVolume": 900 * time.Millisecond,
	"NodeStageVolume":        400 * time.Millisecond, "NodePublishVolume": 60 * time.Millisecond,
	"NodeUnpublishVolume": 40 * time.Millisecond, "NodeUnstageVolume": 90 * time.Millisecond,
	"NodeExpandVolume": 150 * time.Millisecond,
}

// refusal is how long a call takes that is refused at once.
const refusal = 5 * time.Millisecond

// operation is a call that is being carried out. It is the driver's, and goes on when who has
// called does not wait any longer.
type operation struct {
	over bool
	left bool // nobody waits for it
	err  error
	end  trace.ID
	done sim.Cond
}

// call is one CSI call: do is its work, at the end of its time, and gives the result's text.
// What the caller does next follows from the answer: the call becomes the task's cause.
func (s *Service) call(t *sim.Task, about trace.Ref, e trace.StorageCall, timeout time.Duration, do func() (string, error)) error {
	e.Driver = Name
	lane := s.p.Lane
	if trace.StorageNodeCall(e.Call) {
		lane.Instance = e.Node
	}
	began := t.Elapsed()
	emit := func(by *sim.Task, err error) trace.ID {
		told := e
		if err != nil {
			told.Result, told.Error = "", err.Error()
		}
		told.Took = by.Elapsed() - began
		return by.Emit(trace.Event{Kind: trace.CSICall, Lane: lane, Object: about, Payload: &told})
	}
	key := e.Call + " " + e.Volume + e.Name + " " + e.Node
	if trace.StorageNodeCall(e.Call) {
		key += " " + e.Pod
	}
	var err error
	switch {
	case s.down:
		err = unavailable()
	case s.busy[key]:
		err = fail("Aborted", "an operation with the given Volume ID %s already exists", e.Volume+e.Name)
	case slices.Contains(s.failing, e.Call):
		err = fail("Internal", "the disk service failed: %s does not work", e.Call)
	}
	if err != nil {
		t.Sleep(refusal)
		t.SetCauses(emit(t, err))
		return err
	}
	if s.late[key] { // it is done, and only has to be said
		delete(s.late, key)
		t.Sleep(refusal)
		e.Result, err = do()
		t.SetCauses(emit(t, err))
		return err
	}
	op := &operation{}
	s.busy[key] = true
	takes := time.Duration(float64(took[e.Call]) * (0.7 + 0.6*s.rand.Float64()))
	causes := slices.Clone(t.Causes())
	s.p.Go(e.Call, func(by *sim.Task) {
		by.SetCauses(causes...)
		by.Sleep(takes)
		s.slow.Pass(by)
		delete(s.busy, key)
		if op.err = unavailable(); !s.down {
			e.Result, op.err = do()
		}
		op.end, op.over = emit(by, op.err), true
		if op.left && op.err == nil {
			s.late[key] = true
		}
		op.done.Broadcast()
	})
	for !op.over {
		left := timeout - (t.Elapsed() - began)
		if left <= 0 || !op.done.WaitTimeout(t, left) && !op.over {
			op.left = true
			err = fail("DeadlineExceeded", "context deadline exceeded")
			t.SetCauses(emit(t, err))
			return err
		}
	}
	t.SetCauses(op.end)
	return op.err
}

func unavailable() error {
	return fail("Unavailable", `connection error: desc = "transport: Error while dialing: dial unix /csi/csi.sock: connect: connection refused"`)
}

// find is a disk, or an error that there is none.
func (s *Service) find(id string) (*disk, error) {
	if d := s.disks[id]; d != nil {
		return d, nil
	}
	if s.old && id != "" {
		return s.add(id, "", folder.Most), nil
	}
	return nil, fail("NotFound", "there is no %s", id)
}

func (s *Service) add(id, name string, capacity int64) *disk {
	d := &disk{id: id, name: name, capacity: capacity, files: folder.In(s.pool)}
	d.files.SetLimit(capacity)
	s.disks[id] = d
	if name != "" {
		s.byName[name] = d
	}
	return d
}

// newID is the id of a new disk.
func (s *Service) newID() string {
	s.made++
	if s.old { // numbers may have been given already
		return fmt.Sprintf("disk-%08x", s.rand.Uint32())
	}
	return "disk-" + strconv.Itoa(s.made)
}

// Info is a disk as it is, for those who look.
type Info struct {
	ID, Name string
	Capacity int64
	Nodes    []string // that it is attached to
	Files    int
}

// Disks are all disks, by id.
func (s *Service) Disks() []Info {
	var all []Info
	for _, d := range s.disks {
		all = append(all, Info{d.id, d.name, d.capacity, slices.Clone(d.attached), d.files.Len()})
	}
	slices.SortFunc(all, func(a, b Info) int {
		if len(a.ID) != len(b.ID) {
			return len(a.ID) - len(b.ID)
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return all
}
