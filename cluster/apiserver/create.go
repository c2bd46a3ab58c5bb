package apiserver

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
func (c *call) create() *Response {
	obj, err := c.decode()
	if err != nil {
		return &Response{Err: err}
	}
	return c.createObject(obj)
}

// createObject takes a decoded object through the rest of the pipeline.
func (c *call) createObject(in decoded) *Response {
	m := object.Meta(in.obj)
	if err := c.fillSystemFields(m); err != nil {
		return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	owned, err := c.trackManager(c.kind, in.obj, nil)
	if err != nil {
		return &Response{Err: c.Refuse(trace.StageMutatingAdmission, "", err)}
	}
	in.obj = owned
	m = object.Meta(in.obj)
	drawn := m.GetGenerateName() != "" && m.GetName() == ""
	for try := 1; ; try++ {
		if drawn {
			m = object.Meta(in.obj)
			if m.SetName(m.GetGenerateName()); !c.kind.Is("IPAddress") { // of which the whole name says something (ipaddress/strategy.go noopNameGenerator)
				m.SetName(c.s.generateName(m.GetGenerateName()))
			}
		}
		c.Ref.Name, c.Ref.Namespace, c.Ref.UID = m.GetName(), m.GetNamespace(), string(m.GetUID())
		made, err := c.createOnce(in)
		if err == nil {
			c.awaitNames()
			r := c.answer(made)
			r.Created = true
			return r
		}
		if !drawn || !apierrors.IsAlreadyExists(err) || try == nameTries {
			return &Response{Err: err}
		}
		c.Refused = ""
	}
}

// fillSystemFields gives a new object its place and identity, and drops what only the
// server may set.
func (c *call) fillSystemFields(m metav1.Object) error {
	if err := c.matchNamespace(m); err != nil {
		return err
	}
	if c.req.Name != "" && m.GetName() == "" {
		m.SetName(c.req.Name)
	}
	if m.GetResourceVersion() != "" && m.GetResourceVersion() != "0" {
		return request.PlainError(storage.ErrResourceVersionSetOnCreate)
	}
	m.SetResourceVersion("")
	m.SetSelfLink("")
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetCreationTimestamp(c.Now())
	m.SetUID(c.s.newUID())
	return nil
}

// createOnce takes it from admission to the store.
func (c *call) createOnce(in decoded) (written, error) {
	c.Pause(c.s.cfg.Cost.Admission)
	a := c.admissionAttributes(admission.Create, in.obj, nil)
	fit, err := c.mutate(a)
	if err != nil {
		return written{}, err
	}
	valid, err := c.validateCreate(fit)
	if err != nil {
		return written{}, err
	}
	c.Ref.Name = object.Meta(valid.obj).GetName() // some kinds name themselves (limitrange strategy PrepareForCreate)
	approved, err := c.admit(a, valid)
	if err != nil {
		return written{}, err
	}
	return c.insert(approved)
}
