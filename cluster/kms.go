package cluster

import (
	"time"

	"kviz/cluster/apiserver"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// addKMS makes the KMS plugin known. It runs from the moment a configuration of
// encryption at rest names one, as a static pod beside the API server would.
func (c *Cluster) addKMS() {
	c.addComponent("kms", trace.Lane{Component: trace.CompKMS}, c.kms.Start)
}

// controlPlane is the API server's machine as the console sees it.
type controlPlane struct{ c *Cluster }

func (p controlPlane) Encryption() apiserver.EncryptionState { return p.c.server.Encryption() }

func (p controlPlane) IssueCertificate(t *sim.Task, user string, groups []string, ttl time.Duration) (cert, key []byte, err error) {
	return p.c.server.Authority().Issue(user, groups, t.Now(), ttl)
}

func (p controlPlane) ReloadEncryption(on bool) { p.c.server.ReloadEncryption(on) }

func (p controlPlane) WriteEncryption(t *sim.Task, file []byte) error {
	if file == nil {
		p.c.server.RemoveEncryption(t)
		return nil
	}
	asks, err := p.c.server.WriteEncryption(t, file)
	if m := p.c.component("kms"); err == nil && asks && m.p == nil {
		m.begin(p.c.k, t.Causes(), "the encryption configuration names it")
	}
	return err
}
