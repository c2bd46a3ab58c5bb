package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/apply"
	"kviz/raftstore/member"
)

// aside reports whether a fault of the store takes its time: members agree on
// it, catch up, or rewrite a disk. It is done beside the kernel, which goes on.
func aside(f control.Fault) bool {
	switch f.Name {
	case "rejoin", "recover", "add-learner", "add-voter", "promote", "remove", "split-vote", "defrag", "snapshot", "compact", "disarm", "reinstall":
		return true
	case "wipe":
		return f.Target == "store"
	}
	return false
}

// injectAside is inject for what takes its time: what came of it is told when
// it has ended.
func (c *Cluster) injectAside(f control.Fault) error {
	var do action
	var err error
	if doErr := c.k.Do(func() {
		what, name, _ := strings.Cut(f.Target, "/")
		do, err = c.prepare(what, name, f)
	}); doErr != nil {
		return doErr
	}
	if err != nil {
		return err
	}
	if err := do(causesOf(f)); err != nil {
		return err
	}
	return c.k.Do(func() { c.note(f, kindOf(f)) })
}

// errBare is what faults of members are refused with where there are none.
func errBare(f control.Fault) error {
	return fmt.Errorf("there is no %q: this cluster runs on the bare store, without members", f.Target)
}

func (c *Cluster) hasMember(id string) bool {
	return slices.ContainsFunc(c.raft.Members(), func(m raftstore.MemberStatus) bool { return m.ID == id })
}

// otherMembers are the members but for one, in order.
func (c *Cluster) otherMembers(id string) (others []string) {
	for _, m := range c.raft.Members() {
		if m.ID != id {
			others = append(others, m.ID)
		}
	}
	return others
}

func (c *Cluster) memberFault(id string, f control.Fault) (action, error) {
	if c.raft == nil {
		return nil, errBare(f)
	}
	if !c.hasMember(id) {
		return nil, c.noTarget(f.Target)
	}
	others := c.otherMembers(id)
	if len(others) == 0 && slices.Contains([]string{"cut", "mute", "deafen", "delay", "drop", "duplicate", "reorder"}, f.Name) {
		return nil, fmt.Errorf("%s is the only member: it has no link that could be broken", f.Target)
	}
	for _, peer := range peersOf(f) {
		switch {
		case peer == id:
			return nil, fmt.Errorf("%s has no link to itself: name another member", f.Target)
		case !c.hasMember(peer):
			return nil, c.noPeer(f, peer)
		}
	}
	if f.Name == "recover" {
		return c.onStore("recover", func(t *sim.Task) error { return c.recover(t, id) }), nil
	}
	do, err := c.memberAction(id, f, others)
	if err != nil {
		return nil, err
	}
	return func([]trace.ID) error { return do() }, nil
}

func (c *Cluster) memberAction(id string, f control.Fault, others []string) (func() error, error) {
	r := c.raft
	simple := map[string]func(string) error{
		"stop": r.Stop, "crash": r.Kill, "power-cut": r.Crash, "start": r.Restart, "heal": r.HealMember,
		"fill": r.FillDisk, "free": r.FreeDisk, "lead": r.TransferLeadership,
		"wipe": r.Wipe, "promote": r.PromoteMember, "remove": r.RemoveMember,
		"snapshot": r.Snapshot, "defrag": r.Defragment,
		"fast":    func(id string) error { return r.SlowDisk(id, 0) },
		"rejoin":  func(id string) error { _, err := r.Rejoin(id); return err },
		"cut":     func(id string) error { return c.cutMember(id, peersOf(f)) },
		"mute":    func(id string) error { return oneWay(f, others, func(o string) error { return r.Cut(id, o) }) },
		"deafen":  func(id string) error { return oneWay(f, others, func(o string) error { return r.Cut(o, id) }) },
		"restart": func(id string) error { return errors.Join(r.Stop(id), r.Restart(id)) },
	}
	if do := simple[f.Name]; do != nil {
		return func() error { return do(id) }, nil
	}
	return c.measuredAction(id, f, others)
}

// measuredAction is a fault of a member with an argument that is no member.
func (c *Cluster) measuredAction(id string, f control.Fault, others []string) (func() error, error) {
	switch f.Name {
	case "slow":
		d, err := duration(f.Args, 0, "slow wants how much longer each write takes, such as 400ms")
		return func() error { return c.raft.SlowDisk(id, d) }, err
	case "corrupt":
		what := member.Flipped
		if len(f.Args) > 0 {
			what = member.Damage(f.Args[0])
		}
		if !slices.Contains(member.Damages, what) {
			return nil, fmt.Errorf("%q is no damage: want one of %s", f.Args[0], joined(member.Damages))
		}
		return func() error { return c.raft.Corrupt(id, what) }, nil
	case "delay":
		d, err := duration(f.Args, 1, "usage: "+usageOf(f, others[0]))
		return func() error { return bothWays(c.raft.Delay, id, peersOf(f)[0], d) }, err
	}
	set := map[string]func(from, to string, p float64) error{"drop": c.raft.Drop, "duplicate": c.raft.Duplicate, "reorder": c.raft.Reorder}[f.Name]
	p, err := fraction(f.Args, 1, "usage: "+usageOf(f, others[0]))
	return func() error { return bothWays(set, id, peersOf(f)[0], p) }, err
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// peersOf are the other members that a fault's arguments name.
func peersOf(f control.Fault) []string {
	var named []string
	switch f.Name {
	case "cut", "mute", "deafen":
		named = f.Args
	case "delay", "drop", "duplicate", "reorder":
		named = f.Args[:min(1, len(f.Args))]
	}
	peers := make([]string, len(named))
	for i, n := range named {
		peers[i] = strings.TrimPrefix(n, "member/")
	}
	return peers
}

// oneWay does something to the link with each named peer, or with every other.
func oneWay(f control.Fault, others []string, do func(string) error) error {
	peers := peersOf(f)
	if len(peers) == 0 {
		peers = others
	}
	for _, p := range peers {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// cutMember cuts a member from the named peers, or from all.
func (c *Cluster) cutMember(id string, peers []string) error {
	if len(peers) == 0 {
		return c.raft.Isolate(id)
	}
	for _, p := range peers {
		if err := errors.Join(c.raft.Cut(id, p), c.raft.Cut(p, id)); err != nil {
			return err
		}
	}
	return nil
}

// storeFault is a fault of the store as a whole. Compaction, quota and alarms
// are there without members too.
func (c *Cluster) storeFault(f control.Fault) (action, error) {
	switch f.Name {
	case "compact":
		return c.compactStore(f)
	case "disarm":
		return c.onStore("disarm", c.disarm), nil
	case "reinstall":
		return c.onStore("reinstall", c.reinstall), nil
	case "quota":
		n, err := bytesOf(f.Args)
		if err != nil {
			return nil, err
		}
		return func([]trace.ID) error { return c.setQuota(n) }, nil
	case "defrag":
		return func([]trace.ID) error { return c.defragment() }, nil
	}
	if c.raft == nil {
		return nil, errBare(f)
	}
	do, err := c.groupAction(f)
	if err != nil {
		return nil, err
	}
	return func([]trace.ID) error { return do() }, nil
}

func (c *Cluster) groupAction(f control.Fault) (func() error, error) {
	r := c.raft
	switch f.Name {
	case "stop":
		return func() error { return c.each(true, r.Stop) }, nil
	case "crash":
		return func() error { return c.each(true, r.Kill) }, nil
	case "start":
		return func() error { return c.each(false, r.Restart) }, nil
	case "heal":
		return func() error {
			for _, m := range r.Members() {
				if err := r.HealMember(m.ID); err != nil {
					return err
				}
			}
			return nil
		}, nil
	case "partition":
		groups, err := c.groups(f)
		return func() error { return c.partition(groups) }, err
	case "add-learner":
		return func() error { _, err := r.AddMember(true); return err }, nil
	case "add-voter":
		return func() error { _, err := r.AddMember(false); return err }, nil
	case "split-vote":
		return r.SplitVote, nil
	case "slow-elections":
		if len(f.Args) == 0 {
			return nil, fmt.Errorf("slow-elections wants a factor, such as 10")
		}
		n, err := strconv.Atoi(f.Args[0])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no factor of at least 1", f.Args[0])
		}
		return func() error { return r.SlowElections(n) }, nil
	case "fast-elections":
		return func() error { return r.SlowElections(1) }, nil
	}
	return c.wipeStore, nil // the catalogue names no other
}

// each does something to every member that is up, or to every one that is down.
func (c *Cluster) each(up bool, do func(string) error) error {
	for _, m := range c.raft.Members() {
		if m.Up != up {
			continue
		}
		if err := do(m.ID); err != nil {
			return err
		}
	}
	return nil
}

// groups reads "a,b c" as groups of members. Who is not named is in the last.
func (c *Cluster) groups(f control.Fault) (groups [][]string, err error) {
	rest := c.otherMembers("")
	for _, arg := range f.Args {
		var g []string
		for _, id := range strings.Split(arg, ",") {
			id = strings.TrimPrefix(strings.TrimSpace(id), "member/")
			i := slices.Index(rest, id)
			switch {
			case i < 0 && c.hasMember(id):
				return nil, fmt.Errorf("member %s is named twice", id)
			case i < 0:
				return nil, fmt.Errorf("there is no member %q: the members are %s", id, joined(c.otherMembers("")))
			}
			rest = slices.Delete(rest, i, i+1)
			g = append(g, id)
		}
		groups = append(groups, g)
	}
	if len(rest) > 0 {
		groups = append(groups, rest)
	}
	if len(groups) < 2 {
		return nil, fmt.Errorf("partition wants groups of members, such as: partition store a,b")
	}
	return groups, nil
}

func (c *Cluster) partition(groups [][]string) error {
	for i, g := range groups {
		for j, other := range groups {
			if i == j {
				continue
			}
			for _, a := range g {
				for _, b := range other {
					if err := c.raft.Cut(a, b); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// onStore is an action that asks the store for something, as a client does that
// waits for the answer in virtual time.
func (c *Cluster) onStore(name string, fn func(*sim.Task) error) action {
	return func(causes []trace.ID) error {
		var p *sim.Process
		if err := c.k.Do(func() { p = c.k.NewProcess(trace.Lane{Component: trace.CompSimulation}) }); err != nil {
			return err
		}
		var err error
		callErr := c.k.Call(context.Background(), p, name, func(t *sim.Task) {
			t.SetCauses(causes...)
			err = fn(t)
		})
		return errors.Join(err, callErr)
	}
}

func (c *Cluster) compactStore(f control.Fault) (action, error) {
	rev := c.etcd.Revision()
	if len(f.Args) > 0 {
		n, err := strconv.ParseInt(f.Args[0], 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no revision: want a number from 1 to %d", f.Args[0], rev)
		}
		rev = n
	}
	return c.onStore("compact", func(t *sim.Task) error { return c.etcd.Compact(t, rev) }), nil
}

// disarm clears every alarm of every member, one after another, as etcdctl does.
func (c *Cluster) disarm(t *sim.Task) error {
	s, ok := c.store.(raftstore.Alarming)
	if !ok {
		return fmt.Errorf("this store has no alarms")
	}
	for _, a := range s.Alarms() {
		off := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: a.MemberID, Alarm: a.Alarm}
		if _, err := c.etcd.Do(t, "alarm disarm", &pb.InternalRaftRequest{Alarm: off}); err != nil {
			return err
		}
	}
	return nil
}

// bytesOf reads a size: "4MiB", "2GiB", "500000".
func bytesOf(args []string) (int64, error) {
	if len(args) == 0 {
		return 0, fmt.Errorf("quota wants a size, such as 4MiB")
	}
	n, err := humanize.ParseBytes(args[0])
	if err != nil || n == 0 || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is no size: want bytes, such as 4MiB, 500KiB or 2GiB", args[0])
	}
	return int64(n), nil
}

// setQuota changes the quota of a running store; etcd reads it when it starts.
func (c *Cluster) setQuota(n int64) error {
	c.quota.Store(n)
	return nil
}

// defragment has one member after another do it, the leader last, as people do.
func (c *Cluster) defragment() error {
	s, ok := c.store.(raftstore.Defragmenting)
	switch {
	case !ok:
		return fmt.Errorf("this store has no database that could be defragmented")
	case c.raft == nil:
		return s.Defragment("")
	}
	list := c.raft.Members()
	slices.SortStableFunc(list, func(a, b raftstore.MemberStatus) int { return leads(a) - leads(b) })
	for _, m := range list {
		if !m.Up {
			continue
		}
		if err := s.Defragment(m.ID); err != nil {
			return err
		}
	}
	return nil
}

func leads(m raftstore.MemberStatus) int {
	if m.Role == "leader" {
		return 1
	}
	return 0
}

// wipeStore loses every member's disk. What is begun then is another cluster,
// with nothing in it.
func (c *Cluster) wipeStore() error {
	return c.onStore("wipe", func(t *sim.Task) error {
		_, err := c.rebuild(t, apply.New(apply.Limits{}), raftstore.RebuildOptions{}, "every disk of the store is lost")
		return err
	})(nil)
}
