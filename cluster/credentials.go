package cluster

import (
	"slices"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/control"
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

// credentialFault is a fault of a certificate or a token.
func (c *Cluster) credentialFault(f control.Fault) (action, error) {
	if !slices.Contains(c.credentials(), f.Target) {
		return nil, c.noTarget(f.Target)
	}
	return func(causes []trace.ID) error {
		expiry := c.server.Authenticators().Expiry
		if f.Name == "expire" {
			expiry.Expire(f.Target, c.k.Now(), causes[0])
		} else {
			expiry.Renew(f.Target)
		}
		return nil
	}, nil
}

func (p controlPlane) RequestCertificate(user string, groups []string) (request, key []byte, err error) {
	return p.c.server.Authority().Request(user, groups)
}
