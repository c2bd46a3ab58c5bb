package admission

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
)

// Outside is the request as policies and webhooks see it (handlers/create.go, update.go,
// delete.go). Of a subresource with an object of its own they see that one.
func (a *Attributes) Outside(r *request.Scope) admission.Attributes {
	op, gvk, obj, old := a.Operation, a.SentKind, a.Object, a.OldObject
	switch {
	case a.Sent != nil:
		obj, old = a.Sent, a.OldSent
		if a.SentCreates {
			op = Create
		}
	case op == Delete:
		gvk, obj = a.Kind, nil
	case op == Create:
		old = nil
	}
	options := a.options(op)
	namespace := a.Namespace
	if a.Is("Namespace") {
		namespace = a.Name
	}
	return &outside{
		Attributes: admission.NewAttributesRecord(object.OfKind(obj, gvk), object.OfKind(old, gvk), gvk, namespace, a.Name, a.SentResource, a.Subresource,
			op, options, a.DryRun, a.User.Info()),
		r: r,
	}
}

func (a *Attributes) options(op Operation) runtime.Object {
	var dry []string
	if a.DryRun {
		dry = []string{metav1.DryRunAll}
	}
	switch op {
	case Connect:
		return nil
	case Create:
		return &metav1.CreateOptions{
			TypeMeta: optionsOf("CreateOptions"), DryRun: dry, FieldManager: a.FieldManager, FieldValidation: a.Validation,
		}
	case Update:
		return &metav1.UpdateOptions{
			TypeMeta: optionsOf("UpdateOptions"), DryRun: dry, FieldManager: a.FieldManager, FieldValidation: a.Validation,
		}
	}
	o := a.Options.DeepCopy()
	o.DryRun, o.TypeMeta = dry, optionsOf("DeleteOptions")
	return o
}

func optionsOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: kind}
}

// outside are attributes whose audit annotations the request keeps.
type outside struct {
	admission.Attributes
	r *request.Scope
}

// AddAnnotation is admission.Attributes.
func (a *outside) AddAnnotation(key, value string) error {
	return a.AddAnnotationWithLevel(key, value, auditinternal.LevelMetadata)
}

// AddAnnotationWithLevel is admission.Attributes.
func (a *outside) AddAnnotationWithLevel(key, value string, level auditinternal.Level) error {
	if err := a.Attributes.AddAnnotationWithLevel(key, value, level); err != nil {
		return err
	}
	if level == auditinternal.LevelMetadata {
		a.r.Annotate(key, value)
	}
	return nil
}

// Again says that a policy or webhook is asked a second time.
func Again(a admission.Attributes) string {
	if a.GetReinvocationContext().IsReinvoke() {
		return ", asked again because a later one changed it"
	}
	return ""
}
