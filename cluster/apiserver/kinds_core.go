package apiserver

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
)

// statusSub and scaleSubs make the subresources of a kind, each its own: the
// registry completes them.
func statusSub() []Subresource { return []Subresource{{Name: "status", Verbs: statusOnly}} }

func scaleSubs() []Subresource {
	return []Subresource{{Name: "scale", GVK: scaleGVK, Verbs: statusOnly}, {Name: "status", Verbs: statusOnly}}
}

// coreKinds are what the core group has beside those that every cluster uses.
var coreKinds = []*Kind{
	{
		Resource: client.Endpoints, Singular: "endpoints", ShortNames: []string{"ep"}, Prefix: "/registry/services/endpoints/", onDemand: true,
		strategy: upstream(client.Endpoints, endpointsStrategy{declarative}, nil), field: metaField,
	},
	{
		Resource: client.PersistentVolumeClaims, Singular: "persistentvolumeclaim", ShortNames: []string{"pvc"}, Prefix: "/registry/persistentvolumeclaims/", onDemand: true,
		strategy: upstream(client.PersistentVolumeClaims, claimStrategy{declarative}, subStrategies{"status": claimStatusStrategy{claimStrategy{declarative}}}),
		field:    namedField, Subresources: statusSub(),
	},
	{
		Resource: client.PersistentVolumes, Singular: "persistentvolume", ShortNames: []string{"pv"}, Prefix: "/registry/persistentvolumes/", onDemand: true,
		strategy: upstream(client.PersistentVolumes, volumeStrategy{declarative}, subStrategies{"status": volumeStatusStrategy{volumeStrategy{declarative}}}),
		field:    namedField, Subresources: statusSub(),
	},
	{
		Resource: client.PodTemplates, Singular: "podtemplate", Prefix: "/registry/podtemplates/", onDemand: true,
		strategy: upstream(client.PodTemplates, podtemplate.Strategy, nil), field: metaField,
	},
	{
		Resource: client.ReplicationControllers, Singular: "replicationcontroller", ShortNames: []string{"rc"}, Categories: []string{"all"}, Prefix: "/registry/controllers/", onDemand: true,
		strategy: upstream(client.ReplicationControllers, replicationControllerStrategy{declarative}, subStrategies{"status": replicationControllerStatusStrategy{replicationControllerStrategy{declarative}}}),
		field:    replicationControllerField, Subresources: scaleSubs(),
	},
}

// namedField is for kinds that offer their name by its old field label too.
func namedField(obj runtime.Object, name string) (string, bool) {
	if name == "name" {
		return object.Meta(obj).GetName(), true
	}
	return metaField(obj, name)
}

func replicationControllerField(obj runtime.Object, name string) (string, bool) {
	if name == "status.replicas" {
		return strconv.Itoa(int(obj.(*corev1.ReplicationController).Status.Replicas)), true
	}
	return metaField(obj, name)
}
