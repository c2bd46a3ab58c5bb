package faults

import "strings"

// Target names a target in a sentence.
func Target(target string) string {
	kind, name, _ := strings.Cut(target, "/")
	switch kind {
	case "member", "pod":
		return kind + " " + name
	case "store":
		return "the store as a whole"
	case "node":
		return name
	case "kubelet":
		return "the kubelet of " + name
	case "proxy":
		return "kube-proxy on " + name
	case "runtime":
		return "the container runtime of " + name
	case "scheduler":
		return "the scheduler"
	case "controller-manager":
		return "the controller manager"
	case "cloud-controller-manager":
		return "the cloud controller manager"
	case "cloud":
		return "the cloud's API"
	case "apiserver":
		if name != "" {
			return "the API server " + name
		}
		return "the API server"
	case "balancer":
		return "the load balancer before the API servers"
	case "dns":
		return "the cluster's DNS"
	case "audit":
		if name != "" {
			return "the disk of the API server " + name + "'s audit log"
		}
		return "the disk of the API server's audit log"
	case "registry":
		return "the image registry"
	case "instance":
		return name + " as the cloud has it"
	case "csi-driver":
		return "the storage driver"
	case "csi-provisioner", "csi-attacher", "csi-resizer":
		return "the sidecar " + kind
	case "oidc":
		return "the identity provider"
	case "kms":
		return "the KMS plugin"
	case "certificate":
		return "the client certificate of " + name
	case "token":
		return "the tokens of service account " + name
	case "webhook":
		return "the webhook server " + name
	case "watch":
		return "the API server's watch of " + name + " at the store"
	case "informer":
		return "the watch of " + name + " at the API server"
	case "controller":
		return "the " + name
	case "queue":
		return "the work queue " + name
	}
	return target
}
