// Package cloudprovider is what the controllers of cloud-controller-manager speak of with a cloud: what it says of the
// machine of a node, and its routes. Each controller says itself what it asks for.
//
// Mirrors the types of k8s.io/cloud-provider cloud.go; nothing in it is simulated. Start reading at [Metadata].
package cloudprovider

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
)

// Metadata is what a cloud says of an instance (InstanceMetadata).
type Metadata struct {
	ProviderID string
	Type       string
	Addresses  []corev1.NodeAddress
	Zone       string
	Region     string
	Labels     map[string]string // AdditionalLabels
}

// ErrNoInstance is the answer about one that there is not (InstanceNotFound).
var ErrNoInstance = errors.New("instance not found")

// Route leads to the pods of a node.
type Route struct {
	Name      string // in the cloud
	Node      string // it leads there (TargetNode)
	CIDR      string // what has such an address (DestinationCIDR)
	Blackhole bool   // it led to an instance that is gone
}
