package apply

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"
	"google.golang.org/protobuf/proto"
)

// applyAuth is for requests about users, roles and tokens.
func (s *State) applyAuth(index uint64, req *pb.InternalRaftRequest) (proto.Message, error) {
	if onlyAdmin(req) {
		if err := s.auth.IsAdminPermitted(whoAsks(req)); err != nil {
			return nil, err
		}
	}
	as, h := s.auth, &pb.ResponseHeader{}
	switch {
	case req.Authenticate != nil:
		return withHeader(s.authenticate(index, req.Authenticate))
	case req.AuthEnable != nil:
		return &pb.AuthEnableResponse{Header: h}, as.AuthEnable()
	case req.AuthDisable != nil:
		as.AuthDisable()
		return &pb.AuthDisableResponse{Header: h}, nil
	case req.AuthStatus != nil:
		return &pb.AuthStatusResponse{Header: h, Enabled: as.IsAuthEnabled(), AuthRevision: as.Revision()}, nil
	case req.AuthUserGet != nil:
		if err := s.permitSelf(req); err != nil {
			return nil, err
		}
		return withHeader(as.UserGet(req.AuthUserGet))
	case req.AuthRoleGet != nil:
		if err := s.permitOwnRole(req); err != nil {
			return nil, err
		}
		return withHeader(as.RoleGet(req.AuthRoleGet))
	case req.AuthUserList != nil:
		return withHeader(as.UserList(req.AuthUserList))
	case req.AuthRoleList != nil:
		return withHeader(as.RoleList(req.AuthRoleList))
	}
	return s.changeUsers(req)
}

func (s *State) changeUsers(req *pb.InternalRaftRequest) (proto.Message, error) {
	as := s.auth
	switch {
	case req.AuthUserAdd != nil:
		if plain(req.AuthUserAdd.Password, req.AuthUserAdd.HashedPassword) {
			return nil, auth.ErrInvalidAuthMgmt
		}
		return withHeader(as.UserAdd(req.AuthUserAdd))
	case req.AuthUserChangePassword != nil:
		if plain(req.AuthUserChangePassword.Password, req.AuthUserChangePassword.HashedPassword) {
			return nil, auth.ErrInvalidAuthMgmt
		}
		return withHeader(as.UserChangePassword(req.AuthUserChangePassword))
	case req.AuthUserDelete != nil:
		return withHeader(as.UserDelete(req.AuthUserDelete))
	case req.AuthUserGrantRole != nil:
		return withHeader(as.UserGrantRole(req.AuthUserGrantRole))
	case req.AuthUserRevokeRole != nil:
		return withHeader(as.UserRevokeRole(req.AuthUserRevokeRole))
	case req.AuthRoleAdd != nil:
		return withHeader(as.RoleAdd(req.AuthRoleAdd))
	case req.AuthRoleDelete != nil:
		return withHeader(as.RoleDelete(req.AuthRoleDelete))
	case req.AuthRoleGrantPermission != nil:
		return withHeader(as.RoleGrantPermission(req.AuthRoleGrantPermission))
	case req.AuthRoleRevokePermission != nil:
		return withHeader(as.RoleRevokePermission(req.AuthRoleRevokePermission))
	}
	return nil, rpctypes.ErrGRPCNotCapable
}

// plain reports a password that was not hashed before it came into the log.
// Hashing it here would give each member another hash.
func plain(password, hashed string) bool { return password != "" && hashed == "" }

func (s *State) authenticate(index uint64, r *pb.InternalAuthenticateRequest) (*pb.AuthenticateResponse, error) {
	ctx := context.WithValue(context.Background(), auth.AuthenticateParamIndex{}, index)
	ctx = context.WithValue(ctx, auth.AuthenticateParamSimpleTokenPrefix{}, r.SimpleToken)
	return s.auth.Authenticate(ctx, r.Name, r.Password)
}

// permitSelf lets a user see itself, and root everybody.
func (s *State) permitSelf(req *pb.InternalRaftRequest) error {
	who := whoAsks(req)
	if err := s.auth.IsAdminPermitted(who); err != nil && req.AuthUserGet.Name != who.Username {
		return err
	}
	return nil
}

// permitOwnRole lets a user see the roles it has, and root all.
func (s *State) permitOwnRole(req *pb.InternalRaftRequest) error {
	who := whoAsks(req)
	if err := s.auth.IsAdminPermitted(who); err != nil && !s.auth.HasRole(who.Username, req.AuthRoleGet.Role) {
		return err
	}
	return nil
}

// withHeader gives a response of the auth store an empty header.
func withHeader[T any, M message[T]](resp M, err error) (proto.Message, error) {
	if err != nil {
		return nil, err
	}
	m := resp.ProtoReflect()
	f := m.Descriptor().Fields().ByName("header")
	m.Set(f, m.NewField(f))
	return resp, nil
}
