package apiserver

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

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// definitions are the controllers that live in the API server and answer each
// CustomResourceDefinition with conditions (apiextensions-apiserver
// pkg/controller: status, establish, apiapproval, finalizer). One task does the
// quick ones; the end of a definition, which waits for its objects, has a task of
// its own.
type definitions struct {
	s     *Server
	queue []string            // names of definitions to look at
	why   map[string]trace.ID // for each queued one, what asked for it
	wake  sim.Cond
	going map[string]bool // definitions whose end is under way
}

func newDefinitions(s *Server) *definitions {
	return &definitions{s: s, why: map[string]trace.ID{}, going: map[string]bool{}}
}

// selfUser is the API server as its own client (genericapiserver's loopback).
var selfUser = authn.User{Name: "system:apiserver", Groups: []string{authn.Masters}}

// changed hears of every change of a definition.
func (d *definitions) changed(name string, obj runtime.Object) {
	d.add(name, d.s.k.Last())
	if obj == nil {
		d.neighbours(name, d.s.k.Last())
	}
}

func (d *definitions) add(name string, why trace.ID) {
	if _, queued := d.why[name]; !queued {
		d.queue = append(d.queue, name)
	}
	d.why[name] = why
	d.wake.Signal()
}

// neighbours queues every definition that waits for a name: one may be free now. One
// that the cache has not taken in yet is queued when it has.
func (d *definitions) neighbours(name string, why trace.ID) {
	d.s.cacheOf(definitionKind()).Scan("", func(other string, en *cacher.Entry) bool {
		if crd := en.Object.(*apiextensionsv1.CustomResourceDefinition); other != name && !object.Equal(crd.Spec.Names, crd.Status.AcceptedNames) {
			d.add(other, why)
		}
		return true
	})
}

func definitionKind() *registry.Kind {
	return registry.KindFor(client.CustomResourceDefinitions.GroupVersionResource)
}

// run is a task of the server.
func (d *definitions) run(t *sim.Task) {
	for {
		for len(d.queue) == 0 {
			d.wake.Wait(t)
		}
		name := d.queue[0]
		d.queue = d.queue[1:]
		why := d.why[name]
		delete(d.why, name)
		if en := d.s.cacheOf(definitionKind()).Get(name); en != nil {
			t.SetCauses(why)
			d.sync(t, name, why, en.Object.(*apiextensionsv1.CustomResourceDefinition))
		}
	}
}

func (d *definitions) sync(t *sim.Task, name string, why trace.ID, crd *apiextensionsv1.CustomResourceDefinition) {
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
				d.later(name, time.Second)
			}
			return // else it will be looked at again
		}
		d.neighbours(name, why)
		return
	}
	if crd.DeletionTimestamp != nil && apihelpers.CRDHasFinalizer(crd, apiextensionsv1.CustomResourceCleanupFinalizer) && !d.going[name] {
		d.going[name] = true
		causes := t.Causes()
		d.s.p.Go("crd-finalizer/"+name, func(t *sim.Task) {
			t.SetCauses(causes...)
			d.end(t, name)
			delete(d.going, name)
		})
	}
}

// later queues a definition again after a time.
func (d *definitions) later(name string, after time.Duration) {
	p, why := d.s.p, d.s.k.Last()
	d.s.k.After(after, func() {
		if p.Alive() {
			d.add(name, why)
		}
	})
}

// write updates the status, as a request like any other.
func (d *definitions) write(t *sim.Task, by string, crd *apiextensionsv1.CustomResourceDefinition) error {
	r := d.s.serve(t, &Request{
		Verb: "update", Resource: client.CustomResourceDefinitions.GroupVersionResource, Subresource: "status", Name: crd.Name,
		User: &selfUser, Client: by, Causes: t.Causes(), Object: crd, System: true,
	})
	if r.Err == nil {
		*crd = *r.Object.(*apiextensionsv1.CustomResourceDefinition).DeepCopy()
	}
	return r.Err
}

// judgeNames accepts the names that nobody else in the group has
// (status/naming_controller.go calculateNamesAndConditions). It reports whether
// the status changed.
func (d *definitions) judgeNames(t *sim.Task, crd *apiextensionsv1.CustomResourceDefinition) bool {
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
	setDefinitionCondition(crd, now, names)
	setDefinitionCondition(crd, now, established)
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
func (d *definitions) taken(crd *apiextensionsv1.CustomResourceDefinition) (resources, kinds map[string]bool) {
	resources, kinds = map[string]bool{}, map[string]bool{}
	d.s.cacheOf(definitionKind()).Scan("", func(name string, en *cacher.Entry) bool {
		other := d.s.cacheOf(definitionKind()).Get(name).Object.(*apiextensionsv1.CustomResourceDefinition)
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
func (d *definitions) establish(t *sim.Task, crd *apiextensionsv1.CustomResourceDefinition) bool {
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		return false
	}
	setDefinitionCondition(crd, metav1.NewTime(t.Now().Truncate(time.Second)), apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
	})
	return true
}

// judgeApproval is for groups that belong to the Kubernetes community, *.k8s.io
// (apiapproval/apiapproval_controller.go).
func (d *definitions) judgeApproval(t *sim.Task, crd *apiextensionsv1.CustomResourceDefinition) bool {
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
	setDefinitionCondition(crd, metav1.NewTime(t.Now().Truncate(time.Second)), cond)
	return true
}

// setDefinitionCondition is apihelpers.SetCRDCondition with the virtual time.
func setDefinitionCondition(crd *apiextensionsv1.CustomResourceDefinition, now metav1.Time, cond apiextensionsv1.CustomResourceDefinitionCondition) {
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
