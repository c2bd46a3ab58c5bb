package etcdapi

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/auth"
)

// users is the users, roles and tokens that the member goes by.
func (f *frontend) users() auth.AuthStore {
	if f.server.group == nil {
		return f.server.store.AuthStore()
	}
	return f.server.group.AuthAt(f.member)
}

// nameOf is the request's user as a request to the store carries it; nil if there is
// none.
func (f *frontend) nameOf(ctx context.Context) (*pb.RequestHeader, error) {
	who, err := f.who(ctx)
	if err != nil || who == nil {
		return nil, err
	}
	return &pb.RequestHeader{Username: who.Username, AuthRevision: who.Revision}, nil
}

// root is the user for the server's own requests.
func (f *frontend) root() *pb.RequestHeader {
	users := f.users()
	if !users.IsAuthEnabled() {
		return nil
	}
	return &pb.RequestHeader{Username: "root", AuthRevision: users.Revision()}
}

// who is the request's user: by token, else by the client certificate's common name.
// It is nil if there is none or authentication is off.
//
// Mirrors etcd server/etcdserver/v3_server.go AuthInfoFromCtx.
func (f *frontend) who(ctx context.Context) (*auth.AuthInfo, error) {
	return f.whoIn(ctx, f.users())
}

func (f *frontend) whoIn(ctx context.Context, users auth.AuthStore) (*auth.AuthInfo, error) {
	if !users.IsAuthEnabled() {
		return nil, nil
	}
	info, err := users.AuthInfoFromCtx(ctx)
	if info != nil || err != nil {
		return info, err
	}
	if f.server.cfg.TLS == nil {
		return nil, nil
	}
	if info = users.AuthInfoFromTLS(ctx); info != nil && info.Username == "" {
		return nil, nil // the common certificate names nobody
	}
	return info, nil
}

// permitted asks check, unless authentication is off, and gives the auth
// revision that the answer holds for (0: authentication is off).
//
// Mirrors etcd server/etcdserver/v3_server.go doSerialize.
func (f *frontend) permitted(ctx context.Context, check func(users auth.AuthStore, info *auth.AuthInfo) error) (err error) {
	users := f.users()
	if !users.IsAuthEnabled() {
		return nil
	}
	info, err := f.whoIn(ctx, users)
	if err != nil {
		return err
	}
	if info == nil {
		info = &auth.AuthInfo{}
	}
	if err := check(users, info); err != nil {
		return err
	}
	if info.Revision != 0 && info.Revision != users.Revision() {
		return auth.ErrAuthOldRevision
	}
	return nil
}

// mayRead asks whether a range may be read.
func (f *frontend) mayRead(ctx context.Context, key, end []byte) error {
	return f.permitted(ctx, func(users auth.AuthStore, info *auth.AuthInfo) error {
		return users.IsRangePermitted(info, key, end)
	})
}

// mustBeAdmin refuses everybody but users with the root role.
//
// Mirrors etcd server/etcdserver/api/v3rpc/auth.go AuthAdmin.isPermitted.
func (f *frontend) mustBeAdmin(ctx context.Context) error {
	users := f.users()
	if !users.IsAuthEnabled() {
		return nil
	}
	info, err := f.whoIn(ctx, users)
	if err != nil {
		return err
	}
	return users.IsAdminPermitted(info)
}

// mustBeSomebody refuses who gives no name while authentication is on.
//
// Mirrors etcd server/etcdserver/v3_server.go requireAuthInfo.
func (f *frontend) mustBeSomebody(ctx context.Context) error {
	users := f.users()
	if !users.IsAuthEnabled() {
		return nil
	}
	info, err := f.whoIn(ctx, users)
	if err != nil {
		return err
	}
	if info == nil {
		return auth.ErrUserEmpty
	}
	return nil
}
