package inert

// Kinds are those whose objects are stored and looked at, and nothing else.
var Kinds = []Row{
	{What: "CSIDriver.storage.k8s.io", So: "no volume is mounted through a driver"},
	{What: "CSINode.storage.k8s.io", So: "no driver runs on a node"},
	{What: "CSIStorageCapacity.storage.k8s.io", So: "the scheduler does not ask for room on a driver's storage"},
	{What: "ClusterTrustBundle.certificates.k8s.io", So: "no pod mounts it"},
	{What: "DeviceClass.resource.k8s.io", So: "no device is given to a pod"},
	{What: "DeviceTaintRule.resource.k8s.io", So: "no device is tainted"},
	{What: "HorizontalPodAutoscaler.autoscaling", So: "it scales nothing"},
	{What: "IPAddress.networking.k8s.io", So: "cluster IPs are given out by the API server's own table"},
	{What: "Ingress.networking.k8s.io", So: "no ingress controller runs, so nothing listens for it"},
	{What: "NetworkPolicy.networking.k8s.io", So: "every packet still passes"},
	{What: "PersistentVolume", So: "no claim is bound to it"},
	{What: "PersistentVolumeClaim", So: "no volume is bound or made for it; pods that name it run without it"},
	{What: "PodCertificateRequest.certificates.k8s.io", So: "no signer answers it"},
	{What: "PodTemplate", So: "no controller makes pods of PodTemplates, in Kubernetes either"},
	{What: "ResourceClaim.resource.k8s.io", So: "no device is allocated to it"},
	{What: "ResourceClaimTemplate.resource.k8s.io", So: "no claims are made of it"},
	{What: "ResourceSlice.resource.k8s.io", So: "no device of it is given to a pod"},
	{What: "ServiceCIDR.networking.k8s.io", So: "cluster IPs come from the range that the API server was started with"},
	{What: "StorageClass.storage.k8s.io", So: "no provisioner runs, so claims of it get no volume"},
	{What: "StorageVersionMigration.storagemigration.k8s.io", So: "nothing is stored again"},
	{What: "VolumeAttachment.storage.k8s.io", So: "nothing is attached to the node"},
	{What: "VolumeAttributesClass.storage.k8s.io", So: "no driver changes a volume"},
}

// Subresources are those through which a served kind is written to no effect.
var Subresources = []Row{
	{What: "pods/ephemeralcontainers", So: "the kubelet does not start the container"},
	{What: "pods/resize", So: "the kubelet leaves running containers as they are"},
}
