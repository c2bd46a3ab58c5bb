package apply

import (
	"encoding/binary"
	"fmt"
	"sync"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/server/v3/auth"
	"google.golang.org/protobuf/proto"
)

// authBackend is where etcd's auth store keeps its users and roles: in memory
// here, as the bytes that etcd would write, in trees that are copied on write.
//
// Mirrors etcd server/storage/schema/auth.go authBackend.
type authBackend struct {
	mu sync.RWMutex
	authContent
}

var _ auth.AuthBackend = (*authBackend)(nil)

// authContent is what etcd's buckets auth, authUsers and authRoles hold.
type authContent struct {
	enabled      bool
	revision     uint64
	users, roles messages // marshalled authpb.User and authpb.Role
}

func newAuthContent() authContent {
	return authContent{users: newMessages(), roles: newMessages()}
}

// backend checks the users and roles and keeps them.
func (u Users) backend() (*authBackend, error) {
	b := &authBackend{authContent: newAuthContent()}
	b.enabled, b.revision = u.Enabled, u.Revision
	for _, user := range u.Users {
		if len(user.Name) == 0 || b.UnsafeGetUser(string(user.Name)) != nil {
			return nil, fmt.Errorf("apply: user %q is there twice, or has no name", user.Name)
		}
		b.UnsafePutUser(user)
	}
	for _, role := range u.Roles {
		if len(role.Name) == 0 || b.UnsafeGetRole(string(role.Name)) != nil {
			return nil, fmt.Errorf("apply: role %q is there twice, or has no name", role.Name)
		}
		b.UnsafePutRole(role)
	}
	return b, nil
}

// appendTree appends how many messages the tree has, then length and bytes of each.
func appendTree(b []byte, tree messages) []byte {
	b = binary.AppendUvarint(b, uint64(tree.Len()))
	tree.Scan(func(_ string, m []byte) bool {
		b = append(binary.AppendUvarint(b, uint64(len(m))), m...)
		return true
	})
	return b
}

// snapshot costs the same however many users there are.
func (b *authBackend) snapshot() authContent {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.authContent
	c.users, c.roles = b.users.Copy(), b.roles.Copy()
	return c
}

func (b *authBackend) CreateAuthBuckets() {}
func (b *authBackend) ForceCommit()       {}

func (b *authBackend) ReadTx() auth.AuthReadTx   { return authRead{b} }
func (b *authBackend) BatchTx() auth.AuthBatchTx { return authWrite{b} }

func (b *authBackend) GetUser(name string) *authpb.User {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.UnsafeGetUser(name)
}

func (b *authBackend) GetAllUsers() []*authpb.User {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.UnsafeGetAllUsers()
}

func (b *authBackend) GetRole(name string) *authpb.Role {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.UnsafeGetRole(name)
}

func (b *authBackend) GetAllRoles() []*authpb.Role {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.UnsafeGetAllRoles()
}

type authRead struct{ *authBackend }

func (r authRead) RLock()   { r.mu.RLock() }
func (r authRead) RUnlock() { r.mu.RUnlock() }

type authWrite struct{ *authBackend }

func (w authWrite) Lock()   { w.mu.Lock() }
func (w authWrite) Unlock() { w.mu.Unlock() }

// The Unsafe methods are called with mu held.

func (c *authContent) UnsafeReadAuthEnabled() bool         { return c.enabled }
func (c *authContent) UnsafeReadAuthRevision() uint64      { return c.revision }
func (c *authContent) UnsafeSaveAuthEnabled(enabled bool)  { c.enabled = enabled }
func (c *authContent) UnsafeSaveAuthRevision(rev uint64)   { c.revision = rev }
func (c *authContent) UnsafePutUser(u *authpb.User)        { c.users.Set(string(u.Name), encoded(u)) }
func (c *authContent) UnsafeDeleteUser(name string)        { c.users.Delete(name) }
func (c *authContent) UnsafePutRole(r *authpb.Role)        { c.roles.Set(string(r.Name), encoded(r)) }
func (c *authContent) UnsafeDeleteRole(name string)        { c.roles.Delete(name) }
func (c *authContent) UnsafeGetAllUsers() []*authpb.User   { return all[authpb.User](c.users) }
func (c *authContent) UnsafeGetAllRoles() []*authpb.Role   { return all[authpb.Role](c.roles) }
func (c *authContent) UnsafeGetUser(n string) *authpb.User { return one[authpb.User](c.users, n) }
func (c *authContent) UnsafeGetRole(n string) *authpb.Role { return one[authpb.Role](c.roles, n) }

func encoded(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic("apply: marshal " + string(m.ProtoReflect().Descriptor().Name()) + ": " + err.Error()) // names came off the wire as valid UTF-8
	}
	return b
}

// message is a pointer to a protobuf struct: what the auth store is handed is
// always a fresh copy, because it changes what it gets.
type message[T any] interface {
	*T
	proto.Message
}

func decoded[T any, M message[T]](b []byte) M {
	m := M(new(T))
	if err := proto.Unmarshal(b, m); err != nil {
		panic("apply: unmarshal: " + err.Error()) // encoded wrote it, or Restore has checked it
	}
	return m
}

func one[T any, M message[T]](in messages, name string) M {
	b, ok := in.Get(name)
	if !ok {
		return nil
	}
	return decoded[T, M](b)
}

func all[T any, M message[T]](in messages) []M {
	var list []M
	in.Scan(func(_ string, b []byte) bool {
		list = append(list, decoded[T, M](b))
		return true
	})
	return list
}
