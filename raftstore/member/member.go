package member

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/apply"
	"kviz/raftstore/lock"
	"kviz/raftstore/wire"
)

// NotStarted is why a member is down that was never started.
const NotStarted = "not started"

// ErrDown is returned for a member that is not running.
var ErrDown = errors.New("the member is down")

// ErrUp is returned for a member that is running already.
var ErrUp = errors.New("the member is already running")

// Config says what a [Member] is.
type Config struct {
	ID string
	// Peers are the voters of a new group, this member among them; nil for one
	// that joins a group and learns from its leader who belongs to it. What raft
	// has written down counts from then on.
	Peers   []Server
	Dir     string // the member's own folder
	Network *wire.Network
	NoSync  bool

	SnapshotEvery    uint64
	SnapshotTrailing uint64
	// Limits is what the state machine is configured with.
	Limits apply.Limits

	// Emit is called with every event, in order; nil for none. It must not block.
	Emit func(Event)
	// Applied is called with every batch that the state machine went through, on
	// raft's FSM goroutine, in log order.
	Applied func(member string, batch []Applied)
	// Changed is called when the member's role or term changed or it went up or
	// down, on whatever goroutine that happened. It must not block.
	Changed func()
	// Requests is shared between the members of one process.
	Requests *Requests
	// ComeBack is asked to start the member, which went down because its disk was full
	// and has room again; nil for one that stays down. It must not block.
	ComeBack func(member string)
	// Closing, when closed, ends what the member does while it is down; nil for never.
	Closing <-chan struct{}
	Go      func(name string, fn func())
	Logger  hclog.Logger
}

// Member is one member of the group, running or not.
type Member struct {
	cfg Config

	slow       atomic.Int64                  // time.Duration added to every write
	slowTurned atomic.Pointer[chan struct{}] // closed when that changes
	held       atomic.Bool
	pace       atomic.Int64 // by how much elections are slowed down; see SlowElections
	silence    silence

	asked atomic.Int32 // snapshots that somebody asked for and that are under way
	room  room

	lifecycle lock.Lock // held while starting and stopping
	running   atomic.Pointer[incarnation]
	reason    atomic.Value // string: why it is down

	emitting sync.Mutex // keeps the order of events
	lastRole State      // what the last role event said; guarded by emitting
}

// incarnation is a member between a start and the next stop.
type incarnation struct {
	m         *Member
	raft      *raft.Raft
	disk      *disk
	snapshots *snapshots
	endpoint  *wire.Endpoint
	machine   *machine
	failed    chan string   // the first reason why it cannot go on
	stopped   chan struct{} // closed when it goes down
	commit    atomic.Uint64 // highest commit index that an event told; set with emitting held
	live      atomic.Bool   // raft is set and may be asked
	offline   bool          // there will be no raft: only the disk is worked on
	timing    sync.Mutex    // held while raft's timeouts are changed
	recovered string        // what was on the disk when it started, "" if nothing was

	snapshotting atomic.Bool   // a snapshot that was due is being taken
	snapshotted  atomic.Uint64 // what the last one covers, or the next is counted from
	unsnapped    atomic.Int64  // bytes applied since
	written      atomic.Int64  // bytes of the last one
}

// New is a member that is not running yet.
func New(cfg Config) *Member {
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	m := &Member{cfg: cfg}
	turned := make(chan struct{})
	m.slowTurned.Store(&turned)
	m.reason.Store(NotStarted)
	return m
}

// ID is the member's name.
func (m *Member) ID() string { return m.cfg.ID }

// Up reports whether the member runs.
func (m *Member) Up() bool { return m.running.Load() != nil }

// Start opens the member's disk and joins the group. fresh makes a new disk;
// without it the disk must be there: a member that has forgotten its votes
// must not come back under its old name.
func (m *Member) Start(fresh bool, reason string) error {
	m.lifecycle.Lock()
	defer m.lifecycle.Unlock()
	if m.Up() {
		return fmt.Errorf("member %s: %w", m.cfg.ID, ErrUp)
	}
	inc, err := m.open(fresh)
	if err != nil {
		m.reason.Store(err.Error())
		if noSpace(err) {
			m.ranOut(err)
		}
		m.wantsRoom(err)
		m.tellRefused(err)
		return err
	}
	m.room.awaiting.Store(false)
	m.room.tellAgain()
	inc.endpoint.SetGate(inc.disk.queue.passed)
	inc.endpoint.SetRoom(m.hasRoom)
	m.cfg.Go("flush of "+m.cfg.ID, inc.disk.flush)
	up := inc.state()
	up.Reason, up.Recovered = reason, inc.recovered
	m.emitRole(KindUp, up)
	inc.live.Store(true)
	m.running.Store(inc)
	inc.raft.RegisterObserver(raft.NewObserver(nil, false, inc.observe))
	inc.retime(inc.raft.State())
	inc.startStranded()
	m.cfg.Go("watch of "+m.cfg.ID, func() { m.watch(inc) })
	m.cfg.Changed()
	return nil
}

// tellRefused tells that the member found its log missing or damaged and stays down.
func (m *Member) tellRefused(err error) {
	if disk := (*DiskError)(nil); !errors.As(err, &disk) {
		return
	}
	m.emitting.Lock()
	last := m.lastRole
	m.emitting.Unlock()
	last.Role, last.Leader, last.Reason = "stopped", "", err.Error()
	m.emitRole(KindDown, last)
}

// open builds an incarnation on a goroutine of its own, because the disk
// answers a failed write during start by ending the goroutine.
func (m *Member) open(fresh bool) (*incarnation, error) {
	var inc *incarnation
	err := fmt.Errorf("member %s: its disk failed while it started", m.cfg.ID)
	done := make(chan struct{})
	m.cfg.Go("start of "+m.cfg.ID, func() {
		defer close(done)
		inc, err = m.build(fresh)
	})
	<-done
	return inc, err
}

func (m *Member) build(fresh bool) (*incarnation, error) {
	inc := &incarnation{m: m, failed: make(chan string, 1), stopped: make(chan struct{})}
	snapshots, err := openSnapshots(inc)
	if err != nil {
		return nil, err
	}
	d, err := openDisk(inc, fresh, snapshots.last())
	if err != nil {
		return nil, err
	}
	inc.disk, inc.snapshots = d, snapshots
	inc.snapshotted.Store(snapshots.last())
	inc.written.Store(snapshots.size())
	if !fresh {
		inc.recovered = d.contents(snapshots.last())
	}
	built := false
	defer func() {
		if !built {
			if inc.endpoint != nil {
				inc.endpoint.Close()
			}
			d.close()
		}
	}()
	inc.machine = newMachine(inc)
	inc.endpoint = m.cfg.Network.Attach(m.cfg.ID)
	conf := m.raftConfig()
	if fresh && len(m.cfg.Peers) > 0 {
		if err := raft.BootstrapCluster(conf, d, d, snapshots, inc.endpoint, m.group()); err != nil {
			return nil, fmt.Errorf("member %s: first start: %w", m.cfg.ID, err)
		}
	}
	if inc.raft, err = raft.NewRaft(conf, inc.machine, d, d, snapshots, inc.endpoint); err != nil {
		return nil, errors.Join(snapshots.why(), fmt.Errorf("member %s: start from %s: %w", m.cfg.ID, m.cfg.Dir, err))
	}
	built = true
	return inc, nil
}

func (m *Member) group() raft.Configuration {
	var c raft.Configuration
	for _, p := range m.cfg.Peers {
		c.Servers = append(c.Servers, p.raft())
	}
	return c
}

// watch takes the member down when it cannot go on, and tells how its election timeout
// runs.
func (m *Member) watch(inc *incarnation) {
	var look <-chan time.Time
	timer := time.NewTimer(ElectionTimeout)
	defer timer.Stop()
	if m.wanted() {
		look = timer.C
	}
	waits := electionTimeout{since: time.Now(), left: quarters}
	for {
		select {
		case reason := <-inc.failed:
			m.halt(inc, reason)
			return
		case <-inc.stopped:
			return
		case <-look:
			timer.Reset(inc.lookAtTimeout(&waits))
		}
	}
}

// Stop ends the member as a signal does that it may answer: what it was
// writing is still written.
func (m *Member) Stop(reason string) error { return m.down(reason, func(*disk) {}) }

// Kill ends the member as kill -9 ends its process: what it was writing is still
// written, since the machine goes on; what waited in its memory is lost.
func (m *Member) Kill(reason string) error {
	return m.down(reason, func(d *disk) { d.queue.drop() })
}

// Crash ends the member as a power cut does: nothing that was not yet synced
// reaches the disk.
func (m *Member) Crash(reason string) error { return m.down(reason, (*disk).crash) }

// down takes the member down, after what becomes of its disk.
func (m *Member) down(reason string, become func(*disk)) error {
	inc := m.running.Load()
	if inc == nil {
		return fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	// What the disk has to say of it comes too late to be the reason.
	m.haltAfter(inc, reason, func(d *disk) {
		become(d)
		m.room.awaiting.Store(false) // who is stopped stays down
	})
	return nil
}

// halt takes an incarnation down in the only safe order: release what the
// network holds, shut raft down, wait for the heartbeats, close the disk.
func (m *Member) halt(inc *incarnation, reason string) { m.haltAfter(inc, reason, func(*disk) {}) }

// haltAfter is halt after what becomes of the disk.
func (m *Member) haltAfter(inc *incarnation, reason string, become func(*disk)) {
	defer m.comeBack()
	m.lifecycle.Lock()
	defer m.lifecycle.Unlock()
	if m.running.Load() != inc {
		return
	}
	become(inc.disk)
	last := inc.state()
	inc.disk.hurry()
	inc.endpoint.Close()
	inc.raft.Shutdown().Error()
	inc.endpoint.Drain()
	inc.disk.close()
	close(inc.stopped)
	m.reason.Store(reason)
	m.running.Store(nil)

	last.Role, last.Leader, last.Reason = "stopped", "", reason
	m.emitRole(KindDown, last)
	m.cfg.Changed()
}

// Erase deletes all that is on the disk of a member that is down, which is down
// for that reason then.
func (m *Member) Erase(reason string) error {
	m.lifecycle.Lock()
	defer m.lifecycle.Unlock()
	if m.Up() {
		return fmt.Errorf("member %s is running", m.cfg.ID)
	}
	m.reason.Store(reason)
	m.room.awaiting.Store(false)
	return os.RemoveAll(m.cfg.Dir)
}

// fail says why the incarnation cannot go on; the first reason counts.
func (inc *incarnation) fail(reason string) {
	select {
	case inc.failed <- reason:
	default:
	}
}

// Why is the reason why the member is down.
func (m *Member) Why() string { return m.reason.Load().(string) }

// SlowDisk adds d to every write of the log and of votes, those that wait already too.
func (m *Member) SlowDisk(d time.Duration) {
	m.slow.Store(int64(d))
	next := make(chan struct{})
	close(*m.slowTurned.Swap(&next))
}

// slowness is what is added to a write, and a channel that is closed when that changes.
func (m *Member) slowness() (slow time.Duration, changed <-chan struct{}) {
	turned := m.slowTurned.Load() // first: what changes afterwards closes it
	return time.Duration(m.slow.Load()), *turned
}

// Range reads from the member's own state, however old that is.
func (m *Member) Range(req *pb.RangeRequest) (*pb.RangeResponse, error) {
	inc := m.running.Load()
	if inc == nil {
		return nil, fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	return inc.machine.Range(req)
}

// Campaign starts an election at once.
func (m *Member) Campaign() {
	if inc := m.running.Load(); inc != nil {
		inc.endpoint.Campaign()
	}
}

// Snapshot makes the member take a snapshot now, and cut its log off behind it: a
// follower that lags further than a few entries gets the snapshot.
func (m *Member) Snapshot() error {
	inc := m.running.Load()
	if inc == nil {
		return fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	m.asked.Add(1)
	inc.retime(inc.raft.State())
	defer func() {
		m.asked.Add(-1)
		inc.retime(inc.raft.State())
	}()
	if err := inc.raft.Snapshot().Error(); err != nil {
		return fmt.Errorf("member %s: snapshot: %w", m.cfg.ID, err)
	}
	return nil
}

func (m *Member) path(name string) string { return filepath.Join(m.cfg.Dir, name) }
