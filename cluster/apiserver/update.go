package apiserver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// updateTries is how often an update that does not insist on a revision is
// tried again when another writer was faster.
const updateTries = 32

// update is the verbs update and patch: read, change, pass the stages, and
// write if nobody else has written meanwhile; else again (etcd3 store.go
// GuaranteedUpdate).
func (c *call) update() *Response {
	if c.sub != nil && c.sub.Name == "scale" {
		return c.updateScale()
	}
	var meant types.UID // whose update it is, by its body
	updated := updatedObject(c.patch)
	if c.req.Verb == "update" {
		obj, err := c.decode()
		if err != nil {
			return &Response{Err: err}
		}
		if err := c.matchName(object.Meta(obj.obj).GetName()); err != nil {
			return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
		}
		updated, meant = c.replacement(obj), object.Meta(obj.obj).GetUID()
	} else {
		c.Pause(c.s.cfg.Cost.Decode)
		var err error
		if c.aside("reading the patch", func() { err = c.patchOf(c.kind).Check() }); err != nil {
			return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
		}
	}
	c.Pause(c.s.cfg.Cost.Admission)
	var made written
	err := c.repeat(func(live bool) (err error) {
		made, err = c.updateOnce(updated, meant, live)
		return err
	})
	if missing := (*notThere)(nil); errors.As(err, &missing) {
		return c.createNamed(missing.in)
	}
	if err != nil {
		return &Response{Err: err}
	}
	return c.answer(made)
}

// updatedObject makes the new object from the one that is stored; of nil, where there is
// none, it makes the one that is to be created (rest.UpdatedObjectInfo).
type updatedObject func(old *etcd3.Stored) (decoded, error)

// notThere says that the update is to create the object.
type notThere struct{ in decoded }

// Error is error.
func (*notThere) Error() string { return "the object does not exist yet" }

// repeat tries until nobody else is faster. live says that the watch cache is behind.
func (c *call) repeat(once func(live bool) error) error {
	for try := 1; ; try++ {
		err := once(try > 1)
		if err != etcd3.ErrStale {
			return err
		}
		if try == updateTries {
			return c.Refuse(trace.StageStorage, "", c.conflict())
		}
		c.Refused = ""
	}
}

func (c *call) matchName(name string) error {
	if name == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", c.req.Name))
	}
	if name != c.req.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, c.req.Name))
	}
	return nil
}

func (c *call) updateOnce(updated updatedObject, meant types.UID, live bool) (written, error) {
	old, err := c.s.store.Current(&c.Scope, c.at(), live)
	if err != nil {
		if apierrors.IsNotFound(err) && c.mayCreate() {
			if err := c.checkIdentity(meant, "", nil); err != nil {
				return written{}, err
			}
			in, err := updated(nil)
			if err != nil {
				return written{}, err
			}
			return written{}, &notThere{in}
		}
		return written{}, c.Refuse(trace.StageStorage, "", err)
	}
	if err := c.checkIdentity(meant, object.Meta(old.Object).GetUID(), old); err != nil {
		return written{}, err
	}
	in, err := updated(old)
	if err != nil {
		return written{}, err
	}
	if err := c.matchNamespace(object.Meta(in.obj)); err != nil {
		return written{}, c.Refuse(trace.StageDecode, "", err)
	}
	owned, err := c.trackManager(c.kind, in.obj, old.Object)
	if err != nil {
		return written{}, c.Refuse(trace.StageMutatingAdmission, "", err)
	}
	a := c.admissionAttributes(admission.Update, owned, old)
	fit, err := c.mutate(a)
	if err != nil {
		return written{}, err
	}
	if err := c.checkRevision(fit, old); err != nil {
		return written{}, err
	}
	valid, err := c.validateUpdate(fit, old, c.req.Subresource)
	if err != nil {
		return written{}, err
	}
	ready, err := c.admit(a, valid)
	if err != nil {
		return written{}, err
	}
	if shouldDeleteDuringUpdate(ready.obj, old.Object) {
		c.Pass(trace.StageStorage, "", "The last finalizer is gone and the object is being deleted: delete it now.", nil)
		if err := c.s.store.Delete(&c.Scope, c.at(), old, c.writer()); err != nil {
			return written{}, err
		}
		c.release(ready.obj, old.Object)
		return written{Object: ready.obj}, nil
	}
	return c.replace(ready, old)
}

// checkIdentity refuses an update of another object than the one of that name: a
// precondition, before anything is made of the body (etcd3 store.go GuaranteedUpdate).
// A patch has none; one of the UID is invalid.
func (c *call) checkIdentity(meant, uid types.UID, old *etcd3.Stored) error {
	if meant == "" || meant == uid {
		return nil
	}
	if err := c.s.store.UpToDate(&c.Scope, c.at(), old); err != nil {
		return err
	}
	return c.Refuse(trace.StageStorage, "", c.preconditionFailed("UID", meant, uid))
}

// preconditionFailed is 409 in the words of storage.Preconditions Check. The key of
// a dry run is told without the store's own prefix (generic/registry/dryrun.go).
func (c *call) preconditionFailed(what string, want, is any) error {
	key := c.at().String()
	if c.req.DryRun {
		key = strings.TrimPrefix(key, "/registry")
	}
	return apierrors.NewConflict(c.kind.GroupResource(), c.Ref.Name, storage.NewInvalidObjError(key,
		fmt.Sprintf("Precondition failed: %s in precondition: %v, %[1]s in object meta: %[3]v", what, want, is)))
}

// patch is the change that a patch makes.
func (c *call) patch(old *etcd3.Stored) (decoded, error) {
	if old == nil {
		return c.patchNothing()
	}
	obj, err := c.patched(old.Object)
	if err != nil {
		return decoded{}, c.Refuse(trace.StageDecode, "", err)
	}
	diff := c.difference(old.Object, obj)
	c.Pass(trace.StageDecode, "", "Applied the "+patchName(c.req.PatchType)+" to the object as of revision "+object.FormatRevision(old.Revision)+"."+c.prunedNote(), diff)
	return decoded{obj}, c.matchName(object.Meta(obj).GetName())
}

// patched applies the patch to the object, and fills in defaults.
func (c *call) patched(old runtime.Object) (runtime.Object, error) {
	return c.applyPatch(c.kind, old, c.fillDefaults)
}

// patchNothing is an apply that creates.
func (c *call) patchNothing() (decoded, error) {
	obj, err := c.patched(nil)
	if err != nil {
		return decoded{}, c.Refuse(trace.StageDecode, "", err)
	}
	if uid := object.Meta(obj).GetUID(); uid != "" { // handlers/patch.go applyPatch
		return decoded{}, c.Refuse(trace.StageDecode, "", apierrors.NewConflict(c.kind.GroupResource(), c.Ref.Name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid)))
	}
	if err := c.matchName(object.Meta(obj).GetName()); err != nil {
		return decoded{}, c.Refuse(trace.StageDecode, "", err)
	}
	c.Pass(trace.StageDecode, "", "There is no such object yet: apply creates it.", nil)
	return decoded{obj}, nil
}

// replacement is the change to a body: the first round takes what was decoded, each
// further one decodes the body again.
func (c *call) replacement(body decoded) updatedObject {
	return func(*etcd3.Stored) (decoded, error) {
		if in := body; in.obj != nil {
			body.obj = nil
			return in, nil
		}
		var obj runtime.Object
		var err error
		c.aside("decoding", func() {
			if obj, err = c.readBody(c.bodyKind()); err == nil {
				c.fillDefaults(obj)
			}
		})
		if err != nil {
			return decoded{}, c.Refuse(trace.StageDecode, "", err)
		}
		return decoded{obj}, nil
	}
}

func patchName(pt types.PatchType) string {
	switch pt {
	case types.JSONPatchType:
		return "JSON patch"
	case types.MergePatchType:
		return "merge patch"
	case types.StrategicMergePatchType:
		return "strategic merge patch"
	}
	return "apply configuration"
}

// checkRevision refuses an update that is based on an old state; one that
// names no revision is based on the newest. Mutating admission has seen the object
// by then, and may have changed the revision too (generic/registry/store.go Update).
func (c *call) checkRevision(in admitted, old *etcd3.Stored) error {
	m := object.Meta(in.obj)
	rv := m.GetResourceVersion()
	if rv == "" || rv == "0" {
		if c.kind.Strategy.Conditional && c.req.Verb == "update" {
			return c.Refuse(trace.StageStorage, "", apierrors.NewInvalid(schema.GroupKind{Group: c.kind.Group, Kind: c.kind.GroupVersionResource.Resource}, m.GetName(), // store.go Update
				field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")}))
		}
		m.SetResourceVersion(object.Meta(old.Object).GetResourceVersion())
		return nil
	}
	if rv == object.Meta(old.Object).GetResourceVersion() {
		return nil
	}
	if _, err := strconv.ParseUint(rv, 10, 64); err != nil { // generic/registry/store.go Update
		return c.Refuse(trace.StageStorage, "", request.PlainError(err))
	}
	if err := c.s.store.UpToDate(&c.Scope, c.at(), old); err != nil {
		return err
	}
	c.Refused = trace.StageStorage
	err := c.conflict()
	c.Tell(&trace.Stage{
		Request: c.Number, Stage: trace.StageStorage, Verdict: "refuse", Code: 409,
		Note: "The client changed the object as of revision " + rv + ", but it is at revision " + object.Meta(old.Object).GetResourceVersion() + " now: " + request.StatusOf(err).Message,
	})
	return err
}

func (c *call) mayCreate() bool {
	if c.req.Subresource != "" {
		return false
	}
	if c.req.PatchType == types.ApplyPatchType {
		return true
	}
	return c.req.Verb == "update" && c.kind.Strategy.CreateOnUpdate
}

// createNamed creates what an update or an apply found missing, whatever UID or
// revision it names (generic/registry/store.go Update); the answer to a dry run still
// has that revision.
func (c *call) createNamed(in decoded) *Response {
	m := object.Meta(in.obj)
	rv := m.GetResourceVersion()
	if _, err := strconv.ParseUint(rv, 10, 64); rv != "" && err != nil {
		return &Response{Err: c.Refuse(trace.StageStorage, "", request.PlainError(err))}
	}
	m.SetUID("")
	m.SetResourceVersion("")
	r := c.createObject(in)
	if c.req.DryRun && r.Err == nil {
		object.Meta(r.Object).SetResourceVersion(rv)
	}
	return r
}
