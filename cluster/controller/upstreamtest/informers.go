package upstreamtest

import (
	appslisters "k8s.io/client-go/listers/apps/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
)

// The caches as client-go's informers of the kinds.
type (
	Pods         struct{ *Cache }
	Nodes        struct{ *Cache }
	DaemonSets   struct{ *Cache }
	Revisions    struct{ *Cache }
	Budgets      struct{ *Cache }
	Controllers  struct{ *Cache }
	ReplicaSets  struct{ *Cache }
	Deployments  struct{ *Cache }
	StatefulSets struct{ *Cache }
	Jobs         struct{ *Cache }
	CronJobs     struct{ *Cache }
)

// Informer and Lister are those of client-go/informers.

func (i Pods) Informer() cache.SharedIndexInformer         { return i }
func (i Nodes) Informer() cache.SharedIndexInformer        { return i }
func (i DaemonSets) Informer() cache.SharedIndexInformer   { return i }
func (i Revisions) Informer() cache.SharedIndexInformer    { return i }
func (i Budgets) Informer() cache.SharedIndexInformer      { return i }
func (i Controllers) Informer() cache.SharedIndexInformer  { return i }
func (i ReplicaSets) Informer() cache.SharedIndexInformer  { return i }
func (i Deployments) Informer() cache.SharedIndexInformer  { return i }
func (i StatefulSets) Informer() cache.SharedIndexInformer { return i }
func (i Jobs) Informer() cache.SharedIndexInformer         { return i }
func (i CronJobs) Informer() cache.SharedIndexInformer     { return i }

func (i Pods) Lister() corelisters.PodLister   { return corelisters.NewPodLister(i.Indexer) }
func (i Nodes) Lister() corelisters.NodeLister { return corelisters.NewNodeLister(i.Indexer) }
func (i DaemonSets) Lister() appslisters.DaemonSetLister {
	return appslisters.NewDaemonSetLister(i.Indexer)
}

func (i Revisions) Lister() appslisters.ControllerRevisionLister {
	return appslisters.NewControllerRevisionLister(i.Indexer)
}

func (i Budgets) Lister() policylisters.PodDisruptionBudgetLister {
	return policylisters.NewPodDisruptionBudgetLister(i.Indexer)
}

func (i Controllers) Lister() corelisters.ReplicationControllerLister {
	return corelisters.NewReplicationControllerLister(i.Indexer)
}

func (i ReplicaSets) Lister() appslisters.ReplicaSetLister {
	return appslisters.NewReplicaSetLister(i.Indexer)
}

func (i Deployments) Lister() appslisters.DeploymentLister {
	return appslisters.NewDeploymentLister(i.Indexer)
}

func (i StatefulSets) Lister() appslisters.StatefulSetLister {
	return appslisters.NewStatefulSetLister(i.Indexer)
}
func (i Jobs) Lister() batchlisters.JobLister { return batchlisters.NewJobLister(i.Indexer) }
func (i CronJobs) Lister() batchlisters.CronJobLister {
	return batchlisters.NewCronJobLister(i.Indexer)
}
