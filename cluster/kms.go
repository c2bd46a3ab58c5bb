package cluster

import (
	"time"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/balancer"
	"kviz/cluster/console"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// addKMS makes the KMS plugin known. It runs from the moment a configuration of
// encryption at rest names one, as a static pod beside the API server would.
func (c *Cluster) addKMS() {
	c.addComponent("kms", trace.Lane{Component: trace.CompKMS}, c.kms.Start)
}

// controlPlane is the API server's machine as the console sees it.
type controlPlane struct {
	c  *Cluster
	at *balancer.Backend // one of several API servers; nil for the first
}

// server is the API server whose machine it is.
func (p controlPlane) server() *apiserver.Server {
	if p.at != nil {
		return p.at.Server
	}
	return p.c.server
}

// At is the machine of one of several API servers.
func (p controlPlane) At(server string) console.ControlPlane {
	return controlPlane{p.c, p.c.backend(server)}
}

// Name is the API server's, as faults name it.
func (p controlPlane) Name() string { return p.server().Name() }

func (p controlPlane) Encryption() encrypt.State { return p.server().Encryption().State() }

func (p controlPlane) IssueCertificate(t *sim.Task, user string, groups []string, ttl time.Duration) (cert, key []byte, err error) {
	return p.server().Authority().Issue(user, groups, t.Now(), ttl)
}

func (p controlPlane) ReloadEncryption(on bool) { p.server().Encryption().Reload(on) }

func (p controlPlane) WriteEncryption(t *sim.Task, file []byte) error {
	if file == nil {
		p.server().Encryption().Remove(t)
		return nil
	}
	asks, err := p.server().Encryption().Write(t, file)
	if m := p.c.component("kms"); err == nil && asks && m.p == nil {
		m.begin(p.c.k, t.Causes(), "the encryption configuration names it")
	}
	return err
}
