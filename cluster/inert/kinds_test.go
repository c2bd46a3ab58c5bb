package inert_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/inert"
)

// actors say who acts on the kinds that are not in the table of those nothing acts on.
var actors = map[string]string{
	"APIService.apiregistration.k8s.io": "the API server's aggregator",
	"Binding":                           "the API server",
	"CertificateSigningRequest.certificates.k8s.io":               "controller/certificates",
	"ClusterRole.rbac.authorization.k8s.io":                       "the API server's authorizer",
	"ClusterRoleBinding.rbac.authorization.k8s.io":                "the API server's authorizer",
	"ClusterTrustBundle.certificates.k8s.io":                      "the kubelet",
	"ComponentStatus":                                             "the API server",
	"ConfigMap":                                                   "the kubelet, controller/rootca",
	"ControllerRevision.apps":                                     "nobody: it keeps data for who made it",
	"CustomResourceDefinition.apiextensions.k8s.io":               "the API server",
	"DaemonSet.apps":                                              "controller/daemonset",
	"Deployment.apps":                                             "controller/deployment",
	"Endpoints":                                                   "controller/endpoint, controller/endpointslicemirroring",
	"EndpointSlice.discovery.k8s.io":                              "kube-proxy, DNS",
	"Event":                                                       "nobody: it is for people",
	"Event.events.k8s.io":                                         "nobody: it is for people",
	"FlowSchema.flowcontrol.apiserver.k8s.io":                     "the API server's priority and fairness",
	"DeviceTaintRule.resource.k8s.io":                             "the scheduler, controller/devicetainteviction",
	"ResourceClaimTemplate.resource.k8s.io":                       "controller/resourceclaim",
	"IPAddress.networking.k8s.io":                                 "the API server, controller/servicecidr",
	"ServiceCIDR.networking.k8s.io":                               "the API server, controller/servicecidr",
	"IngressClass.networking.k8s.io":                              "the API server's admission: which class an Ingress gets",
	"Lease.coordination.k8s.io":                                   "leader election, node lifecycle",
	"CronJob.batch":                                               "controller/cronjob",
	"HorizontalPodAutoscaler.autoscaling":                         "controller/horizontalpodautoscaler",
	"Job.batch":                                                   "controller/job, controller/ttlafterfinished",
	"LimitRange":                                                  "the API server's admission",
	"LocalSubjectAccessReview.authorization.k8s.io":               "the API server",
	"MutatingAdmissionPolicy.admissionregistration.k8s.io":        "the API server's admission",
	"MutatingAdmissionPolicyBinding.admissionregistration.k8s.io": "the API server's admission",
	"MutatingWebhookConfiguration.admissionregistration.k8s.io":   "the API server's admission",
	"CSIDriver.storage.k8s.io":                                    "the kubelet, the scheduler",
	"CSINode.storage.k8s.io":                                      "csi/attacher, the scheduler",
	"StorageClass.storage.k8s.io":                                 "csi/provisioner, controller/persistentvolume, the scheduler",
	"VolumeAttachment.storage.k8s.io":                             "csi/attacher, the kubelet",
	"Namespace":                                                   "controller/namespace",
	"Node":                                                        "the scheduler, controller/nodelifecycle",
	"PersistentVolume":                                            "controller/persistentvolume, the scheduler",
	"PersistentVolumeClaim":                                       "controller/persistentvolume, the scheduler",
	"Pod":                                                         "the scheduler, the kubelet",
	"PodDisruptionBudget.policy":                                  "controller/disruption, the API server's evictions",
	"PriorityClass.scheduling.k8s.io":                             "the API server's admission, the scheduler",
	"PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io":     "the API server's priority and fairness",
	"ReplicationController":                                       "controller/replicaset",
	"ReplicaSet.apps":                                             "controller/replicaset",
	"ResourceQuota":                                               "the API server's admission, controller/resourcequota",
	"Role.rbac.authorization.k8s.io":                              "the API server's authorizer",
	"RoleBinding.rbac.authorization.k8s.io":                       "the API server's authorizer",
	"RuntimeClass.node.k8s.io":                                    "the API server's admission: overhead and where its pods may run",
	"Secret":                                                      "the kubelet, the API server's bootstrap tokens",
	"SelfSubjectAccessReview.authorization.k8s.io":                "the API server",
	"SelfSubjectReview.authentication.k8s.io":                     "the API server",
	"SelfSubjectRulesReview.authorization.k8s.io":                 "the API server",
	"Service":          "controller/endpointslice, kube-proxy, DNS",
	"ServiceAccount":   "the API server, controller/serviceaccount",
	"StatefulSet.apps": "controller/statefulset",
	"StorageVersionMigration.storagemigration.k8s.io":               "controller/storageversionmigrator",
	"SubjectAccessReview.authorization.k8s.io":                      "the API server",
	"TokenReview.authentication.k8s.io":                             "the API server",
	"ValidatingAdmissionPolicy.admissionregistration.k8s.io":        "the API server's admission",
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": "the API server's admission",
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io":   "the API server's admission",
}

// actedSubresources are those of the kinds that are acted on, through which one writes
// something that has an effect.
var actedSubresources = map[string]string{
	"certificatesigningrequests/approval": "controller/certificates",
	"deployments/scale":                   "controller/deployment",
	"namespaces/finalize":                 "the API server",
	"pods/binding":                        "the kubelet",
	"pods/eviction":                       "the API server, the kubelet",
	"replicasets/scale":                   "controller/replicaset",
	"replicationcontrollers/scale":        "controller/replicaset",
	"serviceaccounts/token":               "the API server",
	"statefulsets/scale":                  "controller/statefulset",
}

// Of every kind and subresource that is served, somebody acts on what is written, or the
// table says that nobody does.
func TestEveryKindIsActedOnOrListed(t *testing.T) {
	kindRows, subRows := map[string]bool{}, map[string]bool{}
	for _, r := range inert.Kinds {
		kindRows[r.What] = false
	}
	for _, r := range inert.Subresources {
		subRows[r.What] = false
	}
	served := map[string]bool{}
	for _, k := range registry.Kinds {
		what := inert.KindOf(schema.GroupKind{Group: k.Group, Kind: k.Kind})
		_, listed := kindRows[what]
		_, acts := actors[what]
		if served[what] = true; listed == acts {
			t.Errorf("%s: listed as inert %v, somebody acts on it %v", what, listed, acts)
		}
		if listed {
			kindRows[what] = true
			continue
		}
		for _, s := range k.Subresources {
			if s.Name == "status" {
				continue
			}
			sub := k.GroupVersionResource.Resource + "/" + s.Name
			_, listed := subRows[sub]
			_, acts := actedSubresources[sub]
			if subRows[sub] = true; listed == acts {
				t.Errorf("%s: listed as inert %v, somebody acts on it %v", sub, listed, acts)
			}
		}
	}
	for what, found := range kindRows {
		if !found {
			t.Errorf("%s is listed as inert and not served", what)
		}
	}
	for what, found := range subRows {
		if !found {
			t.Errorf("%s is listed as inert and not served", what)
		}
	}
	for what := range actors {
		if !served[what] {
			t.Errorf("%s is said to be acted on and not served", what)
		}
	}
}
