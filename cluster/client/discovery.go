package client

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/trace"
)

// Discovery is what a connection can tell of the API groups that other servers serve,
// behind an APIService: what a discovery client would find out by asking for /apis.
type Discovery interface {
	// StaleGroups are the group versions whose server cannot be asked what it serves,
	// in the order of their APIServices' names.
	StaleGroups() []StaleGroup
	// Aggregates reports whether another server serves a group version, or has been said to.
	Aggregates(gv schema.GroupVersion) bool
	// Served is what discovery lists of a resource, in the version that it prefers; ok is false
	// where the cluster does not serve it itself.
	Served(gr schema.GroupResource) (r ServedResource, ok bool)
}

// ServedResource is what discovery says of a resource (metav1.APIResource).
type ServedResource struct {
	Resource
	Verbs []string
}

// StaleGroup is a group version whose current resources are unknown.
type StaleGroup struct {
	schema.GroupVersion
	Why trace.ID // the newest change of its APIService
}

// StaleGroups asks a connection; one that cannot tell says that there are none.
func StaleGroups(c Interface) []StaleGroup {
	if d, ok := As[Discovery](c); ok {
		return d.StaleGroups()
	}
	return nil
}
