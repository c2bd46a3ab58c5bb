package view

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
)

const (
	maxHistory    = 32
	maxGone       = 128
	maxKubeEvents = 256
	maxAbout      = 16
)

func init() {
	on(trace.EventRecorded, eventRecorded)
}

// resource is [ResourceOf] a kind, remembered.
func (b *Builder) resource(kind string) string {
	r, ok := b.resources[kind]
	if !ok {
		r = ResourceOf(kind)
		b.resources[kind] = r
	}
	return r
}

func (b *Builder) changeObject(e *trace.Event, revision int64, c *trace.KeyChange) {
	s := b.s
	resource := b.resource(c.Object.Kind)
	key := objectKey(resource, c.Object.Namespace, c.Object.Name)
	if c.Deleted {
		b.deleteObject(e, revision, key)
		return
	}
	o := edit(b, s.objects, key)
	change := Change{Event: e.ID, At: e.At, Revision: revision, Type: "MODIFIED"}
	if o.Resource == "" || c.CreateRevision != 0 && c.CreateRevision != o.CreateRevision {
		b.unlink(o, key)
		*o = Object{gen: o.gen, Created: e.ID, CreateRevision: revision}
		change.Type = "ADDED"
	}
	old := o.Value
	o.Resource, o.Ref, o.Revision, o.Changed, o.At = resource, c.Object, revision, e.ID, e.At
	o.Version, o.Size = c.Version, c.Size
	if c.CreateRevision != 0 {
		o.CreateRevision = c.CreateRevision
	}
	if c.Value != nil {
		o.Value = c.Value.Value
	}
	change.Value = o.Value
	o.history = recent(o.history, change, maxHistory)
	if o.Value != nil {
		b.link(e, o, key, old == nil)
	}
	if node, ok := o.Value.(*corev1.Node); ok {
		b.nodeWritten(node)
	}
}

// link enters the object in the indexes by UID and by owner.
func (b *Builder) link(e *trace.Event, o *Object, key string, fresh bool) {
	m, err := meta.Accessor(o.Value)
	if err != nil {
		return
	}
	if uid := string(m.GetUID()); uid != "" && (fresh || uid != o.UID) {
		o.UID = uid
		b.s.uids.set(uid, key)
	}
	refs := m.GetOwnerReferences()
	stage := StageOf(o.Value)
	if sameOwners(o.owners, refs) {
		b.restage(e, o, key, stage)
		return
	}
	b.disown(o, key)
	o.owners, o.stage = refs, stage
	for _, r := range refs {
		b.s.owned.set(string(r.UID)+"\x00"+key, key)
	}
	b.join(o, key)
}

func sameOwners(a, b []metav1.OwnerReference) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].UID != b[i].UID {
			return false
		}
	}
	return true
}

func (b *Builder) disown(o *Object, key string) {
	for _, r := range o.owners {
		b.s.owned.delete(string(r.UID) + "\x00" + key)
	}
	b.part(o, key)
	o.owners = nil
}

func (b *Builder) unlink(o *Object, key string) {
	b.disown(o, key)
	if o.UID != "" {
		b.s.uids.delete(o.UID)
	}
}

func (b *Builder) deleteObject(e *trace.Event, revision int64, key string) {
	s := b.s
	old, ok := s.objects.delete(key)
	if !ok {
		return
	}
	o := *old
	o.seal()
	o.n = b.gen
	if o.stage == Ready {
		b.lost(e, &o, There)
	}
	b.unlink(&o, key)
	b.forget(o.UID)
	o.Deleted, o.Revision, o.Changed, o.At = true, revision, e.ID, e.At
	o.history = recent(o.history, Change{Event: e.ID, At: e.At, Revision: revision, Type: "DELETED", Value: o.Value}, maxHistory)
	s.gone.set(s.Events, &o)
	s.gone.trim(maxGone)
	s.about.delete(aboutKey(o.Ref))
	if o.Ref.Kind == autoscaler {
		s.autoscalers.delete(o.Ref.Key())
	}
}

func eventRecorded(b *Builder, e *trace.Event, p *trace.KubeEvent) {
	s := b.s
	k := KubeEvent{p, e.ID, e.At}
	s.kubeEvents = recent(s.kubeEvents, k, maxKubeEvents)
	if s.ObjectOf(p.Regarding) == nil {
		return // its list would never be let go
	}
	about := edit(b, s.about, aboutKey(p.Regarding))
	// A repeated event counts up; it is one line, as in kubectl describe, whatever was recorded in between.
	repeats := func(l KubeEvent) bool {
		return l.Type == p.Type && l.Reason == p.Reason && l.Message == p.Message && l.From == p.From
	}
	if i := slices.IndexFunc(about.list, repeats); i >= 0 {
		about.list = slices.Delete(slices.Clone(about.list), i, i+1) // earlier states have the list as it was
	}
	about.list = recent(about.list, k, maxAbout)
}
