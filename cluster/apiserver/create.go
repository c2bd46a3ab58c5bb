package apiserver

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
func (c *call) createObject(obj runtime.Object) *Response {
	c.obj = obj
	c.created = true
	m := object.Meta(obj)
	if err := c.identify(m); err != nil {
		return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	if err := c.trackManager(admission.Create); err != nil {
		return &Response{Err: c.Refuse(trace.StageMutatingAdmission, "", err)}
	}
	m = object.Meta(c.obj)
	drawn := m.GetGenerateName() != "" && m.GetName() == ""
	for try := 1; ; try++ {
		if drawn {
			m = object.Meta(c.obj)
			if m.SetName(m.GetGenerateName()); !c.kind.Is("IPAddress") { // of which the whole name says something (ipaddress/strategy.go noopNameGenerator)
				m.SetName(c.s.generateName(m.GetGenerateName()))
			}
		}
		c.Ref.Name, c.Ref.Namespace, c.Ref.UID = m.GetName(), m.GetNamespace(), string(m.GetUID())
		err := c.createOnce()
		if err == nil {
			c.awaitNames()
			return &Response{Object: c.result()}
		}
		if !drawn || !apierrors.IsAlreadyExists(err) || try == nameTries {
			return &Response{Err: err}
		}
		c.Refused = ""
	}
}

// identify gives a new object its place and identity, and drops what only the
// server may set.
func (c *call) identify(m metav1.Object) error {
	if err := c.place(m); err != nil {
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

func (c *call) createOnce() error {
	c.Pause(c.s.cfg.Cost.Admission)
	if err := c.mutate(admission.Create); err != nil {
		return err
	}
	if err := c.validateCreate(); err != nil {
		return err
	}
	c.Ref.Name = object.Meta(c.obj).GetName() // some kinds name themselves (limitrange strategy PrepareForCreate)
	if err := c.admit(admission.Create); err != nil {
		return err
	}
	return c.insert()
}
