package apiserver

import (
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install" // types, defaulting, conversion

	"kviz/cluster/client"
)

// admissionKinds configure dynamic admission: webhooks and policies.
var admissionKinds = []*Kind{
	{
		Resource: client.MutatingAdmissionPolicies, Singular: "mutatingadmissionpolicy", Categories: []string{"api-extensions"},
		Prefix: "/registry/mutatingadmissionpolicies/", strategy: mutatingPolicyStrategy, field: metaField,
	},
	{
		Resource: client.MutatingAdmissionPolicyBindings, Singular: "mutatingadmissionpolicybinding", Categories: []string{"api-extensions"},
		Prefix: "/registry/mutatingadmissionpolicybindings/", strategy: mutatingBindingStrategy, field: metaField,
	},
	{
		Resource: client.MutatingWebhookConfigurations, Singular: "mutatingwebhookconfiguration", Categories: []string{"api-extensions"},
		Prefix: "/registry/mutatingwebhookconfigurations/", strategy: mutatingWebhookStrategy, field: metaField,
	},
	{
		Resource: client.ValidatingAdmissionPolicies, Singular: "validatingadmissionpolicy", Categories: []string{"api-extensions"},
		Prefix: "/registry/validatingadmissionpolicies/", strategy: validatingPolicyStrategy, field: metaField,
		Subresources: []Subresource{{Name: "status", Verbs: statusOnly}},
	},
	{
		Resource: client.ValidatingAdmissionPolicyBindings, Singular: "validatingadmissionpolicybinding", Categories: []string{"api-extensions"},
		Prefix: "/registry/validatingadmissionpolicybindings/", strategy: validatingBindingStrategy, field: metaField,
	},
	{
		Resource: client.ValidatingWebhookConfigurations, Singular: "validatingwebhookconfiguration", Categories: []string{"api-extensions"},
		Prefix: "/registry/validatingwebhookconfigurations/", strategy: validatingWebhookStrategy, field: metaField,
	},
}
