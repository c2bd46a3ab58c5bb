package admission

import (
	"context"
	"fmt"
	"maps"
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
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
)

// PodSecurity is the plugin of that name (plugin/pkg/admission/security/podsecurity): a
// namespace's labels say which Pod Security Standard its pods must keep (enforce), and
// which one they are only measured by (audit, warn). Workloads are never refused, only
// warned of, because it is their pods that are checked. The decisions are those of
// k8s.io/pod-security-admission.
type PodSecurity struct {
	lister   Lister
	delegate *podSecurity
}

// NewPodSecurity makes the plugin: as the AdmissionConfiguration has it, else by flags.
// Flags of nil are upstream's: what a namespace does not say is privileged, nobody is
// exempt.
func NewPodSecurity(cfg Configurations, flags *psaconfig.PodSecurityConfiguration, l Lister) (*PodSecurity, error) {
	p := &PodSecurity{lister: l}
	if p.delegate = configured[*podSecurity](cfg, p); p.delegate != nil {
		return p, nil
	}
	var err error
	p.delegate, err = newPodSecurity(flags)
	return p, err
}

// Library is what decides: k8s.io/pod-security-admission as it is configured.
func (p *PodSecurity) Library() podsecurity.Admission { return p.delegate.Admission }

// Name is [Plugin].
func (*PodSecurity) Name() string { return "PodSecurity" }

// Privileged containers are allowed in general, as in a kubeadm cluster, whose server
// runs with --allow-privileged: this plugin decides who may have them.
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
		PodSpecExtractor: podsecurity.DefaultPodSpecExtractor{}, NamespaceGetter: namespaceGetter{}, PodLister: &listedPods{},
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

// namespaceGetter finds the namespace for a request.
type namespaceGetter struct {
	r      *request.Scope
	lister Lister
	name   string
}

func (n namespaceGetter) GetNamespace(context.Context, string) (*corev1.Namespace, error) {
	return namespaceOf(n.r, n.lister, n.name)
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

// Validate is [Validating].
func (p *PodSecurity) Validate(r *request.Scope, a *Attributes) (Result, error) {
	isNamespace := a.Is("Namespace")
	if a.Operation == Delete || a.Custom || !isNamespace && !p.delegate.PodSpecExtractor.HasPodSpec(a.Resource.GroupResource()) {
		return Result{}, nil
	}
	if a.Subresource != "" && (!a.Is("Pod") || a.Subresource == "status" || a.Subresource == "binding" || a.Subresource == "eviction") {
		return Result{}, nil
	}
	namespace := a.Namespace
	if isNamespace {
		namespace = a.Name // as RequestInfo has it
	} else if plain, err := p.unlabelled(r, a); plain || err != nil {
		return Result{}, err
	}
	delegate, pods := p.delegate.Admission, &listedPods{}
	delegate.NamespaceGetter, delegate.PodLister = namespaceGetter{r, p.lister, a.Namespace}, pods
	resp := delegate.Validate(context.Background(), &psa.AttributesRecord{
		Name: object.Meta(a.Object).GetName(), Namespace: namespace, Kind: a.Kind, Resource: a.Resource,
		Subresource: a.Subresource, Operation: admissionv1.Operation(a.Operation), Object: a.Object, OldObject: a.OldObject, Username: a.User.Name,
	})
	for _, k := range slices.Sorted(maps.Keys(resp.AuditAnnotations)) { // as the plugin does before it refuses
		r.Annotate(psa.AuditAnnotationPrefix+k, resp.AuditAnnotations[k])
	}
	if !resp.Allowed {
		return Result{}, &apierrors.StatusError{ErrStatus: *resp.Result}
	}
	warnings := slices.Clone(resp.Warnings)
	if pods.asked {
		found, err := p.podsAgainst(r, a, &delegate)
		if err != nil {
			return Result{}, err
		}
		warnings = append(warnings, found...)
	}
	return Result{Note: securityNote(a, resp, pods.asked, warnings), Warnings: warnings}, nil
}

// unlabelled reports whether nothing is asked of the pods of the request's
// namespace: it has no label, and privileged is the default.
func (p *PodSecurity) unlabelled(r *request.Scope, a *Attributes) (bool, error) {
	if !p.delegate.privileged {
		return false, nil
	}
	ns, err := namespaceOf(r, p.lister, a.Namespace)
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

// securityNote is what the plugin did, in a sentence.
func securityNote(a *Attributes, resp *admissionv1.AdmissionResponse, asked bool, warnings []string) string {
	if reason := resp.AuditAnnotations[psa.ExemptionReasonAnnotationKey]; reason != "" {
		return "the request is exempt because of its " + reason + "."
	}
	if a.Is("Namespace") {
		switch {
		case len(warnings) > 0:
			return "warned: " + strings.Join(warnings, "; ") + "."
		case len(resp.AuditAnnotations) == 0 && !labelsChanged(a.OldObject, a.Object):
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
	return !maps.Equal(pick(old), pick(obj))
}

// mostPodsChecked is how many pods of a namespace are looked at when its enforce
// level changes (defaultNamespaceMaxPodsToCheck).
const mostPodsChecked = 3000

// podsAgainst warns of the pods in the namespace that its new enforce level would
// refuse (Admission.EvaluatePodsInNamespace).
func (p *PodSecurity) podsAgainst(r *request.Scope, a *Attributes, by *podsecurity.Admission) ([]string, error) {
	policy, _ := by.PolicyToEvaluate(object.Meta(a.Object).GetLabels())
	pods, err := newest[*corev1.Pod](r, a, p.lister, client.Pods, a.Name)
	if err != nil {
		return nil, err
	}
	pods = onePerController(pods, by.Configuration.Exemptions.RuntimeClasses)
	total := len(pods)
	pods = pods[:min(total, mostPodsChecked)]
	type group struct {
		reason, pod string
		n           int
	}
	var groups []*group
	byReason := map[string]*group{}
	for _, pod := range pods {
		found := psapolicy.AggregateCheckResults(by.Evaluator.EvaluatePod(policy.Enforce, &pod.ObjectMeta, &pod.Spec))
		if found.Allowed {
			continue
		}
		g := byReason[found.ForbiddenReason()]
		if g == nil {
			g = &group{reason: found.ForbiddenReason(), pod: pod.Name}
			byReason[g.reason] = g
			groups = append(groups, g)
		}
		g.pod = min(g.pod, pod.Name)
		g.n++
	}
	var out, found []string
	if len(pods) < total {
		out = append(out, fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods", len(pods), total))
	}
	if len(groups) > 0 {
		out = append(out, fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q", a.Name, policy.Enforce.String()))
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

// readPodSecurity reads a PodSecurityConfiguration: what holds for namespaces
// without labels, and what is exempt.
func readPodSecurity(raw []byte) (*Configuration, error) {
	cfg, err := psaload.LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	made, err := newPodSecurity(cfg)
	if err != nil {
		return nil, err
	}
	d := &cfg.Defaults
	says := fmt.Sprintf("enforce %s, audit %s, warn %s", d.Enforce, d.Audit, d.Warn)
	for _, e := range []struct {
		what string
		list []string
	}{{"users", cfg.Exemptions.Usernames}, {"namespaces", cfg.Exemptions.Namespaces}, {"runtime classes", cfg.Exemptions.RuntimeClasses}} {
		if len(e.list) > 0 {
			says += "; exempt " + e.what + " " + strings.Join(e.list, ", ")
		}
	}
	return &Configuration{Says: says, value: made}, nil
}
