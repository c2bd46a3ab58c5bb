package apiserver

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/admission/policy"
	admissionwebhook "kviz/cluster/apiserver/admission/webhook"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/quota"
)

// newAdmission makes the row of plugins, in the order of
// pkg/kubeapiserver/options/plugins.go AllOrderedPlugins, as an AdmissionConfiguration
// has them. All of them are made again when the server starts.
func (s *Server) newAdmission(cfg admission.Configurations) *admission.Chain {
	var (
		l, by, clock = s.caches, s.authorizers, quota.Clock{Time: s.k.Now}
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
