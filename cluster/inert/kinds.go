package inert

const scheduler = "the scheduler"

// Kinds are those whose objects are stored and looked at, and nothing else, or that only
// one component acts on.
var Kinds = []Row{
	{What: "CSIStorageCapacity.storage.k8s.io", Only: scheduler, So: "no driver makes volumes where it says that there is room"},
	{What: "DeviceClass.resource.k8s.io", Only: scheduler, So: "no driver gets a device ready for a pod"},
	{What: "Ingress.networking.k8s.io", So: "no ingress controller runs, so nothing listens for it"},
	{What: "NetworkPolicy.networking.k8s.io", So: "every packet still passes"},
	{What: "PodCertificateRequest.certificates.k8s.io", Only: "the kubelet that asks and the controller that deletes old ones", So: "no signer answers it, unless you run one"},
	{What: "PodTemplate", So: "no controller makes pods of PodTemplates, in Kubernetes either"},
	{What: "ResourceClaim.resource.k8s.io", Only: scheduler + " and the controllers of claims and of device taints", So: "no driver gets its devices ready"},
	{What: "ResourceSlice.resource.k8s.io", Only: scheduler + " and the controller of device taints", So: "no driver is behind its devices"},
	{What: "VolumeAttributesClass.storage.k8s.io", So: "no driver changes a volume"},
}

// Subresources are those through which a served kind is written to no effect.
var Subresources = []Row{
	{What: "pods/ephemeralcontainers", So: "the kubelet does not start the container"},
	{What: "pods/resize", So: "the kubelet leaves running containers as they are"},
}
