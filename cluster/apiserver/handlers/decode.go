package handlers

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/decode"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// BodyKind is the kind that a request's body should be of.
func (c *Call) BodyKind() schema.GroupVersionKind {
	if c.Sub != nil {
		return c.Sub.GVK
	}
	return c.Kind.GVK()
}

// of is what the request's body is for.
func (c *Call) of() decode.Of {
	return decode.Of{Kind: c.Kind, Subresource: c.Req.Subresource, Component: c.Req.System, Now: c.Now().Time}
}

// custom reports whether the request's body is an object of a custom kind (that
// of its subresource scale is not).
func (c *Call) custom() bool { return c.Kind.Custom != nil && (c.Sub == nil || c.Sub.Name == "status") }

// body is the request's.
func (c *Call) body() decode.Body {
	return decode.Body{
		Of: c.of(), GVK: c.BodyKind(), Custom: c.custom(), Validation: c.Req.FieldValidation,
		Object: c.Req.Object, Data: c.Req.Body, ContentType: c.Req.ContentType,
	}
}

// decode is the stage that turns the body into an object and fills in
// defaults (apiserver pkg/endpoints/handlers/create.go).
func (h *Handlers) decode(c *Call) (decoded, error) {
	obj, err := h.Decode(c)
	return decoded{obj}, err
}

// Decode is the stage for a kind that is not stored.
func (h *Handlers) Decode(c *Call) (runtime.Object, error) {
	waited := c.settle()
	c.Pause(h.DecodeTime)
	read := request.Offload(&c.Scope, "decoding", decode.Object, c.body())
	c.Warnings = append(c.Warnings, read.Warnings...)
	if read.Err != nil {
		return nil, c.Refuse(trace.StageDecode, "", read.Err)
	}
	note := waited + "Read the " + c.BodyKind().Kind
	did := defaulted{}
	if c.Req.System && !c.custom() {
		decode.Defaults(c.of(), read.Object)
		note += " and filled in its defaults."
	} else {
		did = request.Offload(&c.Scope, "the defaults", fillIn, filling{c.of(), read.Object, read.Raw})
		note = c.toldDefaults(note, did.filled)
	}
	c.Pass(trace.StageDecode, "", note+prunedNote(read.Pruned), did.diff)
	c.NoteBody(c.Req, c.Kind, read.Object)
	return read.Object, nil
}

// filling is an object to be filled with defaults; raw is what it was before it was pruned.
type filling struct {
	of       decode.Of
	obj, raw runtime.Object
}

// defaulted is how many fields that were, and what changed since the body.
type defaulted struct {
	filled int
	diff   []trace.FieldDiff
}

func fillIn(f filling) (did defaulted) {
	read := f.obj.DeepCopyObject()
	decode.Defaults(f.of, f.obj)
	did.diff = object.Diff(read, f.obj)
	did.filled = len(did.diff)
	if f.raw != nil {
		did.diff = object.Diff(f.raw, f.obj)
	}
	return did
}

// toldDefaults says what became of the defaults.
func (c *Call) toldDefaults(note string, filled int) string {
	switch {
	case filled == 0:
		return note + "; it needs no defaults."
	case c.custom():
		return note + " and filled in " + request.Count(filled, "default", "defaults") + " of its schema."
	}
	return note + " and filled in " + request.Count(filled, "default", "defaults") + "."
}

// prunedNote says which fields of the body the schema does not know.
func prunedNote(pruned []string) string {
	switch len(pruned) {
	case 0:
		return ""
	case 1:
		return " Pruned " + pruned[0] + ", which the schema does not know."
	}
	return fmt.Sprintf(" Pruned %d fields that the schema does not know: %v.", len(pruned), pruned)
}
