package registry

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
)

// limitKinds are the kinds with which a namespace's use of the cluster is
// limited.
var limitKinds = []*Kind{
	{Resource: client.LimitRanges, Singular: "limitrange", ShortNames: []string{"limits"}, Prefix: "/registry/limitranges/", OnDemand: true, Strategy: limitRangeStrategy(), Field: MetaField},
	{
		Resource: client.ResourceQuotas, Singular: "resourcequota", ShortNames: []string{"quota"}, Prefix: "/registry/resourcequotas/", OnDemand: true,
		Strategy: upstream(client.ResourceQuotas, resourcequota.Strategy, subStrategies{"status": resourcequota.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
}

// limitRangeStrategy is upstream's, but for the name of one that has none: upstream
// draws it from the machine.
func limitRangeStrategy() *Strategy {
	st := upstream(client.LimitRanges, limitrange.Strategy, nil)
	prepare := st.Prepare
	st.Prepare = func(w *Write, obj, old runtime.Object) {
		if lr := obj.(*corev1.LimitRange); old == nil && lr.Name == "" {
			lr.Name = string(object.NewUID(w.Rand))
		}
		prepare(w, obj, old)
	}
	return st
}
