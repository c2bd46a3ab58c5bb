package apiserver

import (
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install" // types, defaulting, conversion
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"

	"kviz/cluster/client"
)

// flowKinds configure priority and fairness: see flowcontrol.go.
var flowKinds = []*Kind{
	{
		Resource: client.FlowSchemas, Singular: "flowschema", Prefix: "/registry/flowschemas/", onDemand: true,
		strategy: upstream(client.FlowSchemas, flowschema.Strategy, subStrategies{"status": flowschema.StatusStrategy}), field: metaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.PriorityLevels, Singular: "prioritylevelconfiguration", Prefix: "/registry/prioritylevelconfigurations/", onDemand: true,
		strategy: upstream(client.PriorityLevels, prioritylevelconfiguration.Strategy, subStrategies{"status": prioritylevelconfiguration.StatusStrategy}), field: metaField,
		Subresources: statusSub(),
	},
}
