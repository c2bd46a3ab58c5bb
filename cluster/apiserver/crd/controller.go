package crd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Controllers are the controllers that live in the API server and answer each
// CustomResourceDefinition with conditions (apiextensions-apiserver
// pkg/controller: status, establish, apiapproval, finalizer). One task does the
// quick ones; the end of a definition, which waits for its objects, has a task of
// its own.
type Controllers struct {
	p      *sim.Process                     // the server's
	cache  func() *cacher.Cache             // of the definitions
	stored func(name string) *registry.Kind // the kind with a definition's objects; nil if it is not served
	send   requests
	queue  []string            // names of definitions to look at
	why    map[string]trace.ID // for each queued one, what asked for it
	wake   sim.Cond
	going  map[string]bool // definitions whose end is under way
}

// requests are what the controllers send: the server to itself, like any other client.
// client is who does so.
type requests interface {
	UpdateDefinition(t *sim.Task, client string, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error)
	ListObjects(t *sim.Task, client string, k *registry.Kind) ([]runtime.Object, error)
	DeleteObjects(t *sim.Task, client string, k *registry.Kind, namespace string) error
}

// NewControllers makes the controllers of server process p. cache is of the definitions;
// stored is the kind with the objects of one, or nil.
func NewControllers(p *sim.Process, cache func() *cacher.Cache, stored func(name string) *registry.Kind, send requests) *Controllers {
	return &Controllers{p: p, cache: cache, stored: stored, send: send, why: map[string]trace.ID{}, going: map[string]bool{}}
}

// Changed is called with every change of a definition.
func (d *Controllers) Changed(name string, obj runtime.Object) {
	d.add(name, d.p.Kernel().Last())
	if obj == nil {
		d.neighbours(name, d.p.Kernel().Last())
	}
}

func (d *Controllers) add(name string, why trace.ID) {
	if _, queued := d.why[name]; !queued {
		d.queue = append(d.queue, name)
	}
	d.why[name] = why
	d.wake.Signal()
}

// neighbours queues every definition that waits for a name: one may be free now. One
// that the cache has not taken in yet is queued when it has.
func (d *Controllers) neighbours(name string, why trace.ID) {
	d.cache().Scan("", func(other string, en *cacher.Entry) bool {
		if crd := en.Object.(*apiextensionsv1.CustomResourceDefinition); other != name && !object.Equal(crd.Spec.Names, crd.Status.AcceptedNames) {
			d.add(other, why)
		}
		return true
	})
}

func DefinitionKind() *registry.Kind {
	return registry.KindFor(client.CustomResourceDefinitions.GroupVersionResource)
}

// Run is a task of the server.
func (d *Controllers) Run(t *sim.Task) {
	for {
		for len(d.queue) == 0 {
			d.wake.Wait(t)
		}
		name := d.queue[0]
		d.queue = d.queue[1:]
		why := d.why[name]
		delete(d.why, name)
		if en := d.cache().Get(name); en != nil {
			t.SetCauses(why)
			sync := func() { d.sync(t, name, why, en.Object.(*apiextensionsv1.CustomResourceDefinition)) }
			if broken := t.HandleCrashOn(client.CustomResourceDefinitions.Ref("", name), "the definition", sync); broken != nil {
				d.later(name, panickedAgain)
			}
		}
	}
}

func (d *Controllers) sync(t *sim.Task, name string, why trace.ID, crd *apiextensionsv1.CustomResourceDefinition) {
	next := crd.DeepCopy()
	by := ""
	switch {
	case d.judgeNames(t, next):
		by = "crd-naming-condition-controller"
	case d.establish(t, next):
		by = "crd-establishing-controller"
	case d.judgeApproval(t, next):
		by = "crd-api-approval-controller"
	}
	if by != "" {
		if err := d.write(t, by, next); err != nil {
			if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				d.later(name, writeAgain)
			}
			return // else it will be looked at again
		}
		d.neighbours(name, why)
		return
	}
	if crd.DeletionTimestamp != nil && apihelpers.CRDHasFinalizer(crd, apiextensionsv1.CustomResourceCleanupFinalizer) && !d.going[name] {
		d.going[name] = true
		causes := t.Causes()
		d.p.Go("crd-finalizer/"+name, func(t *sim.Task) {
			t.SetCauses(causes...)
			if broken := t.HandleCrashOn(client.CustomResourceDefinitions.Ref("", name), "the end of the definition", func() { d.end(t, name) }); broken != nil {
				d.later(name, panickedAgain)
			}
			delete(d.going, name)
		})
	}
}

// panickedAgain is how long a definition at which a controller panicked waits.
const panickedAgain = time.Minute

// later queues a definition again after a time.
func (d *Controllers) later(name string, after time.Duration) {
	why := d.p.Kernel().Last()
	d.p.Kernel().After(after, func() {
		if d.p.Alive() {
			d.add(name, why)
		}
	})
}

// write updates the status, as a request like any other.
func (d *Controllers) write(t *sim.Task, by string, crd *apiextensionsv1.CustomResourceDefinition) error {
	written, err := d.send.UpdateDefinition(t, by, crd)
	if err == nil {
		*crd = *written.DeepCopy()
	}
	return err
}

// judgeNames accepts the names that nobody else in the group has
// (status/naming_controller.go calculateNamesAndConditions). It reports whether
// the status changed.
func (d *Controllers) judgeNames(t *sim.Task, crd *apiextensionsv1.CustomResourceDefinition) bool {
	if object.Equal(crd.Spec.Names, crd.Status.AcceptedNames) {
		return false
	}
	resources, kinds := d.taken(crd)
	want, had := crd.Spec.Names, crd.Status.AcceptedNames
	got := *had.DeepCopy()
	names := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found"}
	clash := func(reason, message string) {
		names.Status, names.Reason, names.Message = apiextensionsv1.ConditionFalse, reason, message
	}
	claim := func(asked, accepted string, used map[string]bool, into *string, reason string) {
		if asked != accepted && used[asked] {
			clash(reason, fmt.Sprintf("%q is already in use", asked))
			return
		}
		*into = asked
	}
	claim(want.Plural, had.Plural, resources, &got.Plural, "PluralConflict")
	claim(want.Singular, had.Singular, resources, &got.Singular, "SingularConflict")
	if bad := shortClashes(want.ShortNames, had.ShortNames, resources); bad != "" {
		clash("ShortNamesConflict", bad)
	} else {
		got.ShortNames = want.ShortNames
	}
	claim(want.Kind, had.Kind, kinds, &got.Kind, "KindConflict")
	claim(want.ListKind, had.ListKind, kinds, &got.ListKind, "ListKindConflict")
	got.Categories = want.Categories

	established := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse, Reason: "NotAccepted", Message: "not all names are accepted"}
	if old := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established); old != nil {
		established = *old
	}
	if established.Status != apiextensionsv1.ConditionTrue && names.Status == apiextensionsv1.ConditionTrue {
		established.Reason, established.Message = "Installing", "the initial names have been accepted"
	}
	if object.Equal(had, got) && apihelpers.IsCRDConditionEquivalent(&names, apihelpers.FindCRDCondition(crd, apiextensionsv1.NamesAccepted)) {
		return false
	}
	now := metav1.NewTime(t.Now().Truncate(time.Second))
	crd.Status.AcceptedNames = got
	SetCondition(crd, now, names)
	SetCondition(crd, now, established)
	return true
}

func shortClashes(want, had []string, used map[string]bool) string {
	var bad []string
	for _, s := range want {
		if !slices.Contains(had, s) && used[s] {
			bad = append(bad, fmt.Sprintf("%q is already in use", s))
		}
	}
	switch len(bad) {
	case 0:
		return ""
	case 1:
		return bad[0]
	}
	return "[" + strings.Join(bad, ", ") + "]"
}

// taken are the names that definitions of the group have been given, this one's
// own too (getAcceptedNamesForGroup): as they are visible, which a definition that the
// cache has not taken in yet is too.
func (d *Controllers) taken(crd *apiextensionsv1.CustomResourceDefinition) (resources, kinds map[string]bool) {
	resources, kinds = map[string]bool{}, map[string]bool{}
	d.cache().Scan("", func(name string, en *cacher.Entry) bool {
		other := d.cache().Get(name).Object.(*apiextensionsv1.CustomResourceDefinition)
		if other.Spec.Group != crd.Spec.Group {
			return true
		}
		n := other.Status.AcceptedNames
		resources[n.Plural], resources[n.Singular] = true, true
		for _, s := range n.ShortNames {
			resources[s] = true
		}
		kinds[n.Kind], kinds[n.ListKind] = true, true
		return true
	})
	return resources, kinds
}

// establish says that the kind is served, once its names are accepted
// (establish/establishing_controller.go).
func (d *Controllers) establish(t *sim.Task, crd *apiextensionsv1.CustomResourceDefinition) bool {
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		return false
	}
	SetCondition(crd, metav1.NewTime(t.Now().Truncate(time.Second)), apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
	})
	return true
}

// judgeApproval is for groups that belong to the Kubernetes community, *.k8s.io
// (apiapproval/apiapproval_controller.go).
func (d *Controllers) judgeApproval(t *sim.Task, crd *apiextensionsv1.CustomResourceDefinition) bool {
	if !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		return false
	}
	state, message := apihelpers.GetAPIApprovalState(crd.Annotations)
	cond := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: apiextensionsv1.ConditionFalse, Message: message}
	switch state {
	case apihelpers.APIApprovalInvalid:
		cond.Reason = "InvalidAnnotation"
	case apihelpers.APIApprovalMissing:
		cond.Reason = "MissingAnnotation"
	case apihelpers.APIApproved:
		cond.Status, cond.Reason = apiextensionsv1.ConditionTrue, "ApprovedAnnotation"
	case apihelpers.APIApprovalBypassed:
		cond.Reason = "UnapprovedAnnotation"
	}
	if apihelpers.IsCRDConditionEquivalent(&cond, apihelpers.FindCRDCondition(crd, cond.Type)) {
		return false
	}
	SetCondition(crd, metav1.NewTime(t.Now().Truncate(time.Second)), cond)
	return true
}

// SetCondition is apihelpers.SetCRDCondition with the virtual time.
func SetCondition(crd *apiextensionsv1.CustomResourceDefinition, now metav1.Time, cond apiextensionsv1.CustomResourceDefinitionCondition) {
	cond.LastTransitionTime = now
	was := apihelpers.FindCRDCondition(crd, cond.Type)
	if was == nil {
		crd.Status.Conditions = append(crd.Status.Conditions, cond)
		return
	}
	if was.Status == cond.Status && !was.LastTransitionTime.IsZero() {
		cond.LastTransitionTime = was.LastTransitionTime
	}
	cond.ObservedGeneration = was.ObservedGeneration
	*was = cond
}
