package apiserver

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
		Resource: client.IngressClasses, Singular: "ingressclass", Prefix: "/registry/ingressclasses/", onDemand: true,
		strategy: upstream(client.IngressClasses, ingressclass.Strategy, nil), field: metaField,
	},
	{
		Resource: client.Ingresses, Singular: "ingress", ShortNames: []string{"ing"}, Prefix: "/registry/ingress/", onDemand: true,
		strategy: upstream(client.Ingresses, ingress.Strategy, subStrategies{"status": ingress.StatusStrategy}), field: metaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.IPAddresses, Singular: "ipaddress", ShortNames: []string{"ip"}, Prefix: "/registry/ipaddresses/", onDemand: true,
		strategy: upstream(client.IPAddresses, ipaddress.Strategy, nil), field: metaField,
	},
	{
		Resource: client.NetworkPolicies, Singular: "networkpolicy", ShortNames: []string{"netpol"}, Prefix: "/registry/networkpolicies/", onDemand: true,
		strategy: upstream(client.NetworkPolicies, networkpolicy.Strategy, nil), field: metaField,
	},
	{
		Resource: client.ServiceCIDRs, Singular: "servicecidr", Prefix: "/registry/servicecidrs/", onDemand: true,
		strategy: upstream(client.ServiceCIDRs, servicecidr.Strategy, subStrategies{"status": servicecidr.StatusStrategy}), field: metaField,
		Subresources: statusSub(),
	},
}
