package apiserver

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/admission/policy"
	admissionwebhook "kviz/cluster/apiserver/admission/webhook"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// newAdmission makes the row of plugins, in the order of
// pkg/kubeapiserver/options/plugins.go AllOrderedPlugins, as an AdmissionConfiguration
// has them. All of them are made anew when the server starts.
func (s *Server) newAdmission(cfg admission.Configurations) *admission.Chain {
	var (
		l, by, clock = lister{s}, s.authorizers, virtualClock{s.k}
		limits       = admission.NewLimitRanger(l)
		restriction  = admission.NewNodeRestriction(l, by)
		priority     = admission.NewPriority(l)
		runtimeClass = admission.NewRuntimeClass(l)
		reviewer     = func(codec runtime.Codec, address string, pause time.Duration) admission.Backend {
			return &webhook.Reviewer{Client: s.webhooks, Codec: codec, Address: address, Timeout: webhook.ReviewTimeout, Pause: pause}
		}
	)
	security, err := admission.NewPodSecurity(cfg, s.cfg.PodSecurity, l)
	if err != nil {
		panic("apiserver: " + err.Error()) // by the flags, which are code
	}
	s.restriction = restriction
	return &admission.Chain{
		Mutating: []admission.Mutating{
			admission.NewNamespaceLifecycle(l),
			limits,
			admission.NewServiceAccount(l, names{s}),
			restriction,
			admission.TaintNodesByCondition{},
			priority,
			admission.DefaultTolerationSeconds{},
			admission.NewDefaultStorageClass(l),
			admission.StorageObjectInUseProtection{},
			runtimeClass,
			admission.NewDefaultIngressClass(l),
			admission.NewPodTopologyLabels(l),
		},
		Dynamic: []admission.Dynamic{s.policies, s.hooks},
		Validating: []admission.Validating{
			limits,
			admission.NewImagePolicyWebhook(cfg, clock, reviewer),
			security,
			priority,
			admission.NewEventRateLimit(cfg, clock),
			admission.NewPersistentVolumeClaimResize(l),
			runtimeClass,
			admission.NewCertificateApproval(by),
			admission.NewCertificateSigning(by),
			admission.CertificateSubjectRestriction{},
			policy.Validating{Policies: s.policies},
			admissionwebhook.Validating{Hooks: s.hooks},
			admission.NewResourceQuota(l, quotaWriter{s}, s.cfg.LimitedResources, s.k.Now),
		},
	}
}

// startAdmission begins admission without a configuration, and has the caches tell of
// changes.
func (s *Server) startAdmission() {
	s.policies = policy.NewPolicies(lister{s}, s.authorizers, policyKinds{s})
	s.hooks = admissionwebhook.NewHooks(lister{s}, s.authorizers, s.webhooks)
	s.admission = s.newAdmission(nil)
	policies, hooks := s.policies, s.hooks
	for _, k := range registry.AdmissionKinds {
		s.caches[k].Changed = func(string, runtime.Object) {
			policies.Changed()
			hooks.Changed()
		}
	}
}

// admissionConfig is what the file comes to: a line a plugin.
func (s *Server) admissionConfig(file []byte) (config, error) {
	plugins, err := admission.ReadConfigurations(file)
	if err != nil {
		return config{}, err
	}
	return config{lines: plugins.Lines(), use: func(*sim.Task) { s.admission = s.newAdmission(plugins) }}, nil
}

// admissionAttributes are a request as admission sees it that writes obj in place of
// old: nil of a deletion, and of a creation.
func (c *call) admissionAttributes(op admission.Operation, obj runtime.Object, old *etcd3.Stored) *admission.Attributes {
	a := &admission.Attributes{
		Operation: op, Kind: c.kind.GVK(), Resource: c.kind.GroupVersionResource, Subresource: c.req.Subresource,
		Namespaced: c.kind.Namespaced, Custom: c.kind.Custom != nil, Namespace: c.Ref.Namespace, Name: c.Ref.Name,
		DryRun: c.req.DryRun, User: c.user, Object: obj,
		SentKind: c.bodyKind(), SentResource: c.req.Resource, SentCreates: c.req.Verb == "create",
		FieldManager: c.req.FieldManager, Validation: c.req.FieldValidation, Options: &c.req.Delete, Objects: objectInterfaces{c},
	}
	if old != nil {
		a.OldObject = old.Object
	}
	return a
}

// mutate is the mutating admission stage.
func (c *call) mutate(a *admission.Attributes) (admitted, error) {
	const stage = trace.StageMutatingAdmission
	switch {
	case a.OldObject != nil:
		c.Ref.UID = string(object.Meta(a.OldObject).GetUID())
	case a.Object != nil:
		c.Ref.UID = string(object.Meta(a.Object).GetUID())
	default:
		c.Ref.UID = ""
	}
	if err := c.mayCreateCustom(a.Operation); err != nil {
		return admitted{}, c.Refuse(stage, "", err)
	}
	did, by, err := c.s.admission.Admit(&c.Scope, a)
	if err != nil {
		return admitted{}, c.Refuse(stage, by, err)
	}
	if did.Note == "" {
		did.Note = "No admission plugin changes anything."
	}
	c.Pass(stage, by, did.Note, did.Diff)
	if by, err := c.s.admission.AdmitDynamic(&c.Scope, a); err != nil {
		return admitted{}, c.Refuse(stage, by, err)
	}
	return admitted{a.Object}, nil
}

// admit is the validating admission stage; a is what mutating admission saw.
func (c *call) admit(a *admission.Attributes, in validated) (approved, error) {
	const stage = trace.StageValidatingAdmission
	a.Object, a.Name = in.obj, c.Ref.Name
	did, by, err := c.s.admission.Validate(&c.Scope, a)
	if !c.req.System {
		for _, w := range did.Warnings {
			c.Warn(w)
		}
	}
	if err != nil {
		c.release(a.Object, a.OldObject)
		return approved{}, c.Refuse(stage, by, err)
	}
	if did.Note == "" {
		did.Note = "No admission plugin objects."
	}
	c.Pass(stage, by, did.Note, nil)
	return approved(in), nil
}

// names gives names from the server's stream of random numbers ([admission.Names]).
type names struct{ s *Server }

// Generate is [admission.Names].
func (n names) Generate(base string) string { return n.s.generateName(base) }

// Rand is [admission.Names].
func (n names) Rand() *rand.Rand { return n.s.rand }

// quotaWriter writes quotas as requests of the server to itself
// ([admission.QuotaWriter]).
type quotaWriter struct{ s *Server }

// WriteUse is [admission.QuotaWriter].
func (w quotaWriter) WriteUse(t *sim.Task, q *corev1.ResourceQuota, causes []trace.ID) (*corev1.ResourceQuota, error) {
	resp := w.s.serve(t, &Request{
		Verb: "update", Resource: client.ResourceQuotas.GroupVersionResource, Subresource: "status", Namespace: q.Namespace, Name: q.Name,
		User: &authn.User{Name: "system:apiserver", Groups: []string{authn.Masters}}, Client: "apiserver", Causes: causes, Object: q, System: true,
	})
	now, _ := resp.Object.(*corev1.ResourceQuota)
	return now, resp.Err
}
