package cluster

import (
	"slices"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/trace"
)

// credentials are what can expire: the certificates of the components that
// authenticate with one, cluster DNS's token, and what users were given.
type credentials struct {
	servers *apiServers
	nodes   *nodes
}

func (c credentials) names() []string {
	if c.servers.first == nil {
		return nil
	}
	names := []string{"certificate/kubernetes-admin", "token/kube-system/coredns"}
	for _, u := range []authn.User{authn.Component("kube-controller-manager"), authn.Component("kube-scheduler"), authn.Component("kube-proxy")} {
		names = append(names, "certificate/"+u.Name)
	}
	for _, n := range c.nodes.list {
		names = append(names, "certificate/"+authn.Node(n.name).Name)
	}
	names = append(names, c.servers.first.Authenticators().Credentials()...)
	slices.Sort(names)
	return slices.Compact(names)
}

func (c credentials) find(name string) (any, error) {
	if slices.Contains(c.names(), name) {
		return credentialTarget{c.servers, name}, nil
	}
	return nil, nil
}

// credentialTarget is what proves who somebody is.
type credentialTarget struct {
	servers *apiServers
	name    string
}

func (t credentialTarget) Expire(why []trace.ID) error {
	t.servers.first.Authenticators().Expiry.Expire(t.name, t.servers.k.Now(), why[0])
	return nil
}

func (t credentialTarget) Renew([]trace.ID) error {
	t.servers.first.Authenticators().Expiry.Renew(t.name)
	return nil
}
