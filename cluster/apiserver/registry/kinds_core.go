package registry

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
func statusSub() []Subresource { return []Subresource{{Name: "status", Verbs: StatusOnly}} }

func scaleSubs() []Subresource {
	return []Subresource{{Name: "scale", GVK: ScaleGVK, Verbs: StatusOnly}, {Name: "status", Verbs: StatusOnly}}
}

// coreKinds are what the core group has beside those that every cluster uses.
var coreKinds = []*Kind{
	{
		Resource: client.PersistentVolumeClaims, Singular: "persistentvolumeclaim", ShortNames: []string{"pvc"}, Prefix: "/registry/persistentvolumeclaims/", OnDemand: true,
		Strategy: upstream(client.PersistentVolumeClaims, claimStrategy{Declarative}, subStrategies{"status": claimStatusStrategy{claimStrategy{Declarative}}}),
		Field:    namedField, Subresources: statusSub(),
	},
	{
		Resource: client.PersistentVolumes, Singular: "persistentvolume", ShortNames: []string{"pv"}, Prefix: "/registry/persistentvolumes/", OnDemand: true,
		Strategy: upstream(client.PersistentVolumes, volumeStrategy{Declarative}, subStrategies{"status": volumeStatusStrategy{volumeStrategy{Declarative}}}),
		Field:    namedField, Subresources: statusSub(),
	},
	{
		Resource: client.PodTemplates, Singular: "podtemplate", Prefix: "/registry/podtemplates/", OnDemand: true,
		Strategy: upstream(client.PodTemplates, podtemplate.Strategy, nil), Field: MetaField,
	},
	{
		Resource: client.ReplicationControllers, Singular: "replicationcontroller", ShortNames: []string{"rc"}, Categories: []string{"all"}, Prefix: "/registry/controllers/", OnDemand: true,
		Strategy: upstream(client.ReplicationControllers, replicationControllerStrategy{Declarative}, subStrategies{"status": replicationControllerStatusStrategy{replicationControllerStrategy{Declarative}}}),
		Field:    replicationControllerField, Subresources: scaleSubs(),
	},
}

// namedField is for kinds that offer their name by its old field label too.
func namedField(obj runtime.Object, name string) (string, bool) {
	if name == "name" {
		return object.Meta(obj).GetName(), true
	}
	return MetaField(obj, name)
}

func replicationControllerField(obj runtime.Object, name string) (string, bool) {
	if name == "status.replicas" {
		return strconv.Itoa(int(obj.(*corev1.ReplicationController).Status.Replicas)), true
	}
	return MetaField(obj, name)
}
