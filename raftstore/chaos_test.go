package raftstore_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// How: some clients write and read a few keys while faults come and go. What
// each client saw is one history; porcupine looks for an order of the operations
// that explains it as one correct register per key. A write whose end is
// unknown may have happened at any later time, or never. Beside that, every
// acknowledged write must be committed exactly once, in the order of the calls.
//
// Faults are of disks (crash, lost disk, full, slow), of links (cut, drop, delay,
// duplicate, reorder, hold), of leadership (transfer, split vote, slow elections) and of the
// group itself: members join, are promoted, are replaced and leave meanwhile.
//
// KVIZ_SEEDS=1000 runs more seeds, KVIZ_ONLY_SEED=17 one.

func TestNoAcknowledgedWriteIsLost(t *testing.T) {
	for _, seed := range seeds(t, 50) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				newChaos(t, seed, []int{3, 3, 2, 3, 5, 3, 4, 3, 1, 5}[seed%10]).run()
			})
		})
	}
}

// seeds are n that follow one another, the same each time unless the environment asks for
// others: by steady.Seed for the n after these.
func seeds(t *testing.T, n int) (list []uint64) {
	if one, ok := os.LookupEnv("KVIZ_ONLY_SEED"); ok {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			t.Fatalf("KVIZ_ONLY_SEED: %v", err)
		}
		return []uint64{seed}
	}
	if many, ok := os.LookupEnv("KVIZ_SEEDS"); ok {
		var err error
		if n, err = strconv.Atoi(many); err != nil {
			t.Fatalf("KVIZ_SEEDS: %v", err)
		}
	}
	first := (steady.Seed() - 1) * uint64(n)
	for i := range uint64(n) {
		list = append(list, first+i)
	}
	return list
}

type chaos struct {
	t     *testing.T
	s     *raftstore.Replicated
	rand  *rand.Rand // the nemesis's
	seed  uint64
	calls atomic.Int64 // calls and returns of operations: the history's clock, for many are in one instant
	ops   atomic.Int64 // operations that ended

	acknowledged atomic.Int64
	events       *transcript

	mu        sync.Mutex
	history   []porcupine.Operation
	committed map[string]int // by written value
	ordered   []int          // the pipeline's writes, as committed
	revision  int64
	faults    []string
	unsure    bool // a change of the group may still be under way
}

func newChaos(t *testing.T, seed uint64, members int) *chaos {
	c := &chaos{
		t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 1)),
		committed: map[string]int{}, events: newTranscript(),
	}
	c.s = open(t, raftstore.Config{
		NoSync: true, Members: members, RequestTimeout: 500 * time.Millisecond, Seed: seed,
		SnapshotEvery: 50, SnapshotTrailing: 20, Events: c.events.add,
	})
	c.s.OnCommit(c.commit)
	return c
}

// commit checks that revisions come one by one.
func (c *chaos) commit(r *raftstore.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.revision != 0 && r.Revision != c.revision+1 {
		c.t.Errorf("revision %d was told after %d", r.Revision, c.revision)
	}
	c.revision = r.Revision
	for _, e := range r.Events {
		c.committed[string(e.Kv.Value)]++
		if string(e.Kv.Key) == "pipeline" {
			n, _ := strconv.Atoi(string(e.Kv.Value[1:]))
			c.ordered = append(c.ordered, n)
		}
	}
}

func (c *chaos) run() {
	defer func() {
		if c.t.Failed() {
			c.t.Logf("KVIZ_ONLY_SEED=%d; faults: %v", c.seed, c.faults)
			for _, m := range c.s.Members() {
				c.t.Logf("%+v", m)
			}
			c.t.Logf("last events:\n%s", c.events.tail(60))
		}
	}()
	var clients sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		clients.Go(func() { c.client(i, done) })
	}
	clients.Go(func() { c.pipeline(done) })
	for range 6 {
		c.nemesis()
		c.breathe(25)
	}
	c.repair()
	steady.Until(c.t, "the clients go on after the repair", func() bool { return c.acknowledged.Load() >= 30 })
	close(done)
	clients.Wait()
	for k := range 3 {
		c.do(9, k, "") // the last reads see every acknowledged write
	}
	c.check()
}

// breathe waits for n operations, but not for long: there may be no quorum.
func (c *chaos) breathe(n int64) {
	goal := c.ops.Load() + n
	for range 100 {
		if c.ops.Load() >= goal {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// input is an operation on one key; a read has no value.
type input struct {
	key   int
	value string
}

type output struct {
	value   string
	unknown bool
}

func (c *chaos) client(id int, done chan struct{}) {
	r := rand.New(rand.NewPCG(c.seed, uint64(100+id)))
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		default:
		}
		value := ""
		if r.IntN(2) == 0 {
			value = fmt.Sprintf("%d.%d", id, n)
		}
		c.do(id, r.IntN(3), value)
		think(r)
	}
}

// think lets time pass, which a healthy store does not need to answer. It is whole
// milliseconds, so that clients often ask in the same instant.
func think(r *rand.Rand) { time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond) }

// do runs one operation and writes it into the history.
func (c *chaos) do(client, key int, value string) {
	name := fmt.Sprintf("k%d", key)
	req := getReq(name)
	if value != "" {
		req = putReq(name, value)
	}
	op := porcupine.Operation{ClientId: client, Input: input{key, value}, Call: c.calls.Add(1)}
	res := call(c.s, req)
	op.Return = c.calls.Add(1)
	c.ops.Add(1)
	var out output
	switch {
	case res.Err != nil && value == "":
		return
	case res.Err != nil:
		out.unknown = true
		op.Return = math.MaxInt64 // it may take effect at any time
	case value != "":
		c.acknowledged.Add(1)
	default:
		if kvs := res.Response.(*pb.RangeResponse).Kvs; len(kvs) > 0 {
			out.value = string(kvs[0].Value)
		}
	}
	op.Output = out
	c.mu.Lock()
	c.history = append(c.history, op)
	c.mu.Unlock()
}

// pipeline makes writes without waiting for one another; they must take
// effect in the order of the calls, whatever happens.
func (c *chaos) pipeline(done chan struct{}) {
	var open sync.WaitGroup
	slots := make(chan struct{}, 32)
	r := rand.New(rand.NewPCG(c.seed, 99))
	for n := 1; ; n++ {
		select {
		case <-done:
			open.Wait()
			return
		case slots <- struct{}{}:
		}
		if r.IntN(2) == 0 { // some at once, then a pause
			think(r)
		}
		value := fmt.Sprintf("p%d", n)
		open.Add(1)
		c.s.Do(putReq("pipeline", value), func(r *raftstore.Result) {
			if r.Err == nil {
				c.mu.Lock()
				if c.committed[value] != 1 {
					c.t.Errorf("write %s was acknowledged, but told as a commit %d times before", value, c.committed[value])
				}
				c.mu.Unlock()
			}
			<-slots
			open.Done()
		})
	}
}

func (c *chaos) note(err error, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if err != nil {
		text += " (" + err.Error() + ")"
	}
	c.faults = append(c.faults, text)
}

// nemesis does one thing to the members.
func (c *chaos) nemesis() {
	members := c.s.IDs()
	pick := func() string { return members[c.rand.IntN(len(members))] }
	m := pick()
	if c.rand.IntN(2) == 0 {
		m = cmp.Or(c.s.Leader(), m)
	}
	to := pick()
	for to == m && len(members) > 1 {
		to = pick()
	}
	switch c.rand.IntN(25) {
	case 15, 16:
		id, err := c.s.AddMember(c.rand.IntN(2) == 0)
		c.note(err, "add %s", id)
		c.unsure = c.unsure || err != nil
	case 17, 18:
		err := c.s.RemoveMember(m)
		c.note(err, "remove %s", m)
		c.unsure = c.unsure || err != nil
	case 19:
		for _, s := range c.s.Members() {
			if s.Learner {
				c.note(c.s.PromoteMember(s.ID), "promote %s", s.ID)
			}
		}
	case 20:
		if c.mayLose(m) {
			c.note(c.s.Wipe(m), "wipe %s", m)
			c.breathe(10)
		}
	case 21, 22:
		c.note(c.s.Reorder(m, to, 0.2), "reorder %s to %s", m, to)
	case 23:
		c.note(c.s.SplitVote(), "split vote")
	case 24:
		c.note(c.s.SlowElections(2), "slow elections")
	case 0, 1:
		c.note(c.s.Crash(m), "crash %s", m)
	case 2:
		c.note(c.s.Stop(m), "stop %s", m)
	case 3:
		c.note(c.s.Isolate(m), "isolate %s", m)
	case 4:
		c.note(c.s.Cut(m, to), "cut %s to %s", m, to)
	case 5:
		c.note(c.s.FillDisk(m), "fill %s", m)
	case 6:
		c.note(c.s.SlowDisk(m, 30*time.Millisecond), "slow %s", m)
	case 7:
		c.note(c.s.Drop(m, to, 0.3), "drop %s to %s", m, to)
	case 8:
		c.note(c.s.Delay(m, to, 20*time.Millisecond), "delay %s to %s", m, to)
	case 9:
		c.note(c.s.TransferLeadership(m), "transfer to %s", m)
	case 10, 11:
		// The leader's disk lags behind what it has replicated, and that is lost.
		c.note(c.s.SlowDisk(m, 30*time.Millisecond), "slow %s", m)
		c.breathe(10)
		c.note(c.s.Crash(m), "crash %s", m)
	case 12:
		c.note(c.s.Duplicate(m, to, 0.5), "duplicate %s to %s", m, to)
	case 13:
		c.s.Hold(true)
		c.breathe(5)
		for range c.rand.IntN(8) {
			c.s.ReleaseOne()
		}
		c.s.Hold(false)
		c.note(nil, "hold")
	default:
		c.note(nil, "repair")
		c.repair()
	}
}

// mayLose says whether the group can go on without a member's disk: beyond that the
// quorum is lost for good, and with it what was acknowledged.
func (c *chaos) mayLose(id string) bool {
	if c.unsure {
		return false // the quorum may be another one than it seems
	}
	voters, whole := 0, 0
	for _, m := range c.s.Members() {
		if m.Learner {
			continue
		}
		if voters++; m.ID != id && !strings.Contains(m.Reason, "forgotten its votes") {
			whole++
		}
	}
	return whole > voters/2
}

// repair takes every fault away and starts every member again; one whose disk is lost
// is replaced.
func (c *chaos) repair() {
	c.s.Heal()
	if err := c.s.SlowElections(1); err != nil {
		c.t.Error(err)
	}
	for _, m := range c.s.IDs() {
		if err := c.s.FreeDisk(m); err != nil {
			c.t.Error(err)
		}
		if err := c.s.SlowDisk(m, 0); err != nil {
			c.t.Error(err)
		}
	}
	steady.Until(c.t, "every member is up", func() bool {
		for _, m := range c.s.Members() {
			if !m.Up && !strings.Contains(m.Reason, "forgotten its votes") {
				if err := c.s.Restart(m.ID); err != nil {
					c.t.Fatalf("seed %d: restart %s: %v", c.seed, m.ID, err)
				}
				return false
			}
		}
		if !c.s.Healthy() {
			return false
		}
		for _, m := range c.s.Members() {
			if !m.Up {
				id, err := c.s.Rejoin(m.ID)
				c.note(err, "rejoin %s as %s", m.ID, id)
				return false
			}
		}
		return true
	})
	c.unsure = false
}

func (c *chaos) check() {
	t := c.t
	c.converge() // before the lock: writes that timed out may still be committed
	c.mu.Lock()
	defer c.mu.Unlock()
	acknowledged := 0
	for _, op := range c.history {
		value := op.Input.(input).value
		if n := c.committed[value]; value != "" && (n > 1 || n == 0 && !op.Output.(output).unknown) {
			t.Errorf("write %s was committed %d times; unknown: %v", value, n, op.Output.(output).unknown)
		}
		if value != "" && !op.Output.(output).unknown {
			acknowledged++
		}
	}
	if !slices.IsSorted(c.ordered) {
		t.Errorf("the pipeline's writes took effect out of order: %v", c.ordered)
	}
	steps := new(atomic.Int64)
	linearizable := porcupine.CheckOperations(register(steps), c.observable())
	switch n := steps.Load(); {
	case n > mostSteps:
		t.Errorf("the history has not been checked after %d steps", n)
	case !linearizable:
		t.Errorf("the history is not linearizable")
	}
	t.Logf("%d operations and %d pipelined writes acknowledged, checked in %d steps; faults: %v", acknowledged, len(c.ordered), steps.Load(), c.faults)
}

// observable is the history without the unknown writes that nobody has read:
// they may have happened after everything else, and only cost time to place.
func (c *chaos) observable() (ops []porcupine.Operation) {
	read := map[string]bool{}
	for _, op := range c.history {
		read[op.Output.(output).value] = true
	}
	for _, op := range c.history {
		if !op.Output.(output).unknown || read[op.Input.(input).value] {
			ops = append(ops, op)
		}
	}
	return ops
}

// converge checks that all members come to hold the same.
func (c *chaos) converge() {
	all := &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}
	var states []string
	same := func() bool {
		states = states[:0]
		for _, m := range c.s.IDs() {
			resp, err := c.s.RangeAt(m, all)
			if err != nil {
				states = append(states, m+": "+err.Error())
				continue
			}
			states = append(states, fmt.Sprint(resp.Header.Revision, resp.Kvs))
		}
		return len(slices.Compact(slices.Clone(states))) == 1
	}
	steady.Await(c.t, "the members hold the same", func() error {
		if !same() {
			return fmt.Errorf("they hold %v", states)
		}
		return nil
	})
}

// mostSteps is by how many steps a history must have been checked: two thousand times as
// many as one takes.
const mostSteps = 1_000_000

// register is one correct register per key. It counts the steps by which a history is
// checked, and beyond the most of them takes none.
func register(steps *atomic.Int64) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byKey := make([][]porcupine.Operation, 3)
			for _, op := range history {
				k := op.Input.(input).key
				byKey[k] = append(byKey[k], op)
			}
			return byKey
		},
		Init: func() any { return "" },
		Step: func(state, in, out any) (bool, any) {
			if steps.Add(1) > mostSteps {
				return false, state
			}
			if v := in.(input).value; v != "" {
				return true, v
			}
			return out.(output).value == state.(string), state
		},
	}
}
