package cluster

import (
	"slices"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/trace"
)

// credentials are what can expire: the certificates of the components that
// authenticate with one, cluster DNS's token, and what users were given.
func (c *Cluster) credentials() []string {
	if c.server == nil {
		return nil
	}
	names := []string{"certificate/kubernetes-admin", "token/kube-system/coredns"}
	for _, u := range []authn.User{authn.Component("kube-controller-manager"), authn.Component("kube-scheduler"), authn.Component("kube-proxy")} {
		names = append(names, "certificate/"+u.Name)
	}
	for _, n := range c.nodes {
		names = append(names, "certificate/"+authn.Node(n.name).Name)
	}
	names = append(names, c.server.Authenticators().Credentials()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// credentialTarget is what proves who somebody is.
type credentialTarget struct {
	c    *Cluster
	name string
}

func (t credentialTarget) Expire(why []trace.ID) error {
	t.c.server.Authenticators().Expiry.Expire(t.name, t.c.k.Now(), why[0])
	return nil
}

func (t credentialTarget) Renew([]trace.ID) error {
	t.c.server.Authenticators().Expiry.Renew(t.name)
	return nil
}

func (p controlPlane) RequestCertificate(user string, groups []string) (request, key []byte, err error) {
	return p.c.server.Authority().Request(user, groups)
}
