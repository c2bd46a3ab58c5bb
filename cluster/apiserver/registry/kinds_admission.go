package registry

import (
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install" // types, defaulting, conversion

	"kviz/cluster/client"
)

// AdmissionKinds configure dynamic admission: webhooks and policies.
var AdmissionKinds = []*Kind{
	{
		Resource: client.MutatingAdmissionPolicies, Singular: "mutatingadmissionpolicy", Categories: []string{"api-extensions"},
		Prefix: "/registry/mutatingadmissionpolicies/", Strategy: mutatingPolicyStrategy, Field: MetaField,
	},
	{
		Resource: client.MutatingAdmissionPolicyBindings, Singular: "mutatingadmissionpolicybinding", Categories: []string{"api-extensions"},
		Prefix: "/registry/mutatingadmissionpolicybindings/", Strategy: mutatingBindingStrategy, Field: MetaField,
	},
	{
		Resource: client.MutatingWebhookConfigurations, Singular: "mutatingwebhookconfiguration", Categories: []string{"api-extensions"},
		Prefix: "/registry/mutatingwebhookconfigurations/", Strategy: mutatingWebhookStrategy, Field: MetaField,
	},
	{
		Resource: client.ValidatingAdmissionPolicies, Singular: "validatingadmissionpolicy", Categories: []string{"api-extensions"},
		Prefix: "/registry/validatingadmissionpolicies/", Strategy: validatingPolicyStrategy, Field: MetaField,
		Subresources: []Subresource{{Name: "status", Verbs: StatusOnly}},
	},
	{
		Resource: client.ValidatingAdmissionPolicyBindings, Singular: "validatingadmissionpolicybinding", Categories: []string{"api-extensions"},
		Prefix: "/registry/validatingadmissionpolicybindings/", Strategy: validatingBindingStrategy, Field: MetaField,
	},
	{
		Resource: client.ValidatingWebhookConfigurations, Singular: "validatingwebhookconfiguration", Categories: []string{"api-extensions"},
		Prefix: "/registry/validatingwebhookconfigurations/", Strategy: validatingWebhookStrategy, Field: MetaField,
	},
}
