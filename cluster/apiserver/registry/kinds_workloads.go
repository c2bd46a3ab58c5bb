package registry

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"

	"kviz/cluster/client"
)

// workloadKinds are the kinds of apps, batch, autoscaling and policy.
var workloadKinds = []*Kind{
	{
		Resource: client.ControllerRevisions, Singular: "controllerrevision", Prefix: "/registry/controllerrevisions/", OnDemand: true,
		Strategy: upstream(client.ControllerRevisions, controllerrevision.Strategy, nil), Field: MetaField,
	},
	{
		Resource: client.DaemonSets, Singular: "daemonset", ShortNames: []string{"ds"}, Categories: []string{"all"}, Prefix: "/registry/daemonsets/", OnDemand: true,
		Strategy: upstream(client.DaemonSets, daemonset.Strategy, subStrategies{"status": daemonset.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.StatefulSets, Singular: "statefulset", ShortNames: []string{"sts"}, Categories: []string{"all"}, Prefix: "/registry/statefulsets/", OnDemand: true,
		Strategy: upstream(client.StatefulSets, statefulset.Strategy, subStrategies{"status": statefulset.StatusStrategy}), Field: MetaField,
		Subresources: scaleSubs(),
	},
	horizontalPodAutoscalerKind,
	{
		Resource: client.HorizontalPodAutoscalersV1, Singular: "horizontalpodautoscaler", ShortNames: []string{"hpa"}, Categories: []string{"all"},
		Prefix: horizontalPodAutoscalerKind.Prefix, OnDemand: true, Hub: horizontalPodAutoscalerKind,
		Strategy: autoscalerStrategy(client.HorizontalPodAutoscalersV1), Field: MetaField, Subresources: statusSub(),
	},
	{
		Resource: client.CronJobs, Singular: "cronjob", ShortNames: []string{"cj"}, Categories: []string{"all"}, Prefix: "/registry/cronjobs/", OnDemand: true,
		Strategy: upstream(client.CronJobs, cronjob.Strategy, subStrategies{"status": cronjob.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.Jobs, Singular: "job", Categories: []string{"all"}, Prefix: "/registry/jobs/", OnDemand: true,
		Strategy: upstream(client.Jobs, jobStrategy{Declarative}, subStrategies{"status": jobStatusStrategy{jobStrategy{Declarative}}}), Field: jobField,
		Subresources: statusSub(),
	},
	{
		Resource: client.PodDisruptionBudgets, Singular: "poddisruptionbudget", ShortNames: []string{"pdb"}, Prefix: "/registry/poddisruptionbudgets/", OnDemand: true,
		Strategy: upstream(client.PodDisruptionBudgets, poddisruptionbudget.Strategy, subStrategies{"status": poddisruptionbudget.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
}

var horizontalPodAutoscalerKind = &Kind{
	Resource: client.HorizontalPodAutoscalers, Singular: "horizontalpodautoscaler", ShortNames: []string{"hpa"}, Categories: []string{"all"},
	Prefix: "/registry/horizontalpodautoscalers/", OnDemand: true,
	Strategy: autoscalerStrategy(client.HorizontalPodAutoscalers), Field: MetaField, Subresources: statusSub(),
}

func autoscalerStrategy(r client.Resource) *Strategy {
	return upstream(r, horizontalpodautoscaler.Strategy, subStrategies{"status": horizontalpodautoscaler.StatusStrategy})
}

func jobField(obj runtime.Object, name string) (string, bool) {
	if name == "status.successful" {
		return strconv.Itoa(int(obj.(*batchv1.Job).Status.Succeeded)), true
	}
	return MetaField(obj, name)
}
