package apiserver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"

	"kviz/cluster/apiserver/admission"
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
	if c.req.Verb == "update" {
		obj, err := c.decode()
		if err != nil {
			return &Response{Err: err}
		}
		if err := c.matchName(object.Meta(obj).GetName()); err != nil {
			return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
		}
		c.body, c.meant = obj, object.Meta(obj).GetUID()
	} else {
		c.Pause(c.s.cfg.Cost.Decode)
		if err := c.readable(); err != nil {
			return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
		}
	}
	c.Pause(c.s.cfg.Cost.Admission)
	err := c.repeat(func() error { return c.updateOnce() })
	if err == errNotThere {
		return c.createNamed()
	}
	if err != nil {
		return &Response{Err: err}
	}
	return &Response{Object: c.result()}
}

// errNotThere says that the update is to create the object.
var errNotThere = errors.New("the object does not exist yet")

// repeat tries until nobody else is faster.
func (c *call) repeat(once func() error) error {
	for try := 1; ; try++ {
		err := once()
		if err != errStale {
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

func (c *call) updateOnce() error {
	if err := c.load(); err != nil {
		if apierrors.IsNotFound(err) && c.mayCreate() {
			if err := c.checkIdentity(""); err != nil {
				return err
			}
			return c.prepareCreate()
		}
		return c.Refuse(trace.StageStorage, "", err)
	}
	if err := c.checkIdentity(object.Meta(c.old).GetUID()); err != nil {
		return err
	}
	if err := c.change(); err != nil {
		return err
	}
	if err := c.place(object.Meta(c.obj)); err != nil {
		return c.Refuse(trace.StageDecode, "", err)
	}
	if err := c.trackManager(admission.Update); err != nil {
		return c.Refuse(trace.StageMutatingAdmission, "", err)
	}
	if err := c.mutate(admission.Update); err != nil {
		return err
	}
	if err := c.checkRevision(); err != nil {
		return err
	}
	if err := c.validateUpdate(); err != nil {
		return err
	}
	if err := c.admit(admission.Update); err != nil {
		return err
	}
	if c.finished() {
		c.Pass(trace.StageStorage, "", "The last finalizer is gone and the object is being deleted: delete it now.", nil)
		if err := c.remove(); err != nil {
			return err
		}
		c.release()
		return nil
	}
	return c.replace()
}

// checkIdentity refuses an update of another object than the one of that name: a
// precondition, before anything is made of the body (etcd3 store.go GuaranteedUpdate).
// A patch has none; one of the UID is invalid.
func (c *call) checkIdentity(uid types.UID) error {
	if c.meant == "" || c.meant == uid {
		return nil
	}
	if err := c.upToDate(); err != nil {
		return err
	}
	return c.Refuse(trace.StageStorage, "", c.preconditionFailed("UID", c.meant, uid))
}

// preconditionFailed is 409 in the words of storage.Preconditions Check. The key of
// a dry run is told without the store's own prefix (generic/registry/dryrun.go).
func (c *call) preconditionFailed(what string, want, is any) error {
	key := c.storeKey()
	if c.req.DryRun {
		key = strings.TrimPrefix(key, "/registry")
	}
	return apierrors.NewConflict(c.kind.GroupResource(), c.Ref.Name, storage.NewInvalidObjError(key,
		fmt.Sprintf("Precondition failed: %s in precondition: %v, %[1]s in object meta: %[3]v", what, want, is)))
}

// upToDate looks whether the object, where it comes from the watch cache, is still
// the newest, before somebody is refused because of it; if not, the update begins
// anew.
func (c *call) upToDate() error {
	if !c.cached {
		return nil
	}
	en, err := c.read(keyOf(c.kind, c.Ref.Namespace, c.Ref.Name), nil)
	switch {
	case err != nil:
		return c.Refuse(trace.StageStorage, "", err)
	case en == nil:
		return c.Refuse(trace.StageStorage, "", apierrors.NewNotFound(c.kind.GroupResource(), c.Ref.Name))
	case en.Revision != c.oldRev:
		c.live = true
		return errStale
	}
	return nil
}

// change makes the new object from the old one and the request.
func (c *call) change() error {
	if c.req.Verb == "update" {
		return c.useBody()
	}
	obj, err := c.applyPatch(c.old)
	if err != nil {
		return c.Refuse(trace.StageDecode, "", err)
	}
	c.fillDefaults(obj)
	c.obj = obj
	var diff []trace.FieldDiff
	if !c.req.System {
		diff = object.Diff(c.old, obj)
	}
	c.Pass(trace.StageDecode, "", "Applied the "+patchName(c.req.PatchType)+" to the object as of revision "+object.FormatRevision(c.oldRev)+"."+c.prunedNote(), diff)
	return c.matchName(object.Meta(obj).GetName())
}

// useBody takes the decoded body, and decodes it again for another round.
func (c *call) useBody() error {
	c.obj, c.body = c.body, nil
	if c.obj != nil {
		return nil
	}
	obj, err := c.readBody(c.bodyKind())
	if err != nil {
		return c.Refuse(trace.StageDecode, "", err)
	}
	c.fillDefaults(obj)
	c.obj = obj
	return nil
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
func (c *call) checkRevision() error {
	m := object.Meta(c.obj)
	rv := m.GetResourceVersion()
	if rv == "" || rv == "0" {
		if c.kind.Strategy.Conditional && c.req.Verb == "update" {
			return c.Refuse(trace.StageStorage, "", apierrors.NewInvalid(schema.GroupKind{Group: c.kind.Group, Kind: c.kind.GroupVersionResource.Resource}, m.GetName(), // store.go Update
				field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")}))
		}
		m.SetResourceVersion(object.Meta(c.old).GetResourceVersion())
		return nil
	}
	if rv == object.Meta(c.old).GetResourceVersion() {
		return nil
	}
	if _, err := strconv.ParseUint(rv, 10, 64); err != nil { // generic/registry/store.go Update
		return c.Refuse(trace.StageStorage, "", request.PlainError(err))
	}
	if err := c.upToDate(); err != nil {
		return err
	}
	c.Refused = trace.StageStorage
	err := c.conflict()
	c.Tell(&trace.Stage{
		Request: c.Number, Stage: trace.StageStorage, Verdict: "refuse", Code: 409,
		Note: "The client changed the object as of revision " + rv + ", but it is at revision " + object.Meta(c.old).GetResourceVersion() + " now: " + request.StatusOf(err).Message,
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

// prepareCreate turns the update of what does not exist into its creation.
func (c *call) prepareCreate() error {
	if c.req.Verb == "update" {
		if err := c.useBody(); err != nil {
			return err
		}
	} else {
		obj, err := c.applyPatch(nil)
		if err != nil {
			return c.Refuse(trace.StageDecode, "", err)
		}
		c.fillDefaults(obj)
		if uid := object.Meta(obj).GetUID(); uid != "" { // handlers/patch.go applyPatch
			return c.Refuse(trace.StageDecode, "", apierrors.NewConflict(c.kind.GroupResource(), c.Ref.Name,
				fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid)))
		}
		if err := c.matchName(object.Meta(obj).GetName()); err != nil {
			return c.Refuse(trace.StageDecode, "", err)
		}
		c.Pass(trace.StageDecode, "", "There is no such object yet: apply creates it.", nil)
		c.obj = obj
	}
	return errNotThere
}

// createNamed creates what an update or an apply found missing, whatever UID or
// revision it names (generic/registry/store.go Update); the answer to a dry run still
// has that revision.
func (c *call) createNamed() *Response {
	m := object.Meta(c.obj)
	rv := m.GetResourceVersion()
	if _, err := strconv.ParseUint(rv, 10, 64); rv != "" && err != nil {
		return &Response{Err: c.Refuse(trace.StageStorage, "", request.PlainError(err))}
	}
	m.SetUID("")
	m.SetResourceVersion("")
	r := c.createObject(c.obj)
	if c.req.DryRun && r.Err == nil {
		object.Meta(r.Object).SetResourceVersion(rv)
	}
	return r
}
