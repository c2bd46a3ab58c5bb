package etcdapi

import (
	"cmp"
	"context"
	"encoding/base64"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/protobuf/proto"
)

// authServer is etcd's Auth service. Every request goes through the log, those
// that only ask too. Passwords do not: they are hashed, or checked, here.
//
// Mirrors etcd server/etcdserver/api/v3rpc/auth.go and
// server/etcdserver/v3_server.go.
type authServer struct {
	pb.UnimplementedAuthServer
	*frontend
}

func throughLog[T proto.Message](a *authServer, ctx context.Context, req *pb.InternalRaftRequest) (T, error) {
	return answer[T](a.change(ctx, req))
}

// AuthEnable turns authentication on; it needs a root user with the root role.
func (a *authServer) AuthEnable(ctx context.Context, r *pb.AuthEnableRequest) (*pb.AuthEnableResponse, error) {
	return throughLog[*pb.AuthEnableResponse](a, ctx, &pb.InternalRaftRequest{AuthEnable: r})
}

// AuthDisable turns it off.
func (a *authServer) AuthDisable(ctx context.Context, r *pb.AuthDisableRequest) (*pb.AuthDisableResponse, error) {
	return throughLog[*pb.AuthDisableResponse](a, ctx, &pb.InternalRaftRequest{AuthDisable: r})
}

// AuthStatus says whether it is on.
func (a *authServer) AuthStatus(ctx context.Context, r *pb.AuthStatusRequest) (*pb.AuthStatusResponse, error) {
	return throughLog[*pb.AuthStatusResponse](a, ctx, &pb.InternalRaftRequest{AuthStatus: r})
}

// Authenticate returns a token for a name and password. The password is checked here
// and does not get into the log.
func (a *authServer) Authenticate(ctx context.Context, r *pb.AuthenticateRequest) (*pb.AuthenticateResponse, error) {
	if _, err := a.barrier(ctx); err != nil {
		return nil, err
	}
	defer func() { r.Password = "" }()
	for {
		users := a.users()
		checked, err := users.CheckPassword(r.Name, r.Password)
		if err != nil {
			return nil, err
		}
		prefix, err := users.GenTokenPrefix()
		if err != nil {
			return nil, err
		}
		resp, err := throughLog[*pb.AuthenticateResponse](a, ctx, &pb.InternalRaftRequest{
			Authenticate: &pb.InternalAuthenticateRequest{Name: r.Name, SimpleToken: cmp.Or(prefix, checkedHere)},
		})
		if err != nil {
			return nil, err
		}
		if checked == a.users().Revision() {
			return resp, nil
		}
		// Users changed meanwhile: the password has to be checked again.
	}
}

// checkedHere stands where signed tokens need nothing: it tells the store that
// the password was checked.
const checkedHere = "signed"

// hash is a password as the log has it.
func (a *authServer) hash(password string) (string, error) {
	h, err := bcrypt.GenerateFromPassword([]byte(password), a.users().BcryptCost())
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(h), nil
}

// UserAdd adds a user.
func (a *authServer) UserAdd(ctx context.Context, r *pb.AuthUserAddRequest) (_ *pb.AuthUserAddResponse, err error) {
	if r.Options == nil || !r.Options.NoPassword {
		if r.HashedPassword, err = a.hash(r.Password); err != nil {
			return nil, err
		}
	}
	r.Password = "" // one that is given for a user who must have none is not looked at
	return throughLog[*pb.AuthUserAddResponse](a, ctx, &pb.InternalRaftRequest{AuthUserAdd: r})
}

// UserDelete deletes a user.
func (a *authServer) UserDelete(ctx context.Context, r *pb.AuthUserDeleteRequest) (*pb.AuthUserDeleteResponse, error) {
	return throughLog[*pb.AuthUserDeleteResponse](a, ctx, &pb.InternalRaftRequest{AuthUserDelete: r})
}

// UserChangePassword gives a user another password.
func (a *authServer) UserChangePassword(ctx context.Context, r *pb.AuthUserChangePasswordRequest) (_ *pb.AuthUserChangePasswordResponse, err error) {
	if r.Password != "" {
		if r.HashedPassword, err = a.hash(r.Password); err != nil {
			return nil, err
		}
		r.Password = ""
	}
	return throughLog[*pb.AuthUserChangePasswordResponse](a, ctx, &pb.InternalRaftRequest{AuthUserChangePassword: r})
}

// UserGrantRole gives a user a role.
func (a *authServer) UserGrantRole(ctx context.Context, r *pb.AuthUserGrantRoleRequest) (*pb.AuthUserGrantRoleResponse, error) {
	return throughLog[*pb.AuthUserGrantRoleResponse](a, ctx, &pb.InternalRaftRequest{AuthUserGrantRole: r})
}

// UserGet returns a user's roles.
func (a *authServer) UserGet(ctx context.Context, r *pb.AuthUserGetRequest) (*pb.AuthUserGetResponse, error) {
	return throughLog[*pb.AuthUserGetResponse](a, ctx, &pb.InternalRaftRequest{AuthUserGet: r})
}

// UserList lists the users.
func (a *authServer) UserList(ctx context.Context, r *pb.AuthUserListRequest) (*pb.AuthUserListResponse, error) {
	return throughLog[*pb.AuthUserListResponse](a, ctx, &pb.InternalRaftRequest{AuthUserList: r})
}

// UserRevokeRole takes a role from a user.
func (a *authServer) UserRevokeRole(ctx context.Context, r *pb.AuthUserRevokeRoleRequest) (*pb.AuthUserRevokeRoleResponse, error) {
	return throughLog[*pb.AuthUserRevokeRoleResponse](a, ctx, &pb.InternalRaftRequest{AuthUserRevokeRole: r})
}

// RoleAdd adds a role.
func (a *authServer) RoleAdd(ctx context.Context, r *pb.AuthRoleAddRequest) (*pb.AuthRoleAddResponse, error) {
	return throughLog[*pb.AuthRoleAddResponse](a, ctx, &pb.InternalRaftRequest{AuthRoleAdd: r})
}

// RoleGrantPermission lets a role read or write keys.
func (a *authServer) RoleGrantPermission(ctx context.Context, r *pb.AuthRoleGrantPermissionRequest) (*pb.AuthRoleGrantPermissionResponse, error) {
	return throughLog[*pb.AuthRoleGrantPermissionResponse](a, ctx, &pb.InternalRaftRequest{AuthRoleGrantPermission: r})
}

// RoleGet returns a role's permissions.
func (a *authServer) RoleGet(ctx context.Context, r *pb.AuthRoleGetRequest) (*pb.AuthRoleGetResponse, error) {
	return throughLog[*pb.AuthRoleGetResponse](a, ctx, &pb.InternalRaftRequest{AuthRoleGet: r})
}

// RoleList lists the roles.
func (a *authServer) RoleList(ctx context.Context, r *pb.AuthRoleListRequest) (*pb.AuthRoleListResponse, error) {
	return throughLog[*pb.AuthRoleListResponse](a, ctx, &pb.InternalRaftRequest{AuthRoleList: r})
}

// RoleRevokePermission takes the permission for keys from a role.
func (a *authServer) RoleRevokePermission(ctx context.Context, r *pb.AuthRoleRevokePermissionRequest) (*pb.AuthRoleRevokePermissionResponse, error) {
	return throughLog[*pb.AuthRoleRevokePermissionResponse](a, ctx, &pb.InternalRaftRequest{AuthRoleRevokePermission: r})
}

// RoleDelete deletes a role.
func (a *authServer) RoleDelete(ctx context.Context, r *pb.AuthRoleDeleteRequest) (*pb.AuthRoleDeleteResponse, error) {
	return throughLog[*pb.AuthRoleDeleteResponse](a, ctx, &pb.InternalRaftRequest{AuthRoleDelete: r})
}
