// Package fairness is API priority and fairness: who is served when the API server
// gets more requests at once than it takes on.
//
// A FlowSchema says which requests are a flow (of a user, of a namespace), and to
// which priority level it belongs; a PriorityLevelConfiguration says how big a share
// of the server's seats the level has, and what happens to a request that finds them
// taken: it waits in a queue, or is rejected with 429. So a flow that sends too much
// delays itself, then its level, but never another level.
//
// The objects are those of flowcontrol.apiserver.k8s.io/v1, and the defaults those of
// apiserver pkg/apis/flowcontrol/bootstrap. Matching, the digestion of the objects
// and the fair queuing mirror apiserver pkg/util/flowcontrol; shuffle sharding is
// upstream's code. The caller supplies the time.
//
// Start reading at [Controller.Start], then queues.go, then borrow.go.
package fairness

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
)

// DefaultConcurrency is how many seats a server has: kube-apiserver's
// --max-requests-inflight and --max-mutating-requests-inflight together.
const DefaultConcurrency = 600

// Controller shares the seats (apiserver pkg/util/flowcontrol/apf_controller.go).
type Controller struct {
	total    int
	nominal  int       // seats of all levels together, which rounding makes more than total
	schemas  []*Schema // in the order in which they are tried
	catchAll *Schema
	levels   map[string]*Level
	order    []string // of levels, by name
	flows    map[flowID]*Flow

	next time.Duration // when limits are adjusted
	held held          // seats that are kept for watchers
	due  time.Duration // when the next of both is
	fair float64       // the newest allocation's proportion
	// moved says that limits were adjusted since somebody asked.
	moved bool

	given       []*flowcontrol.FlowSchema // what schemas and levels were made of
	givenLevels []*flowcontrol.PriorityLevelConfiguration
}

// Schema is a FlowSchema in use.
type Schema struct {
	*flowcontrol.FlowSchema
	Level *Level
	Stats *Flow
	// By and Free are what is told of a request that finds a seat: made once, as
	// almost every request does.
	By, Free string

	c *Controller
}

// Class is what a request was classified as.
type Class struct {
	Schema, Level       string
	SchemaUID, LevelUID types.UID
}

// Class is what a request of the schema is classified as.
func (s *Schema) Class() Class { return Class{s.Name, s.Level.Name, s.UID, s.Level.UID} }

// Level is a PriorityLevelConfiguration in use.
type Level struct {
	*flowcontrol.PriorityLevelConfiguration
	// Nominal are the level's seats by its share; Min how many it keeps in any case,
	// and Max how many it may have with what others lend it.
	Nominal, Min, Max int
	Demand            Demand
	Target            float64 // seats that it should have, from its demand

	set     queueSet
	drop    drops
	old     bool // it has been given a limit
	desired bool // there is an object of it
	ends    bool // there is none, and it goes when it is idle
}

// State is how a level stands.
type State struct {
	Level             string
	Limit             int // seats it has now; 0 where it is exempt
	Nominal, Min, Max int
	Exempt, Ends      bool
	InUse, Executing  int
	Waiting           int // requests
	Queues, Busy      int // Busy are those in which somebody waits
	Demand            Demand
	Target            float64
	Counts
}

// Borrowed is how many seats the level has above its nominal ones, or, below zero,
// how many of those others have.
func (s *State) Borrowed() int { return s.Limit - s.Nominal }

// Bootstrap are the objects of a new cluster: the mandatory ones, without which no
// server runs, and the suggested ones.
func Bootstrap() ([]*flowcontrol.FlowSchema, []*flowcontrol.PriorityLevelConfiguration) {
	return slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas),
		slices.Concat(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations)
}

// New makes a controller with the bootstrap objects, which get UIDs.
func New(now time.Duration, total int, uid func() types.UID) *Controller {
	c := &Controller{levels: map[string]*Level{}, flows: map[flowID]*Flow{}, next: now + adjustEvery, due: now + adjustEvery}
	schemas, levels := Bootstrap()
	for _, fs := range schemas {
		fs = fs.DeepCopy()
		fs.UID = uid()
		c.given = append(c.given, fs)
	}
	for _, pl := range levels {
		pl = pl.DeepCopy()
		pl.UID = uid()
		c.givenLevels = append(c.givenLevels, pl)
	}
	c.Use(now, total, c.given, c.givenLevels)
	return c
}

// Resize shares out another number of seats.
func (c *Controller) Resize(now time.Duration, total int) { c.Use(now, total, c.given, c.givenLevels) }

// Total is how many seats there are.
func (c *Controller) Total() int { return c.total }

// Given are the objects in use, which are not to be changed.
func (c *Controller) Given() ([]*flowcontrol.FlowSchema, []*flowcontrol.PriorityLevelConfiguration) {
	return c.given, c.givenLevels
}

// Use takes up objects and a number of seats. A level that is gone is kept while
// somebody waits or sits there. Objects that contradict themselves are left out;
// the mandatory ones are there whether they are given or not
// (lockAndDigestConfigObjects).
func (c *Controller) Use(now time.Duration, total int, schemas []*flowcontrol.FlowSchema, levels []*flowcontrol.PriorityLevelConfiguration) {
	c.catchUp(now)
	c.total, c.given, c.givenLevels = total, schemas, levels
	for _, l := range c.levels {
		l.desired = false
	}
	for _, pl := range levels {
		if broken(pl) {
			continue
		}
		l := c.level(now, pl.Name)
		l.PriorityLevelConfiguration, l.desired, l.ends = pl, true, false
	}
	c.takeSchemas(schemas)
	for name, l := range c.levels { // each by itself: their order is of no meaning
		if !l.desired && !mandatory(name) {
			if l.ends = true; l.set.idle() {
				delete(c.levels, name)
			}
		}
	}
	for _, pl := range bootstrap.MandatoryPriorityLevelConfigurations {
		if l := c.level(now, pl.Name); l.PriorityLevelConfiguration == nil {
			l.PriorityLevelConfiguration = pl
		}
	}
	c.supplySchemas()
	c.share(now)
}

func mandatory(level string) bool {
	return level == flowcontrol.PriorityLevelConfigurationNameExempt || level == flowcontrol.PriorityLevelConfigurationNameCatchAll
}

func (c *Controller) level(now time.Duration, name string) *Level {
	l := c.levels[name]
	if l == nil {
		l = &Level{drop: newDrops()}
		l.set.now, l.set.demand.since, l.set.held = now, now, &c.held
		c.levels[name] = l
	}
	return l
}

// share shares the seats out: by the levels' nominal shares, and then by what
// they want (finishQueueSetReconfigsLocked).
func (c *Controller) share(now time.Duration) {
	c.order = c.order[:0]
	sum := 0.0
	for name, l := range c.levels {
		c.order = append(c.order, name)
		shares, _, _ := l.commons()
		sum += float64(shares)
	}
	slices.Sort(c.order)
	c.nominal = 0
	for _, name := range c.order {
		c.levels[name].configure(now, c.total, sum)
		c.nominal += c.levels[name].Nominal
	}
	c.adjust(now)
	c.setDue()
}

// takeSchemas takes up the schemas whose level there is an object of.
func (c *Controller) takeSchemas(schemas []*flowcontrol.FlowSchema) {
	c.schemas, c.catchAll = nil, nil
	for _, fs := range schemas {
		if !c.Dangling(fs) {
			c.schemas = append(c.schemas, &Schema{FlowSchema: fs})
		}
	}
	slices.SortFunc(c.schemas, func(a, b *Schema) int {
		if d := a.Spec.MatchingPrecedence - b.Spec.MatchingPrecedence; d != 0 {
			return int(d)
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// Dangling reports whether a schema's level is not there.
func (c *Controller) Dangling(fs *flowcontrol.FlowSchema) bool {
	l := c.levels[fs.Spec.PriorityLevelConfiguration.Name]
	return l == nil || !l.desired
}

// supplySchemas adds the mandatory schemas where they are missing, and what is
// told of each.
func (c *Controller) supplySchemas() {
	if c.schema(flowcontrol.FlowSchemaNameExempt) == nil {
		c.schemas = slices.Insert(c.schemas, 0, &Schema{FlowSchema: bootstrap.MandatoryFlowSchemaExempt})
	}
	if c.schema(flowcontrol.FlowSchemaNameCatchAll) == nil {
		c.schemas = append(c.schemas, &Schema{FlowSchema: bootstrap.MandatoryFlowSchemaCatchAll})
	}
	c.catchAll = c.schema(flowcontrol.FlowSchemaNameCatchAll)
	for _, s := range c.schemas {
		s.c, s.Level, s.By = c, c.levels[s.Spec.PriorityLevelConfiguration.Name], "FlowSchema "+s.Name
		s.Stats = c.flow(flowID{s.Level.Name, s.Name})
		s.Free = "Priority level " + s.Level.Name + " has a free seat, so the request does not queue."
		if s.Level.Spec.Limited == nil {
			s.Free = "Priority level " + s.Level.Name + " has no limit, so the request does not queue."
		}
	}
}

func (c *Controller) schema(name string) *Schema {
	for _, s := range c.schemas {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// broken reports whether a level contradicts itself (queueSetCompleterForPL).
func broken(pl *flowcontrol.PriorityLevelConfiguration) bool {
	s := &pl.Spec
	limited, exempt := s.Type == flowcontrol.PriorityLevelEnablementLimited, s.Type == flowcontrol.PriorityLevelEnablementExempt
	switch {
	case limited != (s.Limited != nil), exempt != (s.Exempt != nil), exempt != (pl.Name == flowcontrol.PriorityLevelConfigurationNameExempt):
		return true
	case limited:
		return (s.Limited.LimitResponse.Type == flowcontrol.LimitResponseTypeReject) != (s.Limited.LimitResponse.Queuing == nil)
	}
	return !exempt
}

// commons are what limited and exempt levels both say (plSpecCommons).
func (l *Level) commons() (shares int32, lendable, borrowing *int32) {
	var of *int32
	if lim := l.Spec.Limited; lim != nil {
		of, lendable, borrowing = lim.NominalConcurrencyShares, lim.LendablePercent, lim.BorrowingLimitPercent
	} else {
		of, lendable = l.Spec.Exempt.NominalConcurrencyShares, l.Spec.Exempt.LendablePercent
	}
	if of != nil {
		shares = *of
	}
	return shares, lendable, borrowing
}

// configure gives a level its part of the seats, rounded up.
func (l *Level) configure(now time.Duration, total int, sum float64) {
	shares, lendable, borrowing := l.commons()
	l.Nominal = int(math.Ceil(float64(total) * float64(shares) / sum))
	part := func(percent *int32, otherwise int) int {
		if percent == nil {
			return otherwise
		}
		return int(math.Round(float64(l.Nominal) * float64(*percent) / 100))
	}
	l.Min, l.Max = l.Nominal-part(lendable, 0), l.Nominal+part(borrowing, total)
	if !l.old {
		l.old, l.set.limit = true, l.Nominal-part(lendable, 0)/2
	}
	l.set.exempt = l.Spec.Limited == nil
	queues, hand, length := 0, 0, 0
	if !l.set.exempt && l.Spec.Limited.LimitResponse.Queuing != nil {
		q := l.Spec.Limited.LimitResponse.Queuing
		queues, hand, length = int(q.Queues), int(q.HandSize), int(q.QueueLengthLimit)
	}
	if err := l.set.configure(now, queues, hand, length); err != nil {
		panic(fmt.Sprintf("fairness: priority level %s passed validation, and yet: %v", l.Name, err))
	}
}

// Most is how many seats one request may take, and no more than a limit
// (MaxSeatsTracker).
func (l *Level) Most(limit int) int {
	if lim := l.Spec.Limited; lim != nil && lim.LimitResponse.Queuing != nil {
		n := math.Min(math.Ceil(float64(l.Nominal)*0.15), float64(l.Nominal/int(lim.LimitResponse.Queuing.HandSize)))
		limit = min(limit, int(math.Max(1, n)))
	}
	return limit
}

// State is how the level stands.
func (l *Level) State() State {
	st := State{
		Level: l.Name, Limit: l.set.limit, Nominal: l.Nominal, Min: l.Min, Max: l.Max, Exempt: l.set.exempt, Ends: l.ends,
		InUse: l.set.inUse, Executing: l.set.served, Waiting: l.set.waiting, Queues: l.set.dealt,
		Demand: l.Demand, Target: l.Target, Counts: l.set.counts,
	}
	for _, q := range l.set.queues {
		if q.length > 0 {
			st.Busy++
		}
	}
	if st.Exempt {
		st.Limit = 0
	}
	return st
}

// Levels tells how each level stands, by name.
func (c *Controller) Levels(now time.Duration) []State {
	c.catchUp(now)
	var out []State
	for _, name := range c.order {
		out = append(out, c.levels[name].State())
	}
	return out
}

// Flow is a request's flow within its schema.
func (s *Schema) Flow(d *Digest) string {
	if s.Spec.DistinguisherMethod == nil {
		return ""
	}
	if s.Spec.DistinguisherMethod.Type == flowcontrol.FlowDistinguisherMethodByUserType {
		return d.User
	}
	return d.Namespace
}

// hash is what the flow's queues are dealt by (hashFlowID).
func hash(schema, flow string) uint64 {
	var space [128]byte
	b := append(append(append(space[:0], schema...), 0), flow...)
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:8])
}

// Start brings a request of a schema to its level. ok is false where it is
// rejected; else it has a seat, or waits.
func (c *Controller) Start(now time.Duration, s *Schema, d *Digest, seat *Seat, work Work) (ok bool) {
	c.catchUp(now)
	flow := uint64(0)
	if s.Level.set.dealt > 1 {
		flow = hash(s.Name, s.Flow(d))
	}
	seat.schema = s
	s.Stats.widths.observe(widthBounds, float64(work.Width()))
	return s.Level.set.start(now, seat, work, flow)
}

// Finish frees the seat of a request that has been served, and gives it to
// others. It does nothing to one that has none.
func (s *Seat) Finish(now time.Duration) {
	if s.state != sits {
		return
	}
	c := s.schema.c
	c.catchUp(now)
	s.finish(now)
	c.setDue()
	c.reap(now, s.schema.Level)
}

// Leave takes a request that has waited too long out of its queue. It reports false
// where the request has got a seat at the last moment.
func (s *Seat) Leave(now time.Duration) bool {
	c := s.schema.c
	if c.catchUp(now); s.state != waits {
		return false
	}
	s.leave(now)
	c.reap(now, s.schema.Level)
	return true
}

// reap lets a level go that there is no object of, once it is idle (maybeReap).
func (c *Controller) reap(now time.Duration, l *Level) {
	if l.ends && l.set.idle() {
		c.Use(now, c.total, c.given, c.givenLevels)
	}
}

// Moved reports whether levels' limits were adjusted since it was asked last.
func (c *Controller) Moved() bool {
	moved := c.moved
	c.moved = false
	return moved
}

// Await does what is due by now, and tells when there is more to do for those who
// wait; any is false where nobody does.
func (c *Controller) Await(now time.Duration) (next time.Duration, any bool) {
	c.catchUp(now)
	return c.due, c.held.waiting > 0
}

// Drop counts a request that the level rejected, and says after how many seconds
// its sender may try again.
func (l *Level) Drop(now time.Time) int {
	l.drop.record(now.Unix())
	return int(l.drop.retryAfter)
}
