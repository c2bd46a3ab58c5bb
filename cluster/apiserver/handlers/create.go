package handlers

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// nameTries is how often a taken generated name is drawn again.
const nameTries = 8

// create is the verb create.
func (h *Handlers) create(c *Call) *request.Response {
	obj, err := h.decode(c)
	if err != nil {
		return &request.Response{Err: err}
	}
	return h.createObject(c, obj)
}

// createObject takes a decoded object through the rest of the pipeline.
func (h *Handlers) createObject(c *Call, in decoded) *request.Response {
	m := object.Meta(in.obj)
	if err := h.fillSystemFields(c, m); err != nil {
		return &request.Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	owned, err := h.Fields.Track(&c.Scope, c.Req, c.Kind, in.obj, nil)
	if err != nil {
		return &request.Response{Err: c.Refuse(trace.StageMutatingAdmission, "", err)}
	}
	in.obj = owned
	m = object.Meta(in.obj)
	drawn := m.GetGenerateName() != "" && m.GetName() == ""
	for try := 1; ; try++ {
		if drawn {
			m = object.Meta(in.obj)
			if m.SetName(m.GetGenerateName()); !c.Kind.Is("IPAddress") { // of which the whole name says something (ipaddress/strategy.go noopNameGenerator)
				m.SetName(h.Names.Generate(m.GetGenerateName()))
			}
		}
		c.Ref.Name, c.Ref.Namespace, c.Ref.UID = m.GetName(), m.GetNamespace(), string(m.GetUID())
		made, err := c.finish(h.createOnce(c, in))
		if err == nil {
			h.awaitNames(c)
			h.noteInert(c, made.Object, nil)
			r := c.answer(made)
			r.Created = true
			return r
		}
		if !drawn || !apierrors.IsAlreadyExists(err) || try == nameTries {
			return &request.Response{Err: err}
		}
		c.Refused = ""
	}
}

// fillSystemFields gives a new object its place and identity, and drops what only the
// server may set.
func (h *Handlers) fillSystemFields(c *Call, m metav1.Object) error {
	if err := c.MatchNamespace(m); err != nil {
		return err
	}
	if c.Req.Name != "" && m.GetName() == "" {
		m.SetName(c.Req.Name)
	}
	if m.GetResourceVersion() != "" && m.GetResourceVersion() != "0" {
		return request.PlainError(storage.ErrResourceVersionSetOnCreate)
	}
	m.SetResourceVersion("")
	m.SetSelfLink("")
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetCreationTimestamp(c.Now())
	m.SetUID(h.Names.UID())
	return nil
}

// createOnce takes it from admission to the store.
func (h *Handlers) createOnce(c *Call, in decoded) (written, error) {
	c.Pause(h.AdmissionTime)
	a := h.Attributes(c, admission.Create, in.obj, nil)
	fit, err := h.mutate(c, a)
	if err != nil {
		return written{}, err
	}
	valid, err := h.validateCreate(c, fit)
	if err != nil {
		return written{}, err
	}
	c.Ref.Name = object.Meta(valid.obj).GetName() // some kinds name themselves (limitrange strategy PrepareForCreate)
	approved, err := h.admit(c, a, valid)
	if err != nil {
		return written{}, err
	}
	return h.insert(c, approved)
}

// MatchNamespace puts an object where the request's path says, or refuses a
// contradiction.
func (c *Call) MatchNamespace(m metav1.Object) error {
	ns := c.Req.Namespace
	if !c.Kind.Namespaced {
		ns = ""
	}
	switch m.GetNamespace() {
	case ns:
	case "":
		m.SetNamespace(ns)
	default:
		if ns == "" {
			m.SetNamespace("")
			break
		}
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}
