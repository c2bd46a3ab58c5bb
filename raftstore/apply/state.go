// Package apply is the replicated state machine above mvcc: what an etcd
// member does with a committed entry. To the key-value machine it adds what
// decides whether a request may happen at all (alarms, quota, users and roles),
// and every kind of request that etcd's log knows.
//
// Mirrors etcd server/etcdserver/apply: the appliers that wrap one another
// there (corrupt, capped, auth, quota, backend) are the questions that
// [State.Apply] asks here, in the same order and with the same refusals. Users
// and roles are etcd's own code (server/auth) over memory.
//
// Simplified: there is no database file; its size is accounted as bbolt would
// need it (see mvcc). Start reading at [State.Apply].
package apply

import (
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore/mvcc"
)

// DefaultQuota is etcd's default of --quota-backend-bytes.
const DefaultQuota = 2 << 30

// Limits is what a member's state machine is configured with. The same on every
// member.
type Limits struct {
	// Quota is how big the database may grow, in bytes: 0 is [DefaultQuota], less
	// is no limit.
	Quota int64
	// Knob overrides Quota while it is not 0; nil is none.
	Knob *atomic.Int64
	// BcryptCost is the cost of hashing passwords; 0 is etcd's 10.
	BcryptCost int
	// AuthToken is etcd's --auth-token: "" and "simple" are tokens assigned
	// through the log, "jwt,…" signed ones.
	AuthToken string
	// Shared is with whom the state shares what it writes; nil is nobody.
	Shared *mvcc.Shared
	// Now is the clock by which simple tokens expire; nil is real time.
	Now func() time.Duration
}

// State is one member's state machine. Apply, Restore and Defragment are the
// caller's to serialise, with everything that reads; [State.Auth],
// [State.Available] and [State.Size] may be used beside them.
type State struct {
	KV              *mvcc.Store
	limits          Limits
	users           *authBackend
	auth            auth.AuthStore
	alarms          []*pb.AlarmMember // by type, then member
	capped, corrupt bool              // a NOSPACE, a CORRUPT alarm is raised
	guarded         bool              // auth is enabled
	versions        Versions
	size            atomic.Int64

	reached func(index uint64) <-chan struct{}
}

// New is the state of a new cluster. It panics if Limits.AuthToken is not one;
// see [Limits.Check].
func New(l Limits) *State {
	s, err := Load(l, Contents{KV: mvcc.New()})
	if err != nil {
		panic(err)
	}
	return s
}

// Load makes a state of given contents, and checks that they could have come about.
func Load(l Limits, c Contents) (*State, error) {
	users, err := c.Users.backend()
	if err != nil {
		return nil, err
	}
	alarms, err := sortedAlarms(c.Alarms)
	if err != nil {
		return nil, err
	}
	as, err := newAuth(l, users)
	if err != nil {
		return nil, err
	}
	c.KV.Share(l.Shared)
	s := &State{KV: c.KV, limits: l, users: users, auth: as, versions: c.Versions}
	if c.Versions == (Versions{}) {
		s.versions = newVersions()
	}
	s.setAlarms(alarms)
	s.guarded = as.IsAuthEnabled()
	s.measure()
	return s, nil
}

// Reached sets how the state learns whether the member has applied an entry: nil
// if it has, else a channel that is closed when it has come further. A token
// that is newer than the member is waited for.
func (s *State) Reached(fn func(index uint64) <-chan struct{}) {
	s.reached = fn
	if t, ok := s.auth.(*tokenStore); ok {
		t.reached = fn
	}
}

// Check says what is wrong with the limits.
func (l Limits) Check() error {
	_, err := newAuth(l, &authBackend{authContent: newAuthContent()})
	return err
}

// Alarms lists the raised alarms by type, then by member.
func (s *State) Alarms() []*pb.AlarmMember { return s.alarms }

// Auth is the users, roles and tokens.
func (s *State) Auth() auth.AuthStore { return s.auth }

// Size is how many bytes etcd's database file would have: it may be asked
// beside Apply.
func (s *State) Size() int64 { return s.size.Load() }

// SizeInUse is how many of them hold something.
func (s *State) SizeInUse() int64 { return s.KV.SizeInUse() }

// Defragment packs the database. Nothing else of the state changes.
func (s *State) Defragment() {
	s.KV.Defragment()
	s.measure()
}

// measure notes the size for those who ask beside Apply.
func (s *State) measure() { s.size.Store(s.KV.Size()) }
