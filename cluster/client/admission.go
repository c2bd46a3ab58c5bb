package client

// The kinds that configure dynamic admission.
var (
	MutatingAdmissionPolicies         = resource("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", false)
	MutatingAdmissionPolicyBindings   = resource("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", false)
	MutatingWebhookConfigurations     = resource("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false)
	ValidatingAdmissionPolicies       = resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false)
	ValidatingAdmissionPolicyBindings = resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", false)
	ValidatingWebhookConfigurations   = resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false)
)
