package apiserver

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listerscorev1 "k8s.io/client-go/listers/core/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// What Kubernetes' own admission code asks of a request and of its server, answered
// by ours. Only one task runs at a time, so none of it needs a lock.

// dynamicAttributes are a request as dynamic admission sees it (handlers/create.go,
// update.go, delete.go).
func (c *call) dynamicAttributes(op operation) admission.Attributes {
	gvk, obj, old := c.bodyKind(), c.obj, c.old
	var options runtime.Object
	switch {
	case c.sent != nil: // a subresource with an object of its own
		obj, old = c.sent, c.sentOld
		if c.req.Verb == "create" {
			op = opCreate
		}
	case op == opDelete:
		gvk, obj = c.kind.GVK(), nil
	case op == opCreate:
		old = nil
	}
	switch op {
	case opCreate:
		o := &metav1.CreateOptions{FieldManager: c.req.FieldManager, FieldValidation: c.req.FieldValidation}
		o.DryRun = c.dryRun()
		options = o
	case opUpdate:
		o := &metav1.UpdateOptions{FieldManager: c.req.FieldManager, FieldValidation: c.req.FieldValidation}
		o.DryRun = c.dryRun()
		options = o
	default:
		o := c.req.Delete.DeepCopy()
		o.DryRun = c.dryRun()
		options = o
	}
	options.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(optionKinds[op]))
	namespace := c.Ref.Namespace
	if c.kind.Is("Namespace") {
		namespace = c.Ref.Name
	}
	return &hookAttributes{
		Attributes: admission.NewAttributesRecord(registry.OfKind(obj, gvk), registry.OfKind(old, gvk), gvk, namespace, c.Ref.Name, c.req.Resource, c.req.Subresource,
			admission.Operation(op), options, c.req.DryRun, infoOf(&c.user)),
		c: c,
	}
}

var optionKinds = map[operation]string{opCreate: "CreateOptions", opUpdate: "UpdateOptions", opDelete: "DeleteOptions"}

func (c *call) dryRun() []string {
	if c.req.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func infoOf(u *authn.User) user.Info {
	return &user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}
}

// hookAttributes are attributes whose audit annotations the request keeps.
type hookAttributes struct {
	admission.Attributes
	c *call
}

// AddAnnotation is admission.Attributes.
func (a *hookAttributes) AddAnnotation(key, value string) error {
	return a.AddAnnotationWithLevel(key, value, auditinternal.LevelMetadata)
}

// AddAnnotationWithLevel is admission.Attributes.
func (a *hookAttributes) AddAnnotationWithLevel(key, value string, level auditinternal.Level) error {
	if err := a.Attributes.AddAnnotationWithLevel(key, value, level); err != nil {
		return err
	}
	if r, ok := any(a.c).(interface{ annotate(key, value string) }); ok && level == auditinternal.LevelMetadata {
		r.annotate(key, value)
	}
	return nil
}

// admissionContext is the context that Kubernetes' admission code runs in: its
// warnings go to the request's answer.
func (c *call) admissionContext() context.Context {
	return warning.WithWarningRecorder(context.WithValue(context.Background(), callKey{}, c), warner{c})
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

type warner struct{ c *call }

// AddWarning is warning.Recorder; a warning is told once.
func (w warner) AddWarning(_, text string) {
	if !slices.Contains(w.c.Warnings, text) {
		w.c.Warnings = append(w.c.Warnings, text)
	}
}

// askAuthorizer is the authorizer that expressions ask.
type askAuthorizer struct{ s *Server }

// Authorize is authorizer.UnconditionalAuthorizer.
func (a askAuthorizer) Authorize(ctx context.Context, at authorizer.Attributes) (authorizer.Decision, string, error) {
	u := at.GetUser()
	ofFields, _ := at.GetFieldSelector() // what cannot be parsed selects nothing
	ofLabels, _ := at.GetLabelSelector()
	d := callOf(ctx).decide(authz.Attributes{
		User:          authn.User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()},
		FieldSelector: ofFields, LabelSelector: ofLabels, Nameless: at.IsResourceRequest(),
		Verb: at.GetVerb(), Group: at.GetAPIGroup(), Version: at.GetAPIVersion(), Resource: at.GetResource(), Subresource: at.GetSubresource(),
		Namespace: at.GetNamespace(), Name: at.GetName(), Path: nonResourcePath(at),
	})
	if d.Allowed {
		return authorizer.DecisionAllow, d.Why, nil
	}
	if d.Forbidden {
		return authorizer.DecisionDeny, d.Why, d.Err
	}
	return authorizer.DecisionNoOpinion, d.Why, d.Err
}

func nonResourcePath(at authorizer.Attributes) string {
	if at.IsResourceRequest() {
		return ""
	}
	return at.GetPath()
}

// namespaceLister reads namespaces from their cache. NamespaceLifecycle has
// waited for a new one before.
type namespaceLister struct{ s *Server }

// List is corelisters.NamespaceLister; nobody asks for it.
func (namespaceLister) List(labels.Selector) ([]*corev1.Namespace, error) {
	return nil, fmt.Errorf("admission does not list namespaces")
}

// Get is corelisters.NamespaceLister.
func (l namespaceLister) Get(name string) (*corev1.Namespace, error) {
	k := registry.KindFor(client.Namespaces.GroupVersionResource)
	if en := l.s.caches[k].Get(name); en != nil {
		return en.Object.(*corev1.Namespace), nil
	}
	return nil, apierrors.NewNotFound(k.GroupResource(), name)
}

var _ listerscorev1.NamespaceLister = namespaceLister{}

// noClient is where upstream looks for a namespace that its cache does not know.
type noClient struct{ kubernetes.Interface }

// CoreV1 is kubernetes.Interface.
func (noClient) CoreV1() typedcorev1.CoreV1Interface { return noCore{} }

type noCore struct{ typedcorev1.CoreV1Interface }

// Namespaces is typedcorev1.CoreV1Interface.
func (noCore) Namespaces() typedcorev1.NamespaceInterface { return noNamespaces{} }

type noNamespaces struct{ typedcorev1.NamespaceInterface }

// Get is typedcorev1.NamespaceInterface.
func (noNamespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return nil, apierrors.NewNotFound(client.Namespaces.GroupVersionResource.GroupResource(), name)
}

// hookObjects make, default and convert a kind's objects.
type hookObjects struct{ c *call }

// GetObjectCreater is admission.ObjectInterfaces.
func (o hookObjects) GetObjectCreater() runtime.ObjectCreater { return o }

// GetObjectTyper is admission.ObjectInterfaces.
func (o hookObjects) GetObjectTyper() runtime.ObjectTyper { return registry.Scheme }

// GetObjectDefaulter is admission.ObjectInterfaces.
func (o hookObjects) GetObjectDefaulter() runtime.ObjectDefaulter { return o }

// GetObjectConvertor is admission.ObjectInterfaces.
func (o hookObjects) GetObjectConvertor() runtime.ObjectConvertor { return o }

// GetEquivalentResourceMapper is admission.ObjectInterfaces.
func (o hookObjects) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return o }

func (o hookObjects) custom(group string) *custom {
	if v := customOf(o.c.kind); v != nil && o.c.kind.Group == group {
		return v.of
	}
	return nil
}

// New is runtime.ObjectCreater.
func (o hookObjects) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if of := o.custom(gvk.Group); of != nil {
		return customObject{of}.New(gvk)
	}
	return registry.Scheme.New(gvk)
}

// Default is runtime.ObjectDefaulter.
func (o hookObjects) Default(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if of := o.custom(u.GroupVersionKind().Group); of != nil {
			customObject{of}.Default(u)
		}
		return
	}
	o.c.fillDefaults(obj)
}

// ConvertToVersion is runtime.ObjectConvertor.
func (o hookObjects) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	if of := o.custom(in.GetObjectKind().GroupVersionKind().Group); of != nil {
		return customObject{of}.ConvertToVersion(in, gv)
	}
	return registry.Scheme.ConvertToVersion(in, gv)
}

// Convert is runtime.ObjectConvertor: objects of one type are moved, others go by
// way of the internal version.
func (o hookObjects) Convert(in, out, ctx any) error {
	if u, ok := in.(*unstructured.Unstructured); ok {
		to, ok := out.(*unstructured.Unstructured)
		of := o.custom(u.GroupVersionKind().Group)
		if !ok || of == nil {
			return registry.Scheme.Convert(in, out, ctx)
		}
		if gvk := to.GroupVersionKind(); gvk != u.GroupVersionKind() {
			got, err := customObject{of}.ConvertToVersion(u, gvk.GroupVersion())
			if err != nil {
				return err
			}
			u = got.(*unstructured.Unstructured)
		}
		to.Object = u.Object
		return nil
	}
	if reflect.TypeOf(in) == reflect.TypeOf(out) {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(in).Elem())
		return nil
	}
	obj := in.(runtime.Object)
	hub, err := registry.Scheme.ConvertToVersion(obj, schema.GroupVersion{Group: obj.GetObjectKind().GroupVersionKind().Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return err
	}
	return registry.Scheme.Convert(hub, out, ctx)
}

// ConvertFieldLabel is runtime.ObjectConvertor; admission has no use for it.
func (hookObjects) ConvertFieldLabel(gvk schema.GroupVersionKind, label, _ string) (string, string, error) {
	return "", "", fmt.Errorf("%s has no label %q", gvk, label)
}

// EquivalentResourcesFor is runtime.EquivalentResourceMapper: versions of a kind
// that lie at one place of the store.
func (o hookObjects) EquivalentResourcesFor(r schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	of := o.c.s.kindFor(r)
	if of == nil {
		return nil
	}
	var out []schema.GroupVersionResource
	for _, k := range o.c.s.Resources() {
		if k.Prefix == of.Prefix && k.Stored() && (subresource == "" || k.Subresource(subresource) != nil) {
			out = append(out, k.GroupVersionResource)
		}
	}
	return out
}

// KindFor is runtime.EquivalentResourceMapper.
func (o hookObjects) KindFor(r schema.GroupVersionResource, subresource string) schema.GroupVersionKind {
	k := o.c.s.kindFor(r)
	if k == nil {
		return schema.GroupVersionKind{}
	}
	if subresource == "" {
		return k.GVK()
	}
	if sub := k.Subresource(subresource); sub != nil {
		return sub.GVK
	}
	return schema.GroupVersionKind{}
}
