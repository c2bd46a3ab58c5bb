package policystatus

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	upstream "k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"

	"kviz/assets"
	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func policy(name, group, resource string, expressions ...string) *admissionv1.ValidatingAdmissionPolicy {
	p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	p.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.OperationAll}, Rule: admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
	}}}}
	for _, e := range expressions {
		p.Spec.Validations = append(p.Spec.Validations, admissionv1.Validation{Expression: e})
	}
	return p
}

// policies are right, wrong, wrong twice, of every kind, of a kind that nobody serves, and with a parameter.
func policies() []*admissionv1.ValidatingAdmissionPolicy {
	of := policy("params", "apps", "deployments", "object.spec.replicas < int(params.data.most)", "params.data > 3")
	of.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	return []*admissionv1.ValidatingAdmissionPolicy{
		policy("right", "apps", "deployments", "object.spec.replicas <= 5", "object.metadata.name.startsWith('a')"),
		policy("wrong", "apps", "deployments", `object.spec.replicas > "5"`, "object.spec.replicas < 3", "object.foo == 1"),
		policy("pods", "", "pods", "object.spec.containers.all(c, c.image == 5)"),
		policy("every", "*", "*", "object.foo == 1"),
		policy("unknown", "example.com", "gadgets", "object.foo == 1"),
		of,
	}
}

// Upstream's controller and this one write the same status, over the same schemas, which are those that
// the API server serves.
func TestStatusIsUpstreams(tt *testing.T) {
	here, there := map[string]admissionv1.ValidatingAdmissionPolicyStatus{}, map[string]admissionv1.ValidatingAdmissionPolicyStatus{}
	check := NewChecker(assets.Documents())
	b := clienttest.Run(tt, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		New(reconcile.NewEnv(p, Name, Name, c, f, 1), check.Check).Start()
		f.Start()
		for _, o := range policies() {
			clienttest.Must(client.Create(t, c, client.ValidatingAdmissionPolicies, "", o))
		}
		t.Sleep(time.Minute)
		for _, o := range b.Objects(client.ValidatingAdmissionPolicies) {
			here[o.(*admissionv1.ValidatingAdmissionPolicy).Name] = o.(*admissionv1.ValidatingAdmissionPolicy).Status
		}
		clienttest.Note(t, "the wrong policy is put right")
		wrong := clienttest.Must(client.Get[*admissionv1.ValidatingAdmissionPolicy](t, c, client.ValidatingAdmissionPolicies, "", "wrong"))
		wrong.Spec.Validations = policy("", "", "", "object.spec.replicas > 5").Spec.Validations
		clienttest.Must(client.Update(t, c, client.ValidatingAdmissionPolicies, "", wrong))
		t.Sleep(time.Minute)
	})
	clienttest.Golden(tt, "life.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart))
	upstreamtest.Bubble(tt, nil, func(_ context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
		controller, err := upstream.NewController(f.Admissionregistration().V1().ValidatingAdmissionPolicies(), c.AdmissionregistrationV1().ValidatingAdmissionPolicies(), typesOf(assets.Documents()))
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) { controller.Run(ctx, 1) }
	}, func(ctx context.Context, c *fake.Clientset) {
		all := c.AdmissionregistrationV1().ValidatingAdmissionPolicies()
		for _, o := range policies() {
			clienttest.Must(all.Create(ctx, o, metav1.CreateOptions{}))
		}
		time.Sleep(time.Minute)
		for _, o := range clienttest.Must(all.List(ctx, metav1.ListOptions{})).Items {
			there[o.Name] = o.Status
		}
	})
	if diff := cmp.Diff(there, here); diff != "" {
		tt.Errorf("-upstream +here:\n%s", diff)
	}
	found := fmt.Sprint(here["wrong"].TypeChecking)
	for _, want := range []string{"spec.validations[0].expression", "no matching overload for '_>_' applied to '(int, string)'", "undefined field 'foo'"} {
		if !strings.Contains(found, want) {
			tt.Errorf("of the wrong policy it says %s, which has no %q", found, want)
		}
	}
}
