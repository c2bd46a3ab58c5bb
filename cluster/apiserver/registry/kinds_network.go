package registry

import (
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"

	"kviz/cluster/client"
)

// networkKinds are the kinds of networking.k8s.io.
var networkKinds = []*Kind{
	{
		Resource: client.IngressClasses, Singular: "ingressclass", Prefix: "/registry/ingressclasses/", OnDemand: true,
		Strategy: upstream(client.IngressClasses, ingressclass.Strategy, nil), Field: MetaField,
	},
	{
		Resource: client.Ingresses, Singular: "ingress", ShortNames: []string{"ing"}, Prefix: "/registry/ingress/", OnDemand: true,
		Strategy: upstream(client.Ingresses, ingress.Strategy, subStrategies{"status": ingress.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.IPAddresses, Singular: "ipaddress", ShortNames: []string{"ip"}, Prefix: "/registry/ipaddresses/", OnDemand: true,
		Strategy: upstream(client.IPAddresses, ipaddress.Strategy, nil), Field: MetaField,
	},
	{
		Resource: client.NetworkPolicies, Singular: "networkpolicy", ShortNames: []string{"netpol"}, Prefix: "/registry/networkpolicies/", OnDemand: true,
		Strategy: upstream(client.NetworkPolicies, networkpolicy.Strategy, nil), Field: MetaField,
	},
	{
		Resource: client.ServiceCIDRs, Singular: "servicecidr", Prefix: "/registry/servicecidrs/", OnDemand: true,
		Strategy: upstream(client.ServiceCIDRs, servicecidr.Strategy, subStrategies{"status": servicecidr.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
}
