package apiserver

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/admission/policy"
	admissionwebhook "kviz/cluster/apiserver/admission/webhook"
	"kviz/cluster/apiserver/authn"
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
		accounts     = admission.NewServiceAccount(l, s.names)
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
			accounts,
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
			accounts,
			admission.NewImagePolicyWebhook(cfg, clock, reviewer),
			security,
			priority,
			admission.NewEventRateLimit(cfg, clock),
			admission.NewPersistentVolumeClaimResize(l),
			runtimeClass,
			admission.NewCertificateApproval(by),
			admission.NewCertificateSigning(by),
			admission.NewClusterTrustBundleAttest(by),
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
	s.handlers.Admission = s.newAdmission(nil)
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
	return config{lines: plugins.Lines(), use: func(*sim.Task) { s.handlers.Admission = s.newAdmission(plugins) }}, nil
}

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
