package apply

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"
	"google.golang.org/grpc/metadata"
)

// TokenTTL is how long a simple token lives that nobody uses.
const TokenTTL = 300 * time.Second

// tokenStore is etcd's auth store with simple tokens of our own: etcd's start
// a goroutine and look at the wall clock. As there, a token is made by the
// Authenticate request that went through the log, so every member knows it once
// it has applied that entry; it is not part of snapshots, and each member
// forgets it by its own clock.
//
// Mirrors etcd server/auth/simple_token.go tokenSimple.
type tokenStore struct {
	auth.AuthStore // it has no token provider
	users          *authBackend
	now            func() time.Duration

	mu      sync.Mutex
	tokens  map[string]token
	sweepAt int // so many tokens cause a look at which have expired
	// reached gives a channel that is closed when the member has applied an
	// entry, nil when it has; it is nil where there is no log.
	reached func(index uint64) <-chan struct{}
}

type token struct {
	user    string
	expires time.Duration
}

// Authenticate gives out a token. The password was checked before the request
// was proposed.
func (t *tokenStore) Authenticate(ctx context.Context, name, _ string) (*pb.AuthenticateResponse, error) {
	if !t.IsAuthEnabled() {
		return nil, auth.ErrAuthNotEnabled
	}
	u := t.users.GetUser(name)
	if u == nil || u.Options.GetNoPassword() {
		return nil, auth.ErrAuthFailed
	}
	index, ok := ctx.Value(auth.AuthenticateParamIndex{}).(uint64)
	prefix, ok2 := ctx.Value(auth.AuthenticateParamSimpleTokenPrefix{}).(string)
	if !ok || !ok2 {
		return nil, errors.New("failed to assign")
	}
	return &pb.AuthenticateResponse{Token: t.assign(name, prefix, index)}, nil
}

func (t *tokenStore) assign(user, prefix string, index uint64) string {
	name := fmt.Sprintf("%s.%d", prefix, index)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if len(t.tokens) >= t.sweepAt {
		for k, v := range t.tokens {
			if v.expires < now {
				delete(t.tokens, k)
			}
		}
		t.sweepAt = max(64, 2*len(t.tokens))
	}
	t.tokens[name] = token{user, now + TokenTTL}
	return name
}

// AuthInfoFromCtx tells whose token a gRPC request carries. It waits until the
// member has come as far in the log as the token says.
func (t *tokenStore) AuthInfoFromCtx(ctx context.Context) (*auth.AuthInfo, error) {
	if !t.IsAuthEnabled() {
		return nil, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	ts := md[rpctypes.TokenFieldNameGRPC]
	if len(ts) == 0 {
		ts = md[rpctypes.TokenFieldNameSwagger]
	}
	if len(ts) == 0 {
		return nil, nil
	}
	name := strings.TrimPrefix(ts[0], "Bearer ")
	if !t.wait(ctx, name) {
		return nil, auth.ErrInvalidAuthToken
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	tok, ok := t.tokens[name]
	if now := t.now(); !ok || tok.expires < now {
		delete(t.tokens, name)
		return nil, auth.ErrInvalidAuthToken
	}
	tok.expires = t.now() + TokenTTL
	t.tokens[name] = tok
	return &auth.AuthInfo{Username: tok.user, Revision: t.Revision()}, nil
}

// wait reports whether the token's entry is applied now.
func (t *tokenStore) wait(ctx context.Context, name string) bool {
	_, after, ok := strings.Cut(name, ".")
	index, err := strconv.ParseUint(after, 10, 64)
	if !ok || err != nil {
		return false
	}
	for t.reached != nil {
		more := t.reached(index)
		if more == nil {
			break
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// GenTokenPrefix draws the random part of a token.
func (t *tokenStore) GenTokenPrefix() (string, error) { return randomLetters(16) }

// WithRoot gives the context a token of root's, for what the server itself asks.
func (t *tokenStore) WithRoot(ctx context.Context) context.Context {
	if !t.IsAuthEnabled() {
		return ctx
	}
	prefix, err := t.GenTokenPrefix()
	if err != nil {
		return ctx
	}
	return metadata.NewIncomingContext(ctx, metadata.Pairs(rpctypes.TokenFieldNameGRPC, t.assign("root", prefix, 0)))
}

func (t *tokenStore) UserDelete(r *pb.AuthUserDeleteRequest) (*pb.AuthUserDeleteResponse, error) {
	resp, err := t.AuthStore.UserDelete(r)
	if err == nil {
		t.forget(r.Name)
	}
	return resp, err
}

func (t *tokenStore) UserChangePassword(r *pb.AuthUserChangePasswordRequest) (*pb.AuthUserChangePasswordResponse, error) {
	resp, err := t.AuthStore.UserChangePassword(r)
	if err == nil {
		t.forget(r.Name)
	}
	return resp, err
}

// forget takes a user's tokens back.
func (t *tokenStore) forget(user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, v := range t.tokens {
		if v.user == user {
			delete(t.tokens, k)
		}
	}
}

// AuthDisable takes all tokens back.
func (t *tokenStore) AuthDisable() {
	t.AuthStore.AuthDisable()
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.tokens)
}
