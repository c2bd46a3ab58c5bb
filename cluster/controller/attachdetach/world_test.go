package attachdetach_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/attachdetach"
	"kviz/cluster/controller/attachdetach/attachtest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// disks are the driver with its external-attacher: what is attached where.
type disks struct {
	c      client.Interface
	takes  time.Duration
	broken string // if set, why it attaches and detaches nothing
	at     map[string][]string
	most   int // to how many nodes a volume has been attached at a time
	// careless disks are attached to any number of nodes, careful ones refuse a second.
	careless bool
}

func newDisks(b *clienttest.Bench) *disks {
	d := &disks{c: b.Client(), takes: 800 * time.Millisecond, at: map[string][]string{}}
	return d
}

// run runs the attacher.
func (d *disks) run(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "csi-attacher"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	env := reconcile.NewEnv(p, "csi-attacher", "csi-attacher", b.Client(), f, 10)
	vas := f.For(client.VolumeAttachments)
	loop := reconcile.NewLoop(env, "va", client.VolumeAttachments, func(run *reconcile.Run) error { return d.sync(run.T, run.Name) })
	loop.SetBaseDelay(time.Second)
	add := func(t *sim.Task, obj runtime.Object) { loop.Add(t, informer.KeyOf(obj)) }
	vas.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { add(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { add(t, obj) },
	})
	loop.Start(vas)
	f.Start()
	return p
}

func (d *disks) sync(t *sim.Task, name string) error {
	va, err := client.Get[*storagev1.VolumeAttachment](t, d.c, client.VolumeAttachments, "", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	volume, node := *va.Spec.Source.PersistentVolumeName, va.Spec.NodeName
	fail := func(why string) error {
		said := &storagev1.VolumeError{Time: client.Now(t), Message: "rpc error: code = Internal desc = " + why}
		if va.DeletionTimestamp == nil {
			va.Status.AttachError = said
		} else {
			va.Status.DetachError = said
		}
		if _, err := client.UpdateStatus(t, d.c, client.VolumeAttachments, "", va); err != nil {
			return err
		}
		return fmt.Errorf("%s", why)
	}
	if va.DeletionTimestamp != nil {
		t.Sleep(d.takes)
		if d.broken != "" {
			return fail(d.broken)
		}
		d.at[volume] = slices.DeleteFunc(d.at[volume], func(n string) bool { return n == node })
		va.Finalizers = nil
		_, err := client.Update(t, d.c, client.VolumeAttachments, "", va)
		return err
	}
	if va.Status.Attached {
		return nil
	}
	if len(va.Finalizers) == 0 {
		va.Finalizers = []string{attachtest.Finalizer}
		if va, err = client.Update(t, d.c, client.VolumeAttachments, "", va); err != nil {
			return err
		}
	}
	t.Sleep(d.takes)
	if d.broken != "" {
		return fail(d.broken)
	}
	shared := volume[0] == 's'
	if others := slices.DeleteFunc(slices.Clone(d.at[volume]), func(n string) bool { return n == node }); len(others) > 0 && !shared && !d.careless {
		return fail("disk " + volume + " is attached to " + others[0])
	}
	if !slices.Contains(d.at[volume], node) {
		d.at[volume] = append(d.at[volume], node)
	}
	if !shared {
		d.most = max(d.most, len(d.at[volume]))
	}
	va.Status = storagev1.VolumeAttachmentStatus{Attached: true}
	_, err = client.UpdateStatus(t, d.c, client.VolumeAttachments, "", va)
	return err
}

// uses has a node say which volumes it has mounted.
func uses(t *sim.Task, c client.Interface, name string, volumes ...string) {
	changeNode(t, c, name, func(n *corev1.Node) {
		n.Status.VolumesInUse = nil
		for _, v := range volumes {
			n.Status.VolumesInUse = append(n.Status.VolumesInUse, attachtest.Unique(v))
		}
	})
}

func changeNode(t *sim.Task, c client.Interface, name string, fn func(*corev1.Node)) {
	for {
		n := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", name))
		fn(n)
		_, err := client.UpdateStatus(t, c, client.Nodes, "", n)
		if err == nil {
			return
		}
	}
}

func taint(t *sim.Task, c client.Interface, name string, taints ...corev1.Taint) {
	n := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", name))
	n.Spec.Taints, n.ResourceVersion = taints, ""
	clienttest.Must(client.Update(t, c, client.Nodes, "", n))
}

func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

// attachedTo is what the nodes and the VolumeAttachments say, in words.
func attachedTo(b *clienttest.Bench) (out []string) {
	for _, o := range b.Objects(client.Nodes) {
		n := o.(*corev1.Node)
		for _, v := range n.Status.VolumesAttached {
			out = append(out, fmt.Sprintf("%s says that it has %s", n.Name, v.Name))
		}
	}
	for _, o := range b.Objects(client.VolumeAttachments) {
		va := o.(*storagev1.VolumeAttachment)
		out = append(out, fmt.Sprintf("VolumeAttachment of %s to %s: attached %v", *va.Spec.Source.PersistentVolumeName, va.Spec.NodeName, va.Status.Attached))
	}
	slices.Sort(out)
	return out
}

// story is what the controller did, decided and waited for, and what there is in the end.
func story(b *clienttest.Bench) string {
	var out string
	last := map[string]string{} // what a key waited for
	for _, e := range b.Events {
		one := &clienttest.Bench{Events: []*trace.Event{e}}
		switch p := e.Payload.(type) {
		case *trace.Reconcile:
			if e.Kind == trace.ReconcileEnd && p.Controller == attachdetach.Name {
				if p.Waits != "" && p.Waits != last[p.Key] {
					out += fmt.Sprintf("%9.3fs  %-25s waits: %s\n", e.At.Seconds(), "", p.Waits)
				}
				if p.Error != "" {
					out += fmt.Sprintf("%9.3fs  %-25s error: %s\n", e.At.Seconds(), "", p.Error)
				}
				last[p.Key] = p.Waits
			}
			continue
		}
		out += one.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.CommandStart)
	}
	for _, line := range attachedTo(b) {
		out += line + "\n"
	}
	return out
}

// tell runs a story with two nodes, a claim data and the disks.
func tell(t *testing.T, golden string, main func(b *clienttest.Bench, t *sim.Task, d *disks, controller *sim.Process)) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		for _, name := range []string{"node-1", "node-2"} {
			clienttest.Must(client.Create(t, c, client.Nodes, "", attachtest.Node(name)))
		}
		d := newDisks(b)
		d.run(b)
		attachtest.Create(t, c, "data")
		p := attachtest.Start(b)
		t.Sleep(100 * time.Millisecond)
		main(b, t, d, p)
	})
	clienttest.Golden(t, golden, story(b))
}
