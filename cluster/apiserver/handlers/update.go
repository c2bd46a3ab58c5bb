package handlers

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
	"kviz/cluster/apiserver/decode"
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
func (h *Handlers) update(c *Call) *request.Response {
	if c.Sub != nil && c.Sub.Name == "scale" {
		return h.updateScale(c)
	}
	var meant types.UID // whose update it is, by its body
	updated := updatedObject(func(old *etcd3.Stored) (decoded, error) { return h.patch(c, old) })
	if c.Req.Verb == "update" {
		obj, err := h.decode(c)
		if err != nil {
			return &request.Response{Err: err}
		}
		if err := c.matchName(object.Meta(obj.obj).GetName()); err != nil {
			return &request.Response{Err: c.Refuse(trace.StageDecode, "", err)}
		}
		updated, meant = h.replacement(c, obj), object.Meta(obj.obj).GetUID()
	} else {
		c.Pause(h.DecodeTime)
		if err := request.Offload(&c.Scope, "reading the patch", checkPatch, c.Req); err != nil {
			return &request.Response{Err: c.Refuse(trace.StageDecode, "", err)}
		}
	}
	c.Pause(h.AdmissionTime)
	var made written
	err := h.repeat(c, func(live bool) (err error) {
		c.inert = nil
		made, err = c.finish(h.updateOnce(c, updated, meant, live))
		return err
	})
	if missing := (*notThere)(nil); errors.As(err, &missing) {
		return h.createNamed(c, missing.in)
	}
	if err != nil {
		return &request.Response{Err: err}
	}
	h.noteInert(c, made.Object, made.Object)
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
func (h *Handlers) repeat(c *Call, once func(live bool) error) error {
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

func (c *Call) matchName(name string) error {
	if name == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", c.Req.Name))
	}
	if name != c.Req.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, c.Req.Name))
	}
	return nil
}

func (h *Handlers) updateOnce(c *Call, updated updatedObject, meant types.UID, live bool) (written, error) {
	old, err := h.Store.Current(&c.Scope, c.At(), live)
	if err != nil {
		if apierrors.IsNotFound(err) && h.mayCreate(c) {
			if err := h.checkIdentity(c, meant, "", nil); err != nil {
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
	if err := h.checkIdentity(c, meant, object.Meta(old.Object).GetUID(), old); err != nil {
		return written{}, err
	}
	in, err := updated(old)
	if err != nil {
		return written{}, err
	}
	if err := c.MatchNamespace(object.Meta(in.obj)); err != nil {
		return written{}, c.Refuse(trace.StageDecode, "", err)
	}
	owned, err := h.Fields.Track(&c.Scope, c.Req, c.Kind, in.obj, old.Object)
	if err != nil {
		return written{}, c.Refuse(trace.StageMutatingAdmission, "", err)
	}
	a := h.Attributes(c, admission.Update, owned, old)
	fit, err := h.mutate(c, a)
	if err != nil {
		return written{}, err
	}
	if err := h.checkRevision(c, fit, old); err != nil {
		return written{}, err
	}
	valid, err := h.validateUpdate(c, fit, old, c.Req.Subresource)
	if err != nil {
		return written{}, err
	}
	ready, err := h.admit(c, a, valid)
	if err != nil {
		return written{}, err
	}
	if shouldDeleteDuringUpdate(ready.obj, old.Object) {
		c.Pass(trace.StageStorage, "", "The last finalizer is gone and the object is being deleted: delete it now.", nil)
		if err := h.Store.Delete(&c.Scope, c.At(), old, c.writer()); err != nil {
			return written{}, err
		}
		h.free(c, old.Object)
		h.free(c, ready.obj)
		return written{Object: ready.obj}, nil
	}
	return h.replace(c, ready, old)
}

// checkIdentity refuses an update of another object than the one of that name: a
// precondition, before anything is made of the body (etcd3 store.go GuaranteedUpdate).
// A patch has none; one of the UID is invalid.
func (h *Handlers) checkIdentity(c *Call, meant, uid types.UID, old *etcd3.Stored) error {
	if meant == "" || meant == uid {
		return nil
	}
	if err := h.Store.UpToDate(&c.Scope, c.At(), old); err != nil {
		return err
	}
	return c.Refuse(trace.StageStorage, "", h.preconditionFailed(c, "UID", meant, uid))
}

// preconditionFailed is 409 in the words of storage.Preconditions Check. The key of
// a dry run is told without the store's own prefix (generic/registry/dryrun.go).
func (h *Handlers) preconditionFailed(c *Call, what string, want, is any) error {
	key := c.At().String()
	if c.Req.DryRun {
		key = strings.TrimPrefix(key, "/registry")
	}
	return apierrors.NewConflict(c.Kind.GroupResource(), c.Ref.Name, storage.NewInvalidObjError(key,
		fmt.Sprintf("Precondition failed: %s in precondition: %v, %[1]s in object meta: %[3]v", what, want, is)))
}

// replacement is the change to a body: the first round takes what was decoded, each
// further one decodes the body again.
func (h *Handlers) replacement(c *Call, body decoded) updatedObject {
	return func(*etcd3.Stored) (decoded, error) {
		if in := body; in.obj != nil {
			body.obj = nil
			return in, nil
		}
		read := request.Offload(&c.Scope, "decoding", decodeAgain, c.body())
		if read.Err != nil {
			return decoded{}, c.Refuse(trace.StageDecode, "", read.Err)
		}
		return decoded{read.Object}, nil
	}
}

// decodeAgain is the stage decode without a word: all was told the first time.
func decodeAgain(b decode.Body) decode.Read {
	read := decode.Object(b)
	if read.Err == nil {
		decode.Defaults(b.Of, read.Object)
	}
	return read
}

// checkRevision refuses an update that is based on an old state; one that
// names no revision is based on the newest. Mutating admission has seen the object
// by then, and may have changed the revision too (generic/registry/store.go Update).
func (h *Handlers) checkRevision(c *Call, in admitted, old *etcd3.Stored) error {
	m := object.Meta(in.obj)
	rv := m.GetResourceVersion()
	if rv == "" || rv == "0" {
		if c.Kind.Strategy.Conditional && c.Req.Verb == "update" {
			return c.Refuse(trace.StageStorage, "", apierrors.NewInvalid(schema.GroupKind{Group: c.Kind.Group, Kind: c.Kind.GroupVersionResource.Resource}, m.GetName(), // store.go Update
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
	if err := h.Store.UpToDate(&c.Scope, c.At(), old); err != nil {
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

func (h *Handlers) mayCreate(c *Call) bool {
	if c.Req.Subresource != "" {
		return false
	}
	if c.Req.PatchType == types.ApplyPatchType {
		return true
	}
	return c.Req.Verb == "update" && c.Kind.Strategy.CreateOnUpdate
}

// createNamed creates what an update or an apply found missing, whatever UID or
// revision it names (generic/registry/store.go Update); the answer to a dry run still
// has that revision.
func (h *Handlers) createNamed(c *Call, in decoded) *request.Response {
	m := object.Meta(in.obj)
	rv := m.GetResourceVersion()
	if _, err := strconv.ParseUint(rv, 10, 64); rv != "" && err != nil {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "", request.PlainError(err))}
	}
	m.SetUID("")
	m.SetResourceVersion("")
	r := h.createObject(c, in)
	if c.Req.DryRun && r.Err == nil {
		object.Meta(r.Object).SetResourceVersion(rv)
	}
	return r
}
