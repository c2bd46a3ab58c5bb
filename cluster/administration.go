package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/flowcontrol"
	"kviz/cluster/apiserver/inprocess"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/balancer"
	"kviz/cluster/client"
	"kviz/cluster/console/verbs"
	"kviz/cluster/nearest"
	"kviz/cluster/sim"
)

// At is one API server as its administrator sees it.
func (a *apiServers) At(name string) (verbs.APIServer, error) {
	if a.first == nil {
		return verbs.APIServer{}, errNoServer
	}
	s, to := a.first, inprocess.Handler(balancer.Once{Balancer: a.balancer})
	if name != "" {
		b := a.backend(name)
		if b == nil {
			return verbs.APIServer{}, fmt.Errorf("there is no API server %q", name)
		}
		s, to = b.Server, b.Server
	}
	return verbs.APIServer{
		Name: s.Name(), Encryption: encryptionConfig{s, a.callouts}, Audit: auditPolicy{s}, Config: s.ConfigFiles(), Machine: s.Disk(),
		Requests: requests{s, to}, Etcd: etcdServers{s, a.etcd},
	}, nil
}

// encryptionConfig is the configuration of encryption at rest, which may name the KMS
// plugin.
type encryptionConfig struct {
	server   *apiserver.Server
	callouts *callouts
}

func (e encryptionConfig) Write(t *sim.Task, file []byte) error {
	if file == nil {
		e.server.Encryption().Remove(t)
		return nil
	}
	names, err := e.server.Encryption().Write(t, file)
	if err == nil && names {
		e.callouts.beginKMS(t.Causes())
	}
	return err
}

func (e encryptionConfig) Reload(on bool)       { e.server.Encryption().Reload(on) }
func (e encryptionConfig) State() encrypt.State { return e.server.Encryption().State() }

// auditPolicy is the audit policy of one API server.
type auditPolicy struct{ server *apiserver.Server }

func (p auditPolicy) Write(t *sim.Task, file []byte) error {
	if file == nil {
		p.server.Auditor().Remove(t)
		return nil
	}
	return p.server.Auditor().Write(t, file)
}

func (p auditPolicy) State() audit.State { return p.server.Auditor().State() }

// requests are what an API server serves at once, and where those of a storm enter.
type requests struct {
	server *apiserver.Server
	to     inprocess.Handler
}

func (r requests) SetConcurrency(t *sim.Task, total int) error {
	return r.server.Seats().SetConcurrency(t, total)
}

func (r requests) Concurrency() (total int, levels []fairness.State) {
	return r.server.Seats().Total(), r.server.Seats().Stand()
}

func (r requests) Storm(t *sim.Task, name string, n int) (answered, rejected int) {
	user := authn.User{Name: name}
	if parts := strings.Split(name, ":"); len(parts) == 4 && strings.HasPrefix(name, "system:serviceaccount:") {
		user = authn.ServiceAccount(parts[2], parts[3])
	}
	return flowcontrol.Storm(t, r.to, &request.Request{Verb: "list", Resource: client.Pods.GroupVersionResource, User: &user, Client: "storm"}, n)
}

// etcdServers are the members that an API server's etcd client goes through.
type etcdServers struct {
	server *apiserver.Server
	etcd   *etcd
}

func (s etcdServers) Set(t *sim.Task, members []string) error {
	raft := s.etcd.raft
	if raft == nil {
		return fmt.Errorf("this cluster runs on the bare store, without members")
	}
	ids := raft.IDs()
	for i, m := range members {
		m = strings.TrimPrefix(m, "member/")
		switch {
		case slices.Contains(members[:i], m):
			return fmt.Errorf("member %s is named twice", m)
		case !slices.Contains(ids, m):
			text := fmt.Sprintf("there is no member %q: the members are %s", m, strings.Join(ids, ", "))
			if near := nearest.To(m, ids); near != "" {
				text += fmt.Sprintf("; did you mean %q?", near)
			}
			return fmt.Errorf("%s", text)
		}
		members[i] = m
	}
	s.server.Store().SetEndpoints(t, group{raft}, members)
	return nil
}

func (s etcdServers) State() (all []string, used string) { return s.server.Store().Endpoints() }

// authority is the cluster's certificate authority, whose key is on the machine of the
// first API server.
type authority struct{ servers *apiServers }

func (a authority) Issue(t *sim.Task, user string, groups []string, ttl time.Duration) (cert, key []byte, err error) {
	if a.servers.first == nil {
		return nil, nil, errNoServer
	}
	return a.servers.first.Authenticators().Authority.Issue(user, groups, t.Now(), ttl)
}

func (a authority) Request(user string, groups []string) (request, key []byte, err error) {
	if a.servers.first == nil {
		return nil, nil, errNoServer
	}
	return a.servers.first.Authenticators().Authority.Request(user, groups)
}
