package apiserver

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
		Resource: client.CSIDrivers, Singular: "csidriver", Prefix: "/registry/csidrivers/", onDemand: true,
		strategy: upstream(client.CSIDrivers, csidriver.Strategy, nil), field: metaField,
	},
	{
		Resource: client.CSINodes, Singular: "csinode", Prefix: "/registry/csinodes/", onDemand: true,
		strategy: upstream(client.CSINodes, csinode.Strategy, subStrategies{"status": csinode.StatusStrategy}), field: metaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.CSIStorageCapacities, Singular: "csistoragecapacity", Prefix: "/registry/csistoragecapacities/", onDemand: true,
		strategy: upstream(client.CSIStorageCapacities, csistoragecapacity.Strategy, nil), field: metaField,
	},
	{
		Resource: client.StorageClasses, Singular: "storageclass", ShortNames: []string{"sc"}, Prefix: "/registry/storageclasses/", onDemand: true,
		strategy: upstream(client.StorageClasses, storageclass.Strategy, nil), field: metaField,
	},
	{
		Resource: client.VolumeAttachments, Singular: "volumeattachment", Prefix: "/registry/volumeattachments/", onDemand: true,
		strategy: upstream(client.VolumeAttachments, volumeattachment.Strategy, subStrategies{"status": volumeattachment.StatusStrategy}), field: metaField,
		Subresources: statusSub(),
	},
	{
		Resource: client.VolumeAttributesClasses, Singular: "volumeattributesclass", ShortNames: []string{"vac"}, Prefix: "/registry/volumeattributesclasses/", onDemand: true,
		strategy: upstream(client.VolumeAttributesClasses, volumeattributesclass.Strategy, nil), field: metaField,
	},
}
