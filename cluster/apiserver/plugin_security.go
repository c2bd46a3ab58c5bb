package apiserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/capabilities"
	podsecurity "k8s.io/pod-security-admission/admission"
	psaconfig "k8s.io/pod-security-admission/admission/api"
	psaload "k8s.io/pod-security-admission/admission/api/load"
	psa "k8s.io/pod-security-admission/api"
	psametrics "k8s.io/pod-security-admission/metrics"
	psapolicy "k8s.io/pod-security-admission/policy"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// The PodSecurity plugin (plugin/pkg/admission/security/podsecurity): a
// namespace's labels say which Pod Security Standard its pods must keep
// (enforce), and which one they are only measured by (audit, warn). Workloads are
// never refused, only warned of, because it is their pods that are checked.
// The decisions are those of k8s.io/pod-security-admission.

// Privileged containers may be asked for, as in a kubeadm cluster, whose server runs
// with --allow-privileged: who may have them is this plugin's to say.
func init() { capabilities.Setup(true, 0) }

// podSecurityChecks are the standards, read only; every server asks the same.
var podSecurityChecks = sync.OnceValue(func() psapolicy.Evaluator {
	e, err := psapolicy.NewEvaluator(psapolicy.DefaultChecks(), nil)
	if err != nil {
		panic("apiserver: the Pod Security Standards: " + err.Error())
	}
	return e
})

// podSecurity is the plugin's delegate.
type podSecurity struct {
	podsecurity.Admission
	privileged bool // a namespace without labels asks for nothing
}

// newPodSecurity makes the delegate. A configuration of nil is upstream's: what a
// namespace does not say is privileged, nobody is exempt.
func newPodSecurity(cfg *psaconfig.PodSecurityConfiguration) (*podSecurity, error) {
	if cfg == nil {
		var err error
		if cfg, err = psaload.LoadFromReader(nil); err != nil {
			return nil, fmt.Errorf("the configuration of PodSecurity: %w", err)
		}
	}
	a := &podSecurity{Admission: podsecurity.Admission{
		Configuration: cfg, Evaluator: podSecurityChecks(), Metrics: unmeasured{},
		PodSpecExtractor: podsecurity.DefaultPodSpecExtractor{}, NamespaceGetter: namespaceOf{}, PodLister: &listedPods{},
	}}
	if err := a.CompleteConfiguration(); err != nil {
		return nil, fmt.Errorf("the configuration of PodSecurity: %w", err)
	}
	if err := a.ValidateConfiguration(); err != nil {
		return nil, fmt.Errorf("the configuration of PodSecurity: %w", err)
	}
	policy, err := psaconfig.ToPolicy(cfg.Defaults)
	if err != nil {
		return nil, fmt.Errorf("the configuration of PodSecurity: %w", err)
	}
	a.privileged = policy.FullyPrivileged()
	return a, nil
}

// security is the delegate in force: of the AdmissionConfiguration, else of the
// flags.
func (s *Server) security() *podSecurity {
	if p := configured[*podSecurity](s, "PodSecurity"); p != nil {
		return p
	}
	return s.podSecurity
}

// namespaceOf finds the namespace for a request.
type namespaceOf struct{ c *call }

func (n namespaceOf) GetNamespace(context.Context, string) (*corev1.Namespace, error) {
	return n.c.namespace()
}

// listedPods notes that the library wants to look at the pods of a namespace.
// It gets none: it would stop looking after a second of the machine's clock.
type listedPods struct{ asked bool }

func (l *listedPods) ListPods(context.Context, string) ([]*corev1.Pod, error) {
	l.asked = true
	return nil, nil
}

// unmeasured is a metrics recorder that drops what it hears: the trace tells it.
type unmeasured struct{}

func (unmeasured) RecordEvaluation(psametrics.Decision, psa.LevelVersion, psametrics.Mode, psa.Attributes) {
}
func (unmeasured) RecordExemption(psa.Attributes)   {}
func (unmeasured) RecordError(bool, psa.Attributes) {}

// checkPodSecurity is the plugin's Validate.
func checkPodSecurity(c *call, op operation) (string, []trace.FieldDiff, error) {
	gr := c.kind.GroupResource()
	isNamespace := c.kind.Is("Namespace")
	if op == opDelete || c.kind.Custom != nil || !isNamespace && !c.s.security().PodSpecExtractor.HasPodSpec(gr) {
		return "", nil, nil
	}
	if c.req.Subresource != "" && (!c.kind.Is("Pod") || c.req.Subresource == "status" || c.req.Subresource == "binding" || c.req.Subresource == "eviction") {
		return "", nil, nil
	}
	if !isNamespace {
		if plain, err := c.unlabelled(); plain || err != nil {
			return "", nil, err
		}
	}
	delegate, pods := c.s.security().Admission, &listedPods{}
	delegate.NamespaceGetter, delegate.PodLister = namespaceOf{c}, pods
	resp := delegate.Validate(context.Background(), &psa.AttributesRecord{
		Name: object.Meta(c.obj).GetName(), Namespace: c.admissionNamespace(), Kind: c.kind.GVK(), Resource: c.kind.GroupVersionResource,
		Subresource: c.req.Subresource, Operation: admissionv1.Operation(op), Object: c.obj, OldObject: c.old, Username: c.user.Name,
	})
	if !resp.Allowed {
		return "", nil, &apierrors.StatusError{ErrStatus: *resp.Result}
	}
	warnings := slices.Clone(resp.Warnings)
	if pods.asked {
		found, err := c.podsAgainst(&delegate)
		if err != nil {
			return "", nil, err
		}
		warnings = append(warnings, found...)
	}
	c.warnOf(warnings)
	return c.securityNote(resp, pods.asked, warnings), nil, nil
}

// admissionNamespace is the namespace that admission plugins see: of a namespace
// itself, its own name (RequestInfo).
func (c *call) admissionNamespace() string {
	if c.kind.Is("Namespace") {
		return c.Ref.Name
	}
	return c.Ref.Namespace
}

// unlabelled reports whether nothing is asked of the pods of the request's
// namespace: it has no label, and privileged is the default.
func (c *call) unlabelled() (bool, error) {
	if !c.s.security().privileged {
		return false, nil
	}
	ns, err := c.namespace()
	if err != nil {
		return false, err
	}
	for k := range ns.Labels {
		if strings.HasPrefix(k, podSecurityLabels) {
			return false, nil
		}
	}
	return true, nil
}

const podSecurityLabels = "pod-security.kubernetes.io/"

// warnOf adds warnings for the writer, each once.
func (c *call) warnOf(warnings []string) {
	if c.req.System {
		return
	}
	for _, w := range warnings {
		if !slices.Contains(c.Warnings, w) {
			c.Warnings = append(c.Warnings, w)
		}
	}
}

// securityNote is what the plugin did, in a sentence.
func (c *call) securityNote(resp *admissionv1.AdmissionResponse, asked bool, warnings []string) string {
	if reason := resp.AuditAnnotations[psa.ExemptionReasonAnnotationKey]; reason != "" {
		return "the request is exempt because of its " + reason + "."
	}
	if c.kind.Is("Namespace") {
		switch {
		case len(warnings) > 0:
			return "warned: " + strings.Join(warnings, "; ") + "."
		case len(resp.AuditAnnotations) == 0 && !labelsChanged(c.old, c.obj):
			return ""
		}
		if asked {
			return "the pods in the namespace keep what it enforces from now on."
		}
		return "the labels are valid; nothing that is enforced gets stricter, so the pods in the namespace are not looked at."
	}
	var parts []string
	if level := resp.AuditAnnotations[psa.EnforcedPolicyAnnotationKey]; level != "" {
		parts = append(parts, fmt.Sprintf("the pod keeps %q, which the namespace enforces", level))
	}
	if v := resp.AuditAnnotations[psa.AuditViolationsAnnotationKey]; v != "" {
		parts = append(parts, "noted for the audit log: "+v)
	}
	for _, w := range warnings {
		parts = append(parts, "warned: "+w)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// labelsChanged reports whether the labels the plugin reads differ.
func labelsChanged(old, obj runtime.Object) bool {
	pick := func(o runtime.Object) map[string]string {
		out := map[string]string{}
		if o == nil {
			return out
		}
		for k, v := range object.Meta(o).GetLabels() {
			if strings.HasPrefix(k, podSecurityLabels) {
				out[k] = v
			}
		}
		return out
	}
	return !object.Equal(pick(old), pick(obj))
}

// mostPodsChecked is how many pods of a namespace are looked at when its enforce
// level changes (defaultNamespaceMaxPodsToCheck).
const mostPodsChecked = 3000

// podsAgainst warns of the pods in the namespace that its new enforce level would
// refuse (Admission.EvaluatePodsInNamespace).
func (c *call) podsAgainst(a *podsecurity.Admission) ([]string, error) {
	policy, _ := a.PolicyToEvaluate(object.Meta(c.obj).GetLabels())
	var pods []*corev1.Pod
	if err := c.newest(client.Pods, c.Ref.Name, func(obj runtime.Object) { pods = append(pods, obj.(*corev1.Pod)) }); err != nil {
		return nil, err
	}
	pods = onePerController(pods, a.Configuration.Exemptions.RuntimeClasses)
	total := len(pods)
	pods = pods[:min(total, mostPodsChecked)]
	type group struct {
		reason, pod string
		n           int
	}
	var groups []*group
	byReason := map[string]*group{}
	for _, p := range pods {
		r := psapolicy.AggregateCheckResults(a.Evaluator.EvaluatePod(policy.Enforce, &p.ObjectMeta, &p.Spec))
		if r.Allowed {
			continue
		}
		g := byReason[r.ForbiddenReason()]
		if g == nil {
			g = &group{reason: r.ForbiddenReason(), pod: p.Name}
			byReason[g.reason] = g
			groups = append(groups, g)
		}
		g.pod = min(g.pod, p.Name)
		g.n++
	}
	var out, found []string
	if len(pods) < total {
		out = append(out, fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods", len(pods), total))
	}
	if len(groups) > 0 {
		out = append(out, fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q", c.Ref.Name, policy.Enforce.String()))
	}
	for _, g := range groups {
		switch g.n {
		case 1:
			found = append(found, fmt.Sprintf("%s: %s", g.pod, g.reason))
		case 2:
			found = append(found, fmt.Sprintf("%s (and 1 other pod): %s", g.pod, g.reason))
		default:
			found = append(found, fmt.Sprintf("%s (and %d other pods): %s", g.pod, g.n-1, g.reason))
		}
	}
	slices.Sort(found)
	return append(out, found...), nil
}

// onePerController puts one pod of each controller first, and leaves out exempt
// ones (prioritizePods).
func onePerController(pods []*corev1.Pod, exempt []string) []*corev1.Pod {
	var first, rest []*corev1.Pod
	seen := map[types.UID]bool{}
	for _, p := range pods {
		if rc := p.Spec.RuntimeClassName; rc != nil && *rc != "" && slices.Contains(exempt, *rc) {
			continue
		}
		owner := metav1.GetControllerOfNoCopy(p)
		if owner != nil && seen[owner.UID] {
			rest = append(rest, p)
			continue
		}
		if owner != nil {
			seen[owner.UID] = true
		}
		first = append(first, p)
	}
	return append(first, rest...)
}
