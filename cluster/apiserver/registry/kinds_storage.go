package registry

import (
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"

	"kviz/cluster/client"
)

// storageKinds are the kinds of storage.k8s.io.
var storageKinds = []*Kind{
	{
		Resource: client.CSIDrivers, Singular: "csidriver", Prefix: "/registry/csidrivers/", OnDemand: true,
		Strategy: upstream(client.CSIDrivers, csidriver.Strategy, nil), Field: MetaField,
	},
	{
		Resource: client.CSINodes, Singular: "csinode", Prefix: "/registry/csinodes/", OnDemand: true,
		Strategy: upstream(client.CSINodes, csinode.Strategy, subStrategies{"status": csinode.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.CSIStorageCapacities, Singular: "csistoragecapacity", Prefix: "/registry/csistoragecapacities/", OnDemand: true,
		Strategy: upstream(client.CSIStorageCapacities, csistoragecapacity.Strategy, nil), Field: MetaField,
	},
	{
		Resource: client.StorageClasses, Singular: "storageclass", ShortNames: []string{"sc"}, Prefix: "/registry/storageclasses/", OnDemand: true,
		Strategy: upstream(client.StorageClasses, storageclass.Strategy, nil), Field: MetaField,
	},
	{
		Resource: client.VolumeAttachments, Singular: "volumeattachment", Prefix: "/registry/volumeattachments/", OnDemand: true,
		Strategy: upstream(client.VolumeAttachments, volumeattachment.Strategy, subStrategies{"status": volumeattachment.StatusStrategy}), Field: MetaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.VolumeAttributesClasses, Singular: "volumeattributesclass", ShortNames: []string{"vac"}, Prefix: "/registry/volumeattributesclasses/", OnDemand: true,
		Strategy: upstream(client.VolumeAttributesClasses, volumeattributesclass.Strategy, nil), Field: MetaField,
	},
}
