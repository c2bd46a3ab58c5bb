package apiserver

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
		Resource: client.ControllerRevisions, Singular: "controllerrevision", Prefix: "/registry/controllerrevisions/", onDemand: true,
		strategy: upstream(client.ControllerRevisions, controllerrevision.Strategy, nil), field: metaField,
	},
	{
		Resource: client.DaemonSets, Singular: "daemonset", ShortNames: []string{"ds"}, Categories: []string{"all"}, Prefix: "/registry/daemonsets/", onDemand: true,
		strategy: upstream(client.DaemonSets, daemonset.Strategy, subStrategies{"status": daemonset.StatusStrategy}), field: metaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.StatefulSets, Singular: "statefulset", ShortNames: []string{"sts"}, Categories: []string{"all"}, Prefix: "/registry/statefulsets/", onDemand: true,
		strategy: upstream(client.StatefulSets, statefulset.Strategy, subStrategies{"status": statefulset.StatusStrategy}), field: metaField,
		Subresources: scaleSubs(),
	},
	horizontalPodAutoscalerKind,
	{
		Resource: client.HorizontalPodAutoscalersV1, Singular: "horizontalpodautoscaler", ShortNames: []string{"hpa"}, Categories: []string{"all"},
		Prefix: horizontalPodAutoscalerKind.Prefix, onDemand: true, hub: horizontalPodAutoscalerKind,
		strategy: autoscalerStrategy(client.HorizontalPodAutoscalersV1), field: metaField, Subresources: statusSub(),
	},
	{
		Resource: client.CronJobs, Singular: "cronjob", ShortNames: []string{"cj"}, Categories: []string{"all"}, Prefix: "/registry/cronjobs/", onDemand: true,
		strategy: upstream(client.CronJobs, cronjob.Strategy, subStrategies{"status": cronjob.StatusStrategy}), field: metaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.Jobs, Singular: "job", Categories: []string{"all"}, Prefix: "/registry/jobs/", onDemand: true,
		strategy: upstream(client.Jobs, jobStrategy{declarative}, subStrategies{"status": jobStatusStrategy{jobStrategy{declarative}}}), field: jobField,
		Subresources: statusSub(),
	},
	{
		Resource: client.PodDisruptionBudgets, Singular: "poddisruptionbudget", ShortNames: []string{"pdb"}, Prefix: "/registry/poddisruptionbudgets/", onDemand: true,
		strategy: upstream(client.PodDisruptionBudgets, poddisruptionbudget.Strategy, subStrategies{"status": poddisruptionbudget.StatusStrategy}), field: metaField,
		Subresources: statusSub(),
	},
}

var horizontalPodAutoscalerKind = &Kind{
	Resource: client.HorizontalPodAutoscalers, Singular: "horizontalpodautoscaler", ShortNames: []string{"hpa"}, Categories: []string{"all"},
	Prefix: "/registry/horizontalpodautoscalers/", onDemand: true,
	strategy: autoscalerStrategy(client.HorizontalPodAutoscalers), field: metaField, Subresources: statusSub(),
}

func autoscalerStrategy(r client.Resource) *strategy {
	return upstream(r, horizontalpodautoscaler.Strategy, subStrategies{"status": horizontalpodautoscaler.StatusStrategy})
}

func jobField(obj runtime.Object, name string) (string, bool) {
	if name == "status.successful" {
		return strconv.Itoa(int(obj.(*batchv1.Job).Status.Succeeded)), true
	}
	return metaField(obj, name)
}
