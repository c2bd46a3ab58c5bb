package raftstore

import (
	"cmp"
	"encoding/base64"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/auth"
	"golang.org/x/crypto/bcrypt"

	"kviz/raftstore/apply"
)

// AuthStore is the users, roles and tokens; see [Server].
func (s *Replicated) AuthStore() auth.AuthStore {
	as := s.noUsers
	if m, err := s.answered(); err == nil {
		// A member that just went down has nothing to say.
		_ = m.Inspect(func(st *apply.State) { as = st.Auth() })
	}
	return as
}

// AuthStore is the users, roles and tokens.
func (b *bare) AuthStore() auth.AuthStore {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Auth()
}

// AuthStoreAt is a member's own users, roles and tokens, which decide who may do a
// serializable read there.
func (s *Replicated) AuthStoreAt(id string) (auth.AuthStore, error) {
	m, err := s.membership.member(id)
	if err != nil {
		return nil, err
	}
	var as auth.AuthStore
	err = m.Inspect(func(st *apply.State) { as = st.Auth() })
	return as, err
}

// AuthStoreAt is AuthStore: there is one.
func (b *bare) AuthStoreAt(string) (auth.AuthStore, error) { return b.AuthStore(), nil }

// mayRead says whether whoever asks may read, by a member's own users.
//
// Mirrors etcd server/etcdserver/v3_server.go doSerialize.
func (s *Replicated) mayRead(id string, who *pb.RequestHeader, r *pb.RangeRequest) (err error) {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	var refusal error
	err = m.Inspect(func(st *apply.State) { refusal = st.MayRead(who, r) })
	return cmp.Or(err, refusal)
}

// prepared is the request as it goes into the log: with an ID for a lease that was
// requested without one, passwords hashed, and a login's password verified. What the
// log holds must not depend on who applies it, and must not be a password.
//
// Mirrors etcd server/etcdserver/v3_server.go LeaseGrant, UserAdd,
// UserChangePassword and Authenticate.
func prepared(req *pb.InternalRaftRequest, as func() auth.AuthStore, leaseID func() int64) (*pb.InternalRaftRequest, error) {
	switch {
	case req.LeaseGrant != nil && req.LeaseGrant.ID == 0:
		return &pb.InternalRaftRequest{Header: req.Header, LeaseGrant: &pb.LeaseGrantRequest{ID: leaseID(), TTL: req.LeaseGrant.TTL}}, nil
	case req.AuthUserAdd != nil && req.AuthUserAdd.HashedPassword == "" && !req.AuthUserAdd.Options.GetNoPassword():
		r := req.AuthUserAdd
		hash, err := hashed(r.Password, as())
		return &pb.InternalRaftRequest{Header: req.Header, AuthUserAdd: &pb.AuthUserAddRequest{Name: r.Name, Options: r.Options, HashedPassword: hash}}, err
	case req.AuthUserChangePassword != nil && req.AuthUserChangePassword.Password != "":
		r := req.AuthUserChangePassword
		hash, err := hashed(r.Password, as())
		return &pb.InternalRaftRequest{Header: req.Header, AuthUserChangePassword: &pb.AuthUserChangePasswordRequest{Name: r.Name, HashedPassword: hash}}, err
	case req.Authenticate != nil && req.Authenticate.SimpleToken == "":
		return loggingIn(req, as())
	}
	return req, nil
}

func hashed(password string, as auth.AuthStore) (string, error) {
	h, err := bcrypt.GenerateFromPassword([]byte(password), as.BcryptCost())
	if err != nil {
		return "", fmt.Errorf("the password cannot be hashed: %w", err)
	}
	return base64.StdEncoding.EncodeToString(h), nil
}

func loggingIn(req *pb.InternalRaftRequest, as auth.AuthStore) (*pb.InternalRaftRequest, error) {
	r := req.Authenticate
	if _, err := as.CheckPassword(r.Name, r.Password); err != nil {
		return nil, apply.RPCError(err)
	}
	prefix, err := as.GenTokenPrefix()
	if err != nil {
		return nil, fmt.Errorf("no token can be drawn: %w", err)
	}
	return &pb.InternalRaftRequest{Header: req.Header, Authenticate: &pb.InternalAuthenticateRequest{Name: r.Name, SimpleToken: prefix}}, nil
}

// AsRoot is the header of requests on behalf of the store itself, whatever users it
// has; nil while it has none.
func AsRoot(s Authenticating) *pb.RequestHeader {
	as := s.AuthStore()
	if !as.IsAuthEnabled() {
		return nil
	}
	return &pb.RequestHeader{Username: "root", AuthRevision: as.Revision()}
}
