// Package fairness is API priority and fairness: who is served when more is asked
// of the API server at once than it takes on.
//
// A FlowSchema says which requests are a flow (of a user, of a namespace), and to
// which priority level it belongs; a PriorityLevelConfiguration says how big a
// share of the server's seats the level has, and what happens to a request that
// finds them taken: it waits in a queue, or is rejected with 429. So a flow that
// asks too much delays itself, then its level, and never another level.
//
// The objects are those of flowcontrol.apiserver.k8s.io/v1, and the defaults those
// of apiserver pkg/apis/flowcontrol/bootstrap. Matching, the digestion of the
// objects and the fair queuing mirror apiserver pkg/util/flowcontrol; shuffle
// sharding is its own code. Time is what the caller says it is.
//
// Simplified: levels do not lend one another seats; a write holds its seat no
// longer than it takes, however many watch; a list takes seats by the number of
// objects, not by their size.
//
// Start reading at [Controller.Start], then queues.go.
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
	total   int
	schemas []*Schema // in the order in which they are tried
	levels  map[string]*Level
	order   []string // of levels, by name

	given       []*flowcontrol.FlowSchema // what schemas and levels were made of
	givenLevels []*flowcontrol.PriorityLevelConfiguration
}

// Schema is a FlowSchema in use.
type Schema struct {
	*flowcontrol.FlowSchema
	Level *Level
	// By and Free are what is told of a request that finds a seat: made once, as
	// almost every request does.
	By, Free string
}

// Level is a PriorityLevelConfiguration in use.
type Level struct {
	*flowcontrol.PriorityLevelConfiguration
	set     queueSet
	drop    drops
	desired bool
}

// State is how a level stands.
type State struct {
	Level            string
	Limit            int // seats; 0 where it is exempt
	Exempt           bool
	InUse, Executing int
	Waiting          int
	Queues           int
	Counts
}

// Bootstrap are the objects of a new cluster: the mandatory ones, without which no
// server runs, and the suggested ones.
func Bootstrap() ([]*flowcontrol.FlowSchema, []*flowcontrol.PriorityLevelConfiguration) {
	return slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas),
		slices.Concat(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations)
}

// New makes a controller with the bootstrap objects, which get UIDs.
func New(total int, uid func() types.UID) *Controller {
	c := &Controller{levels: map[string]*Level{}}
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
	c.Resize(0, total)
	return c
}

// Resize shares out another number of seats.
func (c *Controller) Resize(now time.Duration, total int) { c.Use(now, total, c.given, c.givenLevels) }

// Total is how many seats there are.
func (c *Controller) Total() int { return c.total }

// Use takes up objects and a number of seats. A level that is gone is kept while
// somebody waits or sits there. Objects that contradict themselves are left out;
// the mandatory ones are there whether they are given or not (digestConfigObjects).
func (c *Controller) Use(now time.Duration, total int, schemas []*flowcontrol.FlowSchema, levels []*flowcontrol.PriorityLevelConfiguration) {
	c.total, c.given, c.givenLevels = total, schemas, levels
	for _, l := range c.levels {
		l.desired = false
	}
	for _, pl := range slices.Concat(levels, bootstrap.MandatoryPriorityLevelConfigurations) {
		if broken(pl) {
			continue
		}
		l := c.levels[pl.Name]
		if l == nil {
			l = &Level{drop: newDrops()}
			l.set.now = now
			c.levels[pl.Name] = l
		}
		if !l.desired {
			l.PriorityLevelConfiguration, l.desired = pl, true
		}
	}
	c.order = c.order[:0]
	sum := 0.0
	for name, l := range c.levels {
		if !l.desired && l.set.waiting == 0 && l.set.served == 0 {
			delete(c.levels, name)
			continue
		}
		c.order = append(c.order, name)
		sum += float64(shares(l.PriorityLevelConfiguration))
	}
	slices.Sort(c.order)
	for _, name := range c.order {
		c.levels[name].configure(now, total, sum)
	}
	c.schemas = c.schemas[:0:0]
	for _, fs := range schemas {
		c.add(fs)
	}
	slices.SortFunc(c.schemas, func(a, b *Schema) int {
		if d := a.Spec.MatchingPrecedence - b.Spec.MatchingPrecedence; d != 0 {
			return int(d)
		}
		return strings.Compare(a.Name, b.Name)
	})
	if !c.has(flowcontrol.FlowSchemaNameExempt) {
		c.add(bootstrap.MandatoryFlowSchemaExempt)
		c.schemas = append(c.schemas[len(c.schemas)-1:], c.schemas[:len(c.schemas)-1]...)
	}
	if !c.has(flowcontrol.FlowSchemaNameCatchAll) {
		c.add(bootstrap.MandatoryFlowSchemaCatchAll)
	}
}

func (c *Controller) has(name string) bool {
	return slices.ContainsFunc(c.schemas, func(s *Schema) bool { return s.Name == name })
}

// add enters a schema whose level there is.
func (c *Controller) add(fs *flowcontrol.FlowSchema) {
	l := c.levels[fs.Spec.PriorityLevelConfiguration.Name]
	if l == nil || !l.desired {
		return
	}
	s := &Schema{FlowSchema: fs, Level: l, By: "FlowSchema " + fs.Name, Free: "Priority level " + l.Name + " has a free seat, so the request does not queue."}
	if l.set.exempt {
		s.Free = "Priority level " + l.Name + " has no limit, so the request does not queue."
	}
	c.schemas = append(c.schemas, s)
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

func shares(pl *flowcontrol.PriorityLevelConfiguration) int32 {
	n := (*int32)(nil)
	if pl.Spec.Limited != nil {
		n = pl.Spec.Limited.NominalConcurrencyShares
	} else if pl.Spec.Exempt != nil {
		n = pl.Spec.Exempt.NominalConcurrencyShares
	}
	if n == nil {
		return 0
	}
	return *n
}

// configure gives a level its part of the seats, rounded up.
func (l *Level) configure(now time.Duration, total int, sum float64) {
	limit := int(math.Ceil(float64(total) * float64(shares(l.PriorityLevelConfiguration)) / sum))
	l.set.exempt = l.Spec.Limited == nil
	queues, hand, length := 0, 0, 0
	if !l.set.exempt && l.Spec.Limited.LimitResponse.Queuing != nil {
		q := l.Spec.Limited.LimitResponse.Queuing
		queues, hand, length = int(q.Queues), int(q.HandSize), int(q.QueueLengthLimit)
	}
	if err := l.set.configure(now, queues, hand, length, limit); err != nil {
		panic(fmt.Sprintf("fairness: priority level %s passed validation, and yet: %v", l.Name, err))
	}
}

// MaxSeats is how many seats one request may take at most.
func (l *Level) MaxSeats() int {
	most := 10
	if lim := l.Spec.Limited; lim != nil && lim.LimitResponse.Queuing != nil {
		n := math.Min(math.Ceil(float64(l.set.limit)*0.15), float64(l.set.limit/int(lim.LimitResponse.Queuing.HandSize)))
		most = min(most, int(math.Max(1, n)))
	}
	return most
}

// State is how the level stands.
func (l *Level) State() State {
	st := State{
		Level: l.Name, Limit: l.set.limit, Exempt: l.set.exempt, InUse: l.set.inUse, Executing: l.set.served,
		Waiting: l.set.waiting, Queues: l.set.dealt, Counts: l.set.counts,
	}
	if st.Exempt {
		st.Limit = 0
	}
	return st
}

// Levels tells how each level stands, by name.
func (c *Controller) Levels() []State {
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
func (c *Controller) Start(now time.Duration, s *Schema, d *Digest, seat *Seat, seats int) (ok bool) {
	flow := uint64(0)
	if s.Level.set.dealt > 1 {
		flow = hash(s.Name, s.Flow(d))
	}
	return s.Level.set.start(now, seat, seats, flow)
}

// Drop counts a request that the level rejected, and says after how many seconds
// its sender may try again.
func (l *Level) Drop(now time.Time) int {
	l.drop.record(now.Unix())
	return int(l.drop.retryAfter)
}
