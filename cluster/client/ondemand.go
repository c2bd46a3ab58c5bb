package client

import (
	"slices"

	"kviz/cluster/sim"
)

// The kinds that a cluster serves and that most clusters here never use. What
// follows every kind (the API server's watch caches, the garbage collector)
// begins with one of these when it comes into use, see [Usage].
var (
	APIServices                = resource("apiregistration.k8s.io", "v1", "apiservices", "APIService", false)
	LimitRanges                = resource("", "v1", "limitranges", "LimitRange", true)
	PersistentVolumes          = resource("", "v1", "persistentvolumes", "PersistentVolume", false)
	PersistentVolumeClaims     = resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true)
	PodTemplates               = resource("", "v1", "podtemplates", "PodTemplate", true)
	ReplicationControllers     = resource("", "v1", "replicationcontrollers", "ReplicationController", true)
	ResourceQuotas             = resource("", "v1", "resourcequotas", "ResourceQuota", true)
	ControllerRevisions        = resource("apps", "v1", "controllerrevisions", "ControllerRevision", true)
	DaemonSets                 = resource("apps", "v1", "daemonsets", "DaemonSet", true)
	StatefulSets               = resource("apps", "v1", "statefulsets", "StatefulSet", true)
	HorizontalPodAutoscalers   = resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true)
	CronJobs                   = resource("batch", "v1", "cronjobs", "CronJob", true)
	Jobs                       = resource("batch", "v1", "jobs", "Job", true)
	CertificateSigningRequests = resource("certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", false)
	ClusterTrustBundles        = resource("certificates.k8s.io", "v1", "clustertrustbundles", "ClusterTrustBundle", false)
	PodCertificateRequests     = resource("certificates.k8s.io", "v1", "podcertificaterequests", "PodCertificateRequest", true)
	FlowSchemas                = resource("flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", false)
	PriorityLevels             = resource("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", false)
	IngressClasses             = resource("networking.k8s.io", "v1", "ingressclasses", "IngressClass", false)
	Ingresses                  = resource("networking.k8s.io", "v1", "ingresses", "Ingress", true)
	IPAddresses                = resource("networking.k8s.io", "v1", "ipaddresses", "IPAddress", false)
	NetworkPolicies            = resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", true)
	ServiceCIDRs               = resource("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", false)
	RuntimeClasses             = resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false)
	PodDisruptionBudgets       = resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true)
	DeviceClasses              = resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false)
	DeviceTaintRules           = resource("resource.k8s.io", "v1", "devicetaintrules", "DeviceTaintRule", false)
	ResourceClaims             = resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true)
	ResourceClaimTemplates     = resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", true)
	ResourceSlices             = resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false)
	CSIDrivers                 = resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", false)
	CSINodes                   = resource("storage.k8s.io", "v1", "csinodes", "CSINode", false)
	CSIStorageCapacities       = resource("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity", true)
	StorageClasses             = resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", false)
	VolumeAttachments          = resource("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", false)
	VolumeAttributesClasses    = resource("storage.k8s.io", "v1", "volumeattributesclasses", "VolumeAttributesClass", false)
	StorageVersionMigrations   = resource("storagemigration.k8s.io", "v1", "storageversionmigrations", "StorageVersionMigration", false)
)

// The same objects in another version.
var (
	HorizontalPodAutoscalersV1 = resource("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true)
	NewEvents                  = resource("events.k8s.io", "v1", "events", "Event", true)
)

// SubjectAccessReviews are questions to the authorizers; they are not stored.
var SubjectAccessReviews = resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", false)

// ComponentStatuses can be read but are not stored.
var ComponentStatuses = resource("", "v1", "componentstatuses", "ComponentStatus", false)

// onDemand are the stored kinds of which nothing is kept before they are used.
var onDemand = []Resource{
	LimitRanges, PersistentVolumeClaims, PersistentVolumes, PodTemplates, ReplicationControllers, ResourceQuotas,
	APIServices,
	ControllerRevisions, DaemonSets, StatefulSets,
	HorizontalPodAutoscalers, CronJobs, Jobs, CertificateSigningRequests, ClusterTrustBundles, PodCertificateRequests,
	FlowSchemas, PriorityLevels,
	IngressClasses, Ingresses, IPAddresses, NetworkPolicies, ServiceCIDRs,
	RuntimeClasses, PodDisruptionBudgets,
	DeviceClasses, DeviceTaintRules, ResourceClaims, ResourceClaimTemplates, ResourceSlices,
	CSIDrivers, CSINodes, CSIStorageCapacities, StorageClasses, VolumeAttachments, VolumeAttributesClasses, StorageVersionMigrations,
}

// All lists every built-in kind whose objects are stored: those of [Resources],
// then those that are watched only once they are used. It is shared: not to be changed.
func All() []Resource { return all }

// all is made once: the garbage collector looks through it for every owner.
var all = slices.Concat(Resources(), onDemand)

// Usage is what a connection knows about the kinds that are not in [Resources]: which
// of them have, or had, objects. It replaces the discovery that the garbage collector
// repeats every 30 s (garbagecollector.go Sync), and with which it would watch thirty
// kinds that nobody uses.
type Usage interface {
	// UsedKinds gives the kinds in use, in the order in which they came into use.
	UsedKinds() []Resource
	// AwaitUse waits until there are more than known of them, and returns those after
	// the first known.
	AwaitUse(t *sim.Task, known int) []Resource
	// AwaitCustomKinds waits until the custom kinds are others than they were at
	// the state that an earlier call gave (zero: than none), and gives all of them,
	// in the order of their definitions' names, and the state.
	AwaitCustomKinds(t *sim.Task, since uint64) ([]CustomKind, uint64)
}

// InUse gives the kinds of [All] that may have objects: those of Resources, and
// those that the cluster says are in use.
func InUse(c Interface) []Resource {
	if u, ok := As[Usage](c); ok {
		return slices.Concat(Resources(), u.UsedKinds())
	}
	return Resources()
}

// AwaitUseOf waits until one of the kinds has had objects. A connection that does not
// tell of use has it return at once.
func AwaitUseOf(t *sim.Task, c Interface, kinds ...Resource) {
	u, ok := As[Usage](c)
	for known := 0; ok; {
		for _, r := range u.AwaitUse(t, known) {
			if slices.Contains(kinds, r) {
				return
			}
			known++
		}
	}
}

// Balance is what a connection knows of load balancers: whether a Service has ever asked
// for one. It is for Services of that type what [Usage] is for kinds.
type Balance interface {
	// AwaitBalanced waits until there may have been a Service of type LoadBalancer.
	AwaitBalanced(t *sim.Task)
}

// AwaitBalanced waits until there may have been a Service of type LoadBalancer. A connection that
// does not know has it return at once.
func AwaitBalanced(t *sim.Task, c Interface) {
	if b, ok := As[Balance](c); ok {
		b.AwaitBalanced(t)
	}
}
