package main

import (
	"regexp"
	"strings"
)

// focus is a container of specs.
type focus struct {
	name  string // of the container, as Kubernetes has it after its group
	sig   string
	speed int  // of the cluster's clock
	quick bool // takes seconds: part of every run of .ci/run
	zones bool // its nodes are in zones, one each
	// manifest is applied before, from the folder assets/manifests; "" for none.
	manifest string
}

// pattern is what the end-to-end tests take for -ginkgo.focus. The name of their suite
// stands before that of the spec.
func (f focus) pattern() string {
	return `\[` + f.sig + `\] ` + regexp.QuoteMeta(f.name) + `(\W|$)`
}

// folder is what its reports are kept in: lists of files are separated by colons.
func (f focus) folder() string { return notInNames.ReplaceAllString(f.name, "-") }

var notInNames = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// focuses are what is run. What they have in common is that no answer of a container is
// waited for.
var focuses = []focus{
	{name: "API priority and fairness", sig: "sig-api-machinery", speed: 1, quick: true},
	{name: "AggregatedDiscovery", sig: "sig-api-machinery", speed: 1, quick: true},
	{name: "CustomResourceDefinition Watch", sig: "sig-api-machinery", speed: 1},
	{name: "CustomResourceDefinition resources", sig: "sig-api-machinery", speed: 1},
	{name: "CustomResourcePublishOpenAPI", sig: "sig-api-machinery", speed: 1},
	{name: "Discovery", sig: "sig-api-machinery", speed: 1, quick: true},
	{name: "FieldValidation", sig: "sig-api-machinery", speed: 1, quick: true},
	{name: "Garbage collector", sig: "sig-api-machinery", speed: 1},
	{name: "MutatingAdmissionPolicy", sig: "sig-api-machinery", speed: 1},
	{name: "Namespaces", sig: "sig-api-machinery", speed: 1},
	{name: "OrderedNamespaceDeletion", sig: "sig-api-machinery", speed: 1},
	{name: "ResourceQuota", sig: "sig-api-machinery", speed: 1},
	{name: "Servers with support for API chunking", sig: "sig-api-machinery", speed: 20},
	{name: "Servers with support for Table transformation", sig: "sig-api-machinery", speed: 1, quick: true},
	{name: "StorageVersionMigration", sig: "sig-api-machinery", speed: 1},
	{name: "ValidatingAdmissionPolicy", sig: "sig-api-machinery", speed: 1},
	{name: "Watchers", sig: "sig-api-machinery", speed: 1, quick: true},
	{name: "server version", sig: "sig-api-machinery", speed: 1, quick: true},
	{name: "Conformance Tests", sig: "sig-architecture", speed: 1, quick: true},
	{name: "Certificates API", sig: "sig-auth", speed: 1, quick: true},
	{name: "Projected PodCertificate", sig: "sig-auth", speed: 1},
	{name: "PodCertificateRequest API", sig: "sig-auth", speed: 1},
	{name: "ServiceAccounts", sig: "sig-auth", speed: 1},
	{name: "SubjectReview", sig: "sig-auth", speed: 1, quick: true},
	{name: "[FeatureGate:ClusterTrustBundle] [FeatureGate:ClusterTrustBundleProjection]", sig: "sig-auth", speed: 1},
	{name: "Events", sig: "sig-instrumentation", speed: 1, quick: true},
	{name: "ControllerRevision", sig: "sig-apps", speed: 1, quick: true},
	{name: "CronJob", sig: "sig-apps", speed: 20},
	{name: "Daemon set", sig: "sig-apps", speed: 1, quick: true},
	{name: "Deployment", sig: "sig-apps", speed: 1},
	{name: "DisruptionController", sig: "sig-apps", speed: 1},
	{name: "Job", sig: "sig-apps", speed: 1},
	{name: "ReplicaSet", sig: "sig-apps", speed: 1},
	{name: "ReplicationController", sig: "sig-apps", speed: 1},
	{name: "StatefulSet", sig: "sig-apps", speed: 1},
	{name: "Ingress API", sig: "sig-network", speed: 1},
	{name: "IngressClass API", sig: "sig-network", speed: 1},
	{name: "ServiceCIDR and IPAddress API", sig: "sig-network", speed: 1},
	{name: "[DRA] CRUD Tests", sig: "sig-node", speed: 1},
	{name: "Lease", sig: "sig-node", speed: 1},
	{name: "Node Lifecycle", sig: "sig-node", speed: 1},
	{name: "PodTemplates", sig: "sig-node", speed: 1},
	{name: "RuntimeClass", sig: "sig-node", speed: 1},
	{name: "LimitRange", sig: "sig-scheduling", speed: 1},
	{name: "SchedulerPredicates", sig: "sig-scheduling", speed: 1},
	{name: "SchedulerPreemption", sig: "sig-scheduling", speed: 1},
	{name: "CSINodes", sig: "sig-storage", speed: 1},
	{name: "CSIStorageCapacity", sig: "sig-storage", speed: 1},
	{name: "PersistentVolumes CSI Conformance", sig: "sig-storage", speed: 1},
	{name: "StorageClasses", sig: "sig-storage", speed: 1},
	{name: "VolumeAttachment", sig: "sig-storage", speed: 1},
	{name: "VolumeAttributesClass", sig: "sig-storage", speed: 1},
}

// beyond are those of which the specs that are not Conformance are run (-beyond).
var beyond = []focus{
	{name: "CronJob", sig: "sig-apps", speed: 20},
	{name: "Daemon set", sig: "sig-apps", speed: 1},
	{name: "Deployment", sig: "sig-apps", speed: 1},
	{name: "DisruptionController", sig: "sig-apps", speed: 1},
	{name: "Job", sig: "sig-apps", speed: 1},
	{name: "ReplicaSet", sig: "sig-apps", speed: 1},
	{name: "StatefulSet", sig: "sig-apps", speed: 1},
	{name: "TTLAfterFinished", sig: "sig-apps", speed: 1},
	{name: "Multi-AZ Clusters", sig: "sig-scheduling", speed: 1, zones: true},
	{name: "SchedulerPredicates", sig: "sig-scheduling", speed: 1},
	{name: "SchedulerPreemption", sig: "sig-scheduling", speed: 1},
	{name: "SchedulerPriorities", sig: "sig-scheduling", speed: 1},
	{name: "[Feature:HPA] Horizontal pod autoscaling (external metrics)", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (non-default behavior) with autoscaling disabled", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (non-default behavior) with both scale up and down controls configured", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (non-default behavior) with long upscale stabilization window", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (non-default behavior) with scale limited by number of Pods rate", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (non-default behavior) with scale limited by percentage", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (non-default behavior) with short downscale stabilization window", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) CustomResourceDefinition", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) Deployment (Container Resource)", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) Deployment (Pod Resource)", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) Deployment (Pod-level Resources", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) ReplicaSet Should scale from 1 pod", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) ReplicaSet Should scale from 5 pods", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) ReplicaSet light", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) ReplicaSet with idle sidecar", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] Horizontal pod autoscaling (scale resource: Memory)", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] [FeatureGate:HPAConfigurableTolerance]", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "[Feature:HPA] [FeatureGate:HPAScaleToZero]", sig: "sig-autoscaling", speed: 1, manifest: metricsServer},
	{name: "Dynamic Provisioning DynamicProvisioner", sig: "sig-storage", speed: 1},
	{name: "Ephemeralstorage", sig: "sig-storage", speed: 1},
	{name: "PV Protection", sig: "sig-storage", speed: 1},
	{name: "PVC Protection", sig: "sig-storage", speed: 1},
	{name: "PersistentVolumes Default StorageClass", sig: "sig-storage", speed: 1},
	{name: "Retroactive StorageClass Assignment", sig: "sig-storage", speed: 1},
}

const metricsServer = "metrics-server.yaml"

// unlisted are specs of the same groups that are counted in their table, without a row each, by what their
// names contain.
var unlisted = []struct{ specs, reason string }{
	{"[sig-storage] In-tree Volumes", "try each driver that was once part of Kubernetes with each pattern of use, which need their servers"},
	{"[sig-storage] CSI Volumes", "try three drivers with each pattern of use, and install their containers"},
	{"[sig-storage] CSI Mock", "install a driver and its sidecars as containers"},
	{"[sig-storage] PersistentVolumes-local", "prepare folders and disks through a shell on the node"},
	{"[sig-storage] PersistentVolumes-expansion", "prepare a disk through a shell on the node"},
	{"[sig-storage] PersistentVolumes NFS", "need a server of NFS"},
	{"[sig-storage] NFSPersistentVolumes", "need a server of NFS"},
	{"[sig-storage] HostPathType", "prepare files and devices through a shell on the node"},
	{"lexvolume", "need drivers that are programs on the node"},
	{"[sig-storage] Volume metrics", "read the metrics of kube-controller-manager and of the kubelet"},
	{"[sig-storage] GenericPersistentVolume", "restart the kubelet through a shell on the node"},
}

// leftOut are specs of the groups that are run which cannot be run yet, by how their
// names begin or what they contain.
var leftOut = []struct{ specs, reason string }{
	{"[sig-api-machinery] AdmissionWebhook", "needs a container that answers over HTTPS"},
	{"[sig-api-machinery] Aggregator", "needs a container that answers over HTTPS"},
	{"[sig-api-machinery] CustomResourceConversionWebhook", "needs a container that answers over HTTPS"},
	{"[sig-api-machinery] CustomResourceFieldSelectors", "needs a container that answers over HTTPS: its versions are converted by a webhook"},
	{"ServiceAccountIssuerDiscovery", "needs a container that asks the API server over HTTPS"},
	{"ServiceAccounts should mount an API token into pods", "reads a file in a container, by exec"},
	{"ServiceAccounts should mount projected service account token", "reads what a container printed, and waits for its end"},
	{"[FeatureGate:GenericWorkload]", "the feature gate GenericWorkload is off by default: there is no API for workloads and pod groups"},
	{"StatefulSet Deploy clustered applications", "runs the programs of databases, which are not simulated: their pods are never ready"},
	{"DaemonRestart", "restarts a program of a node through the shell of its machine, over SSH"},
	{"[Provider:gce]", "needs a cloud"},
	{"[Provider:aws,azure,gce]", "needs a cloud"},
	{"[Feature:KubeDNSAutoscaler]", "scales the Deployment of kube-dns, and the cluster's DNS is no pod here"},
	{"DynamicProvisioner External", "installs a provisioner as a container"},
	{"[Feature:StorageProvider]", "needs a cloud"},
	{"Invalid AWS KMS key", "needs a cloud"},
	{"[Feature:OffByDefault]", "the feature gate is off by default"},
	{"[FeatureGate:StatefulSetRecreateStrategy]", "the feature gate StatefulSetRecreateStrategy is off by default"},
}

// reasonOf says why a spec is not run, or "".
func reasonOf(run []focus, spec string) string {
	for _, l := range leftOut {
		if strings.Contains(spec, l.specs) {
			return l.reason
		}
	}
	for _, f := range run {
		if regexp.MustCompile(f.pattern()).MatchString(spec) {
			return ""
		}
	}
	return "the group is not run yet"
}
