// Package policystatus is the ValidatingAdmissionPolicy status controller: it checks the types
// in a policy's expressions and writes what is wrong into the policy's status.
//
// The worked idea. A policy about Deployments says object.spec.replicas > "5". Nobody has
// refused it: only when a Deployment comes is the expression evaluated, and then it fails.
// But what a Deployment is the schema says, and so this controller finds out before: int64
// and string cannot be compared. It writes a warning for the field
// spec.validations[0].expression, which kubectl describe shows, and the generation of the
// policy that it has looked at. A policy about all kinds ("*") has no type, and no warnings.
//
// Mirrors pkg/controller/validatingadmissionpolicystatus; the checks are upstream's own
// (apiserver pkg/admission/plugin/policy/validating TypeChecker). Simplified: custom kinds are not
// checked; the status is updated where upstream applies it. Start reading at [Controller.sync].
package policystatus

import (
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "of ValidatingAdmissionPolicies the types of built-in kinds are checked, not those of custom ones",
	Seen: "kubectl describe validatingadmissionpolicies",
})

// Name is the controller's name, its queue's, and its ServiceAccount's.
const Name = "validatingadmissionpolicy-status-controller"

// perByte is how much virtual time it takes to check a byte of a policy.
const perByte = 2 * time.Microsecond

// Check gives the warnings of a policy; it is called beside the kernel.
type Check func(*admissionv1.ValidatingAdmissionPolicy) []admissionv1.ExpressionWarning

// Controller is the ValidatingAdmissionPolicy status controller.
type Controller struct {
	*reconcile.Env
	check    Check
	policies *informer.Informer
	loop     *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env, check Check) *Controller {
	c := &Controller{Env: env, check: check, policies: env.Informers.For(client.ValidatingAdmissionPolicies)}
	c.loop = reconcile.NewLoop(env, Name, client.ValidatingAdmissionPolicies, c.sync)
	c.policies.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.policies) }

// sync checks one policy, once for each of its generations (reconcile).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.policies.Get(run.Key)
	if !ok {
		return nil
	}
	policy := obj.(*admissionv1.ValidatingAdmissionPolicy)
	if policy.Generation <= policy.Status.ObservedGeneration {
		return nil
	}
	var warnings []admissionv1.ExpressionWarning
	run.T.Offload("checking the types of policy "+policy.Name, time.Duration(policy.Size())*perByte, 0, func() { warnings = c.check(policy) })
	found := "the types in its expressions are right, or not known before there is an object"
	if len(warnings) > 0 {
		found = fmt.Sprintf("%d warnings about %s", len(warnings), strings.Join(fieldsOf(warnings), ", "))
	}
	run.Act("update", client.RefOf(policy), policy.Generation, policy.Status.ObservedGeneration,
		"policy %s is of generation %d, and %d was checked: %s", policy.Name, policy.Generation, policy.Status.ObservedGeneration, found)
	next := policy.DeepCopy()
	next.ResourceVersion = "" // as applied: whatever else of the status is newer stays
	next.Status.ObservedGeneration = policy.Generation
	next.Status.TypeChecking = &admissionv1.TypeChecking{ExpressionWarnings: warnings}
	_, err := client.UpdateStatus(run.T, c.Client, client.ValidatingAdmissionPolicies, "", next)
	return err
}
