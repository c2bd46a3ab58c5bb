package handlers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"kviz/cluster/apiserver/decode"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/fieldmanager"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/patch"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// patching is one application of the request's patch, with its result. It may be
// offloaded, so it contains neither what the server makes once for all requests nor the
// clock.
type patching struct {
	req     *request.Request
	of      decode.Of
	kind    *registry.Kind              // of the object, or of the one that its subresource has
	manager *managedfields.FieldManager // of the kind; nil if the patch is no apply
	fill    bool                        // with defaults
	old     runtime.Object              // nil of an apply that creates

	obj      runtime.Object
	err      error
	warnings []string
	pruned   []string
}

// ReadCustom is [patch.Objects].
func (p *patching) ReadCustom(kind *registry.Kind, doc []byte) (runtime.Object, error) {
	read := decode.Patched(decode.Body{Of: p.of, GVK: kind.GVK(), Data: doc, Validation: p.req.FieldValidation})
	p.pruned = read.Pruned
	p.warnings = append(p.warnings, read.Warnings...)
	return read.Object, read.Err
}

// ServerSideApply is [patch.Objects].
func (p *patching) ServerSideApply(kind *registry.Kind, old runtime.Object) (runtime.Object, []string, error) {
	return fieldmanager.Apply(p.manager, p.req, kind, old)
}

func (p *patching) patch() *patch.Patch {
	r := p.req
	return &patch.Patch{
		Kind: p.kind, Name: r.Name, Subresource: r.Subresource, Type: r.PatchType, Data: r.Patch, Validation: r.FieldValidation, System: r.System, Objects: p,
	}
}

func applied(_ context.Context, p *patching) *patching {
	var warnings []string
	p.obj, warnings, p.err = p.patch().Apply(p.old)
	p.warnings = append(p.warnings, warnings...)
	if p.err == nil && p.fill {
		decode.Defaults(p.of, p.obj)
	}
	return p
}

// checkPatch says what is wrong with a patch itself.
func checkPatch(req *request.Request) error { return (&patching{req: req}).patch().Check() }

// applyPatch makes the new object of the request's patch, of the kind, or of the one that its
// subresource has, and fills in defaults if it is to.
func (h *Handlers) applyPatch(c *Call, kind *registry.Kind, old runtime.Object, fill bool) (*patching, error) {
	p := &patching{req: c.Req, of: c.of(), kind: kind, fill: fill, old: old}
	if c.Req.PatchType == types.ApplyPatchType {
		var err error
		if p.manager, err = h.Fields.Of(&c.Scope, kind, c.Req.Subresource); err != nil {
			return p, err
		}
	}
	dear := p.manager != nil && c.Bulk.OfFields() || c.Req.PatchType == types.StrategicMergePatchType && c.Bulk.OfPairs()
	p = request.OffloadDear(&c.Scope, dear, "the patch", applied, p)
	c.Warnings = append(c.Warnings, p.warnings...)
	if p.err == nil && p.manager != nil {
		fieldmanager.Stamp(c.Now(), c.Req.FieldManager, old, p.obj)
	}
	return p, p.err
}

// patch is the change that a patch makes.
func (h *Handlers) patch(c *Call, old *etcd3.Stored) (decoded, error) {
	if old == nil {
		return h.patchNothing(c)
	}
	p, err := h.applyPatch(c, c.Kind, old.Object, true)
	if err != nil {
		return decoded{}, c.Refuse(trace.StageDecode, "", err)
	}
	diff := c.difference(old.Object, p.obj)
	c.Pass(trace.StageDecode, "", "Applied the "+patchName(c.Req.PatchType)+" to the object as of revision "+object.FormatRevision(old.Revision)+"."+prunedNote(p.pruned), diff)
	return decoded{p.obj}, c.matchName(object.Meta(p.obj).GetName())
}

// patchNothing is an apply that creates.
func (h *Handlers) patchNothing(c *Call) (decoded, error) {
	p, err := h.applyPatch(c, c.Kind, nil, true)
	if err != nil {
		return decoded{}, c.Refuse(trace.StageDecode, "", err)
	}
	if uid := object.Meta(p.obj).GetUID(); uid != "" { // handlers/patch.go applyPatch
		return decoded{}, c.Refuse(trace.StageDecode, "", apierrors.NewConflict(c.Kind.GroupResource(), c.Ref.Name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid)))
	}
	if err := c.matchName(object.Meta(p.obj).GetName()); err != nil {
		return decoded{}, c.Refuse(trace.StageDecode, "", err)
	}
	c.Pass(trace.StageDecode, "", "There is no such object yet: apply creates it.", nil)
	return decoded{p.obj}, nil
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
