package apiserver

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/trace"
)

// What the pipeline does otherwise for custom kinds (customresource_handler.go).

// customPatches are what a custom object can be patched with; there is no Go
// type that would say how a strategic merge patch merges its lists.
var customPatches = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}

// settling is how long after its definition was established the first objects of
// a kind wait: other API servers may not know it yet.
const settling = 2 * time.Second

// routeCustom refuses paths that a custom kind has not, warns of versions that
// are going, and lets the first objects wait.
func (c *call) routeCustom() error {
	if c.kind.Custom == nil || c.req.kind != nil {
		return nil
	}
	across := c.req.Verb == "list" || c.req.Verb == "watch" || c.req.Verb == "deletecollection"
	if !c.kind.Namespaced && c.req.Namespace != "" || c.kind.Namespaced && c.req.Namespace == "" && !across {
		return notServed()
	}
	v := customOf(c.kind)
	if v.spec.Deprecated && !c.req.System {
		c.Warnings = append(c.Warnings, v.deprecation())
	}
	if c.req.Subresource != "" && c.kind.Subresource(c.req.Subresource) == nil {
		return apierrors.NewNotFound(c.kind.GroupResource(), c.req.Name)
	}
	if !slices.Contains(c.kind.Verbs, c.req.Verb) {
		return apierrors.NewMethodNotSupported(c.kind.GroupResource(), c.req.Verb)
	}
	if since := v.of.established(); c.req.Verb == "create" && !since.IsZero() && c.Task.Now().Sub(since.Time) < settling {
		c.Pause(settling)
		c.settled = true
	}
	return nil
}

// deprecation is the warning of a deprecated version (defaultDeprecationWarning).
func (v *customVersion) deprecation() string {
	if v.spec.DeprecationWarning != nil {
		return *v.spec.DeprecationWarning
	}
	spec := &v.of.crd.Spec
	msg, better := fmt.Sprintf("%s/%s %s is deprecated", spec.Group, v.spec.Name, spec.Names.Kind), ""
	for _, o := range spec.Versions {
		if o.Served && !o.Deprecated && version.CompareKubeAwareVersionStrings(v.spec.Name, o.Name) < 0 && (better == "" || version.CompareKubeAwareVersionStrings(better, o.Name) < 0) {
			better = o.Name
		}
	}
	if better != "" {
		msg += fmt.Sprintf("; use %s/%s %s", spec.Group, better, spec.Names.Kind)
	}
	return msg
}

// mayCreateCustom refuses new objects of a definition that is going
// (forbidCreateAdmission).
func (c *call) mayCreateCustom(op admission.Operation) error {
	if op != admission.Create || c.kind.Custom == nil || !customOf(c.kind).of.terminating() {
		return nil
	}
	return apierrors.NewForbidden(c.kind.GroupResource(), c.Ref.Name, errors.New("create not allowed while custom resource definition is terminating"))
}

// decodedCustom fills in the defaults of a body and says what became of it.
func (c *call) decodedCustom(obj runtime.Object, note string) runtime.Object {
	pruned := c.prunedNote()
	before := c.raw
	if before == nil {
		before = obj.DeepCopyObject()
	}
	read := obj.DeepCopyObject()
	c.fillDefaults(obj)
	filled := len(object.Diff(read, obj))
	if filled > 0 {
		note += " and filled in " + plural(filled, "default", "defaults") + " of its schema."
	} else {
		note += "; it needs no defaults."
	}
	if c.settled {
		note = "The definition was established less than 2 s ago, so the server waited 2 s. " + note
		c.settled = false
	}
	c.Pass(trace.StageDecode, "", note+pruned, object.Diff(before, obj))
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

// parsePatchedCustom decodes the object that a patch made.
func (c *call) parsePatchedCustom(doc []byte, gvk schema.GroupVersionKind) (runtime.Object, error) {
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
func (c *call) markDefinition(crd *apiextensionsv1.CustomResourceDefinition) (deletion, string) {
	now := c.Now()
	crd.DeletionTimestamp = &now
	if !apihelpers.CRDHasFinalizer(crd, apiextensionsv1.CustomResourceCleanupFinalizer) {
		crd.Finalizers = append(crd.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
	}
	setDefinitionCondition(crd, now, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
	return deleteLater, "The objects of this kind have to go first: the finalizer " + apiextensionsv1.CustomResourceCleanupFinalizer + " holds the definition until they have."
}
