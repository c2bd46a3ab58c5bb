package handlers

import (
	"errors"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/crd"
)

// What the pipeline does otherwise for custom kinds (customresource_handler.go).

// settling is how long after its definition was established the first objects of
// a kind wait: other API servers may not know it yet.
const settling = 2 * time.Second

// settle has the first objects of a custom kind wait, and says so.
func (c *Call) settle() (note string) {
	if c.Kind.Custom == nil || c.Req.Kind != nil || c.Req.Verb != "create" {
		return ""
	}
	since := crd.Of(c.Kind).Definition().Established()
	if since.IsZero() || c.Task.Now().Sub(since.Time) >= settling {
		return ""
	}
	c.Pause(settling)
	return "The definition was established less than 2 s ago, so the server waited 2 s. "
}

// mayCreateCustom refuses new objects of a definition that is going
// (forbidCreateAdmission).
func (c *Call) mayCreateCustom(op admission.Operation) error {
	if op != admission.Create || c.Kind.Custom == nil || !crd.Of(c.Kind).Definition().Terminating() {
		return nil
	}
	return apierrors.NewForbidden(c.Kind.GroupResource(), c.Ref.Name, errors.New("create not allowed while custom resource definition is terminating"))
}

// awaitNames lets the answer to the creation of a definition wait until its names
// are judged. Upstream answers at once; but there kubectl takes longer to start
// than the controllers take to work, here it takes no time at all, and what people
// type next ("kubectl wait --for=condition=established") needs the conditions.
func (h *Handlers) awaitNames(c *Call) {
	if !c.Kind.Is("CustomResourceDefinition") || c.Req.System || c.Req.DryRun {
		return
	}
	for deadline := c.Task.Elapsed() + namesLimit; c.Task.Elapsed() < deadline; c.Pause(time.Millisecond) {
		en := h.Store.Caches(c.Kind).Get(c.Ref.Name)
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
func (h *Handlers) markDefinition(c *Call, definition *apiextensionsv1.CustomResourceDefinition) (deletion, string) {
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
