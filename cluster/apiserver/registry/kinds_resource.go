package registry

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"

	"kviz/cluster/client"
)

// resourceKinds are those of resource.k8s.io (dynamic resource allocation), what
// certificates.k8s.io has for pods, and storagemigration.k8s.io: served by default since
// v1.34 or v1.37.
var resourceKinds = []*Kind{
	{
		Resource: client.ClusterTrustBundles, Singular: "clustertrustbundle", Prefix: "/registry/clustertrustbundles/", OnDemand: true,
		Strategy: upstream(client.ClusterTrustBundles, clustertrustbundle.Strategy, nil), Field: trustBundleField,
	},
	{
		Resource: client.PodCertificateRequests, Singular: "podcertificaterequest", Prefix: "/registry/podcertificaterequests/", OnDemand: true,
		Strategy: upstream(client.PodCertificateRequests, podCertificateStrategy{Declarative}, subStrategies{"status": podCertificateStatusStrategy{podCertificateStrategy{Declarative}}}),
		Field:    podCertificateField, Subresources: statusSub(),
	},
	{
		Resource: client.DeviceClasses, Singular: "deviceclass", Prefix: "/registry/deviceclasses/", OnDemand: true,
		Strategy: upstream(client.DeviceClasses, deviceclass.Strategy, nil), Field: MetaField,
	},
	{
		Resource: client.DeviceTaintRules, Singular: "devicetaintrule", Prefix: "/registry/devicetaintrules/", OnDemand: true,
		Strategy: upstream(client.DeviceTaintRules, taintRuleStrategy{Declarative}, subStrategies{"status": taintRuleStatusStrategy{taintRuleStrategy{Declarative}}}),
		Field:    MetaField, Subresources: statusSub(),
	},
	{
		Resource: client.ResourceClaims, Singular: "resourceclaim", Prefix: "/registry/resourceclaims/", OnDemand: true,
		Strategy: upstream(client.ResourceClaims, resourceClaimStrategy{devices{Declarative}}, subStrategies{"status": resourceClaimStatusStrategy{resourceClaimStrategy{devices{Declarative}}}}),
		Field:    MetaField, Subresources: statusSub(),
	},
	{
		Resource: client.ResourceClaimTemplates, Singular: "resourceclaimtemplate", Prefix: "/registry/resourceclaimtemplates/", OnDemand: true,
		Strategy: upstream(client.ResourceClaimTemplates, claimTemplateStrategy{devices{Declarative}}, nil), Field: MetaField,
	},
	{
		Resource: client.ResourceSlices, Singular: "resourceslice", Prefix: "/registry/resourceslices/", OnDemand: true,
		Strategy: upstream(client.ResourceSlices, resourceSliceStrategy{devices{Declarative}}, nil), Field: resourceSliceField,
	},
	{
		Resource: client.StorageVersionMigrations, Singular: "storageversionmigration", Prefix: "/registry/storageversionmigrations/", OnDemand: true,
		Strategy: upstream(client.StorageVersionMigrations, storagemigration.Strategy, subStrategies{"status": storagemigration.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
}

func trustBundleField(obj runtime.Object, name string) (string, bool) {
	if name == "spec.signerName" {
		return obj.(*certificatesv1.ClusterTrustBundle).Spec.SignerName, true
	}
	return MetaField(obj, name)
}

func podCertificateField(obj runtime.Object, name string) (string, bool) {
	switch r := obj.(*certificatesv1.PodCertificateRequest); name {
	case "spec.signerName":
		return r.Spec.SignerName, true
	case "spec.podName":
		return r.Spec.PodName, true
	case "spec.nodeName":
		return string(r.Spec.NodeName), true
	}
	return MetaField(obj, name)
}

func resourceSliceField(obj runtime.Object, name string) (string, bool) {
	switch s := obj.(*resourcev1.ResourceSlice); name {
	case resourcev1.ResourceSliceSelectorNodeName:
		if s.Spec.NodeName == nil {
			return "", true
		}
		return *s.Spec.NodeName, true
	case resourcev1.ResourceSliceSelectorDriver:
		return s.Spec.Driver, true
	case resourcev1.ResourceSliceSelectorPoolName:
		return s.Spec.Pool.Name, true
	}
	return MetaField(obj, name)
}
