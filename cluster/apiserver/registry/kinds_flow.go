package registry

import (
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install" // types, defaulting, conversion
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"

	"kviz/cluster/client"
)

// flowKinds configure priority and fairness: see the package flowcontrol.
var flowKinds = []*Kind{
	{
		Resource: client.FlowSchemas, Singular: "flowschema", Prefix: "/registry/flowschemas/", OnDemand: true,
		Strategy: upstream(client.FlowSchemas, flowschema.Strategy, subStrategies{"status": flowschema.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.PriorityLevels, Singular: "prioritylevelconfiguration", Prefix: "/registry/prioritylevelconfigurations/", OnDemand: true,
		Strategy: upstream(client.PriorityLevels, prioritylevelconfiguration.Strategy, subStrategies{"status": prioritylevelconfiguration.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
}
