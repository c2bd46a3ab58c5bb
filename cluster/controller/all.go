package controller

import (
	"kviz/cluster/controller/attachdetach"
	"kviz/cluster/controller/bootstrap"
	"kviz/cluster/controller/certificates"
	"kviz/cluster/controller/clusterroleaggregation"
	"kviz/cluster/controller/clustertrustbundlepublisher"
	"kviz/cluster/controller/cronjob"
	"kviz/cluster/controller/daemonset"
	"kviz/cluster/controller/deployment"
	"kviz/cluster/controller/devicetainteviction"
	"kviz/cluster/controller/disruption"
	"kviz/cluster/controller/endpoint"
	"kviz/cluster/controller/endpointslice"
	"kviz/cluster/controller/endpointslicemirroring"
	"kviz/cluster/controller/ephemeral"
	"kviz/cluster/controller/expand"
	"kviz/cluster/controller/garbage"
	"kviz/cluster/controller/horizontalpodautoscaler"
	"kviz/cluster/controller/job"
	"kviz/cluster/controller/legacytoken"
	"kviz/cluster/controller/namespace"
	"kviz/cluster/controller/nodeipam"
	"kviz/cluster/controller/nodelifecycle"
	"kviz/cluster/controller/persistentvolume"
	"kviz/cluster/controller/podgc"
	"kviz/cluster/controller/policystatus"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/replicaset"
	"kviz/cluster/controller/resourceclaim"
	"kviz/cluster/controller/resourcequota"
	"kviz/cluster/controller/rootca"
	"kviz/cluster/controller/serviceaccount"
	"kviz/cluster/controller/serviceaccounttoken"
	"kviz/cluster/controller/servicecidr"
	"kviz/cluster/controller/statefulset"
	"kviz/cluster/controller/storageprotection"
	"kviz/cluster/controller/storageversionmigrator"
	"kviz/cluster/controller/tainteviction"
	"kviz/cluster/controller/ttl"
	"kviz/cluster/controller/ttlafterfinished"
)

// descriptor is one controller and how it is made (upstream's ControllerDescriptor).
type descriptor struct {
	name   string
	source string // the component that its Events come from
	make   func(*reconcile.Env) starter
}

type starter interface{ Start() }

// of describes a controller that is made from its environment alone.
func of[C starter](name, source string, make func(*reconcile.Env) C) descriptor {
	return descriptor{name, source, func(e *reconcile.Env) starter { return make(e) }}
}

// all are the controllers in the order in which they start.
func all(cfg Config) []descriptor {
	list := []descriptor{
		of(serviceaccount.Name, serviceaccount.Name, serviceaccount.New),
		of(rootca.Name, rootca.Name, func(e *reconcile.Env) *rootca.Controller { return rootca.New(e, cfg.RootCA) }),
		of(namespace.Name, namespace.Name, namespace.New),
		of(deployment.Name, deployment.Name, deployment.New),
		of(replicaset.Name, replicaset.Name, replicaset.New),
		of(endpointslice.Name, endpointslice.Source, endpointslice.New),
		of(endpoint.Name, endpoint.Source, endpoint.New),
		of(endpointslicemirroring.Name, endpointslicemirroring.Source, endpointslicemirroring.New),
		of(garbage.Name, garbage.Name, garbage.New),
		of(nodelifecycle.Name, nodelifecycle.Source, nodelifecycle.New),
		of(tainteviction.Name, tainteviction.Name, tainteviction.New),
		of(podgc.Name, podgc.Name, podgc.New),
		of(resourcequota.Name, resourcequota.Name, resourcequota.New),
		of(replicaset.ReplicationName, replicaset.ReplicationSource, replicaset.NewReplication),
		of(certificates.Approving, certificates.Approving, certificates.NewApproving),
		of(certificates.Cleaner, certificates.Cleaner, certificates.NewCleaner),
		of(certificates.PodCleaner, certificates.PodCleaner, certificates.NewPodCleaner),
		of(storageprotection.ClaimsName, storageprotection.ClaimsName, storageprotection.NewClaims),
		of(storageprotection.VolumesName, storageprotection.VolumesName, storageprotection.NewVolumes),
		of(storageprotection.ClassesName, storageprotection.ClassesName, storageprotection.NewClasses),
		of(clusterroleaggregation.Name, clusterroleaggregation.Name, clusterroleaggregation.New),
		of(statefulset.Name, statefulset.Name, statefulset.New),
		of(disruption.Name, disruption.Source, disruption.New),
		of(job.Name, job.Name, job.New),
		of(ttlafterfinished.Name, ttlafterfinished.Name, ttlafterfinished.New),
		of(cronjob.Name, cronjob.Name, cronjob.New),
		of(daemonset.Name, daemonset.Name, daemonset.New),
		of(persistentvolume.Name, persistentvolume.Source, persistentvolume.New),
		of(ephemeral.Name, ephemeral.Source, ephemeral.New),
		of(expand.Name, expand.Source, expand.New),
		of(attachdetach.Name, attachdetach.Source, attachdetach.New),
		of(resourceclaim.Name, resourceclaim.Source, resourceclaim.New),
		of(devicetainteviction.Name, devicetainteviction.Name, devicetainteviction.New),
		of(bootstrap.CleanerName, bootstrap.CleanerName, bootstrap.NewCleaner),
		of(bootstrap.SignerName, bootstrap.SignerName, bootstrap.NewSigner),
		of(ttl.Name, ttl.Name, ttl.New),
		of(legacytoken.Name, legacytoken.Name, legacytoken.New),
		of(storageversionmigrator.Name, storageversionmigrator.Name, storageversionmigrator.New),
		of(servicecidr.Name, servicecidr.Name, servicecidr.New),
		of(horizontalpodautoscaler.Name, horizontalpodautoscaler.Source, horizontalpodautoscaler.New),
	}
	if cfg.RootCA != "" {
		list = append(list, of(clustertrustbundlepublisher.Name, clustertrustbundlepublisher.Name, func(e *reconcile.Env) *clustertrustbundlepublisher.Controller {
			return clustertrustbundlepublisher.New(e, cfg.RootCA)
		}))
	}
	if cfg.CheckTypes != nil {
		list = append(list, of(policystatus.Name, policystatus.Name, func(e *reconcile.Env) *policystatus.Controller { return policystatus.New(e, cfg.CheckTypes) }))
	}
	if cfg.SignToken != nil {
		list = append(list, of(serviceaccounttoken.Name, serviceaccounttoken.Name, func(e *reconcile.Env) *serviceaccounttoken.Controller {
			return serviceaccounttoken.New(e, cfg.SignToken, cfg.RootCA)
		}))
	}
	if cfg.PodRanges.Cluster.IsValid() {
		list = append(list, of(nodeipam.Name, nodeipam.Source, func(e *reconcile.Env) *nodeipam.Controller { return nodeipam.New(e, cfg.PodRanges) }))
	}
	if cfg.Sign != nil {
		list = append(list, of(certificates.Signing, certificates.Signing, func(e *reconcile.Env) *certificates.Controller { return certificates.NewSigning(e, cfg.Sign) }))
	}
	return list
}
