package apiserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// What the pipeline does otherwise for custom kinds (customresource_handler.go).

// settling is how long after its definition was established the first objects of
// a kind wait: other API servers may not know it yet.
const settling = 2 * time.Second

// routeCustom refuses paths that a custom kind has not, warns of versions that
// are going, and lets the first objects wait.
func (c *call) routeCustom() error {
	if c.kind.Custom == nil || c.req.Kind != nil {
		return nil
	}
	across := c.req.Verb == "list" || c.req.Verb == "watch" || c.req.Verb == "deletecollection"
	if !c.kind.Namespaced && c.req.Namespace != "" || c.kind.Namespaced && c.req.Namespace == "" && !across {
		return notServed()
	}
	v := crd.Of(c.kind)
	if w := v.Deprecation(); w != "" && !c.req.System {
		c.Warnings = append(c.Warnings, w)
	}
	if c.req.Subresource != "" && c.kind.Subresource(c.req.Subresource) == nil {
		return apierrors.NewNotFound(c.kind.GroupResource(), c.req.Name)
	}
	if !slices.Contains(c.kind.Verbs, c.req.Verb) {
		return apierrors.NewMethodNotSupported(c.kind.GroupResource(), c.req.Verb)
	}
	if since := v.Definition().Established(); c.req.Verb == "create" && !since.IsZero() && c.Task.Now().Sub(since.Time) < settling {
		c.Pause(settling)
		c.settled = true
	}
	return nil
}

// mayCreateCustom refuses new objects of a definition that is going
// (forbidCreateAdmission).
func (c *call) mayCreateCustom(op admission.Operation) error {
	if op != admission.Create || c.kind.Custom == nil || !crd.Of(c.kind).Definition().Terminating() {
		return nil
	}
	return apierrors.NewForbidden(c.kind.GroupResource(), c.Ref.Name, errors.New("create not allowed while custom resource definition is terminating"))
}

// decodedCustom fills in the defaults of a body and says what became of it.
func (c *call) decodedCustom(obj runtime.Object, note string) runtime.Object {
	pruned := c.prunedNote()
	filled := 0
	var diff []trace.FieldDiff
	c.aside("the defaults", func() {
		before := c.raw
		if before == nil {
			before = obj.DeepCopyObject()
		}
		read := obj.DeepCopyObject()
		c.fillDefaults(obj)
		filled = len(object.Diff(read, obj))
		diff = object.Diff(before, obj)
	})
	if filled > 0 {
		note += " and filled in " + request.Count(filled, "default", "defaults") + " of its schema."
	} else {
		note += "; it needs no defaults."
	}
	if c.settled {
		note = "The definition was established less than 2 s ago, so the server waited 2 s. " + note
		c.settled = false
	}
	c.Pass(trace.StageDecode, "", note+pruned, diff)
	return obj
}

// prunedNote says which fields of the body the schema does not know.
func (c *call) prunedNote() string {
	switch len(c.pruned) {
	case 0:
		return ""
	case 1:
		return " Pruned " + c.pruned[0] + ", which the schema does not know."
	}
	return fmt.Sprintf(" Pruned %d fields that the schema does not know: %v.", len(c.pruned), c.pruned)
}

// ReadCustom is [patch.Objects].
func (c *call) ReadCustom(kind *registry.Kind, doc []byte) (runtime.Object, error) {
	gvk := kind.GVK()
	u, _, strict, err := c.readCustom(registry.StrictJSON, doc, gvk)
	if err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(doc), err.Error())})
	}
	if err := c.tellStrict(strict, func(err error) error { return apierrors.NewBadRequest(err.Error()) }); err != nil {
		return nil, err
	}
	return u, nil
}

// awaitNames lets the answer to the creation of a definition wait until its names
// are judged. Upstream answers at once; but there kubectl takes longer to start
// than the controllers take to work, here it takes no time at all, and what people
// type next ("kubectl wait --for=condition=established") needs the conditions.
func (c *call) awaitNames() {
	if !c.kind.Is("CustomResourceDefinition") || c.req.System || c.req.DryRun {
		return
	}
	for deadline := c.Task.Elapsed() + namesLimit; c.Task.Elapsed() < deadline; c.Pause(time.Millisecond) {
		en := c.cache().Get(c.Ref.Name)
		if en == nil {
			continue
		}
		crd := en.Object.(*apiextensionsv1.CustomResourceDefinition)
		accepted := apihelpers.FindCRDCondition(crd, apiextensionsv1.NamesAccepted)
		if accepted != nil && accepted.Status != apiextensionsv1.ConditionTrue || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			return
		}
	}
}

// namesLimit is how long the answer waits at most.
const namesLimit = 100 * time.Millisecond

// markDefinition begins the end of a definition: its objects have to go first, so
// it gets a finalizer of the server's own (customresourcedefinition/etcd.go Delete).
func (c *call) markDefinition(definition *apiextensionsv1.CustomResourceDefinition) (deletion, string) {
	now := c.Now()
	definition.DeletionTimestamp = &now
	if !apihelpers.CRDHasFinalizer(definition, apiextensionsv1.CustomResourceCleanupFinalizer) {
		definition.Finalizers = append(definition.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
	}
	crd.SetCondition(definition, now, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
	return deleteLater, "The objects of this kind have to go first: the finalizer " + apiextensionsv1.CustomResourceCleanupFinalizer + " holds the definition until they have."
}

// custom reports whether the request's body is an object of a custom kind (that
// of its subresource scale is not).
func (c *call) custom() bool { return c.kind.Custom != nil && (c.sub == nil || c.sub.Name == "status") }

// parseCustom decodes bytes as a custom object. c.raw is what was there before
// pruning, for the trace.
func (c *call) parseCustom(data []byte, contentType string, gvk schema.GroupVersionKind) (runtime.Object, error) {
	decoder := runtime.Decoder(registry.StrictJSON)
	switch strings.TrimSpace(strings.SplitN(contentType, ";", 2)[0]) {
	case "application/vnd.kubernetes.protobuf":
		return nil, negotiation.NewUnsupportedMediaTypeError([]string{"application/json", "application/yaml"})
	case "application/yaml":
		decoder = registry.StrictYAML
		if c.req.FieldValidation == metav1.FieldValidationIgnore {
			decoder = registry.LaxYAML
		}
	default:
		if c.req.FieldValidation == metav1.FieldValidationIgnore {
			decoder = registry.LaxJSON
		}
	}
	u, got, strict, err := c.readCustom(decoder, data, gvk)
	if err != nil {
		return nil, decodeError(err, gvk, got, data)
	}
	if err := c.tellStrict(strict, func(err error) error { return decodeError(err, gvk, got, data) }); err != nil {
		return nil, err
	}
	if got != nil && got.GroupVersion() != gvk.GroupVersion() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), gvk.GroupVersion()))
	}
	return u, nil
}

// readCustom decodes and prunes; strict is what a strict reader finds fault with.
func (c *call) readCustom(decoder runtime.Decoder, data []byte, gvk schema.GroupVersionKind) (u *unstructured.Unstructured, got *schema.GroupVersionKind, strict []error, err error) {
	obj, got, err := decoder.Decode(data, &gvk, c.kind.New())
	if err != nil {
		found, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return nil, got, nil, err
		}
		strict = found.Errors()
	}
	u = obj.(*unstructured.Unstructured)
	c.raw = nil
	if !c.req.System {
		c.raw = u.DeepCopy()
	}
	unknown, err := crd.Of(c.kind).Coerce(u, false)
	if err != nil {
		return nil, got, nil, err
	}
	c.pruned = unknown
	for _, path := range unknown {
		strict = append(strict, fmt.Errorf(`unknown field "%s"`, path))
	}
	return u, got, strict, nil
}

// tellStrict refuses, warns of or ignores what a strict reader finds, as the
// writer asked (fieldValidation).
func (c *call) tellStrict(strict []error, refuse func(error) error) error {
	switch {
	case len(strict) == 0 || c.req.FieldValidation == metav1.FieldValidationIgnore || c.req.System:
	case c.req.FieldValidation == metav1.FieldValidationStrict:
		return refuse(runtime.NewStrictDecodingError(strict))
	default:
		for _, e := range strict {
			c.Warnings = append(c.Warnings, e.Error())
		}
	}
	return nil
}

// takeCustom is an object a component of this process gave.
func (c *call) takeCustom(obj runtime.Object, gvk schema.GroupVersionKind) (runtime.Object, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %T", gvk.Kind, obj))
	}
	u = u.DeepCopy()
	u.SetGroupVersionKind(gvk)
	c.raw = u.DeepCopy()
	var err error
	if c.pruned, err = crd.Of(c.kind).Coerce(u, false); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return u, nil
}
