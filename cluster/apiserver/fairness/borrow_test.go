package fairness

import (
	"math"
	"testing"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// Whatever the classes, the allocation is the one that
// computeConcurrencyAllocation describes: it adds up, keeps to the bounds, and
// gives everybody the same proportion of his target but for those whom a bound
// holds.
func TestAllocate(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		var classes []class
		low, high := 0.0, 0.0
		for range rapid.IntRange(1, 9).Draw(t, "classes") {
			lower := float64(rapid.IntRange(0, 50).Draw(t, "lower"))
			c := class{lower: lower, upper: lower + float64(rapid.IntRange(0, 90).Draw(t, "more")), target: lower + rapid.Float64Range(0, 60).Draw(t, "above")}
			classes = append(classes, c)
			low, high = low+c.lower, high+c.upper
		}
		sum := rapid.IntRange(0, int(high)+5).Draw(t, "sum")
		allocs, fair, err := allocate(sum, classes)
		if possible := float64(sum) >= low && float64(sum) <= high; possible != (err == nil) {
			t.Fatalf("%d seats among %v to %v: %v", sum, low, high, err)
		} else if !possible {
			return
		}
		const near = 1e-6
		total := 0.0
		for i, c := range classes {
			a, share := allocs[i], fair*math.Max(c.target, leastTarget)
			total += a
			if a < c.lower || a > c.upper {
				t.Errorf("class %d has %v of %v to %v", i, a, c.lower, c.upper)
			}
			if free := math.Abs(a-share) < near; !free && (a != c.lower || c.lower < share) && (a != c.upper || c.upper > share) {
				t.Errorf("class %d of %+v has %v, its share is %v", i, c, a, share)
			}
		}
		if math.Abs(total-float64(sum)) > near {
			t.Errorf("%v are shared out of %d", total, sum)
		}
	})
}

// borrowers are the levels of upstream's TestUpdateBorrowing
// (exempt_borrowing_test.go), and what there is for them.
func borrowers() (c *Controller, total int) {
	high, mid, low := bootstrap.SuggestedPriorityLevelConfigurationWorkloadHigh, bootstrap.SuggestedPriorityLevelConfigurationWorkloadLow, bootstrap.MandatoryPriorityLevelConfigurationCatchAll
	for _, pl := range []*flowcontrol.PriorityLevelConfiguration{high, mid, low} {
		total += 6 * int(*pl.Spec.Limited.NominalConcurrencyShares)
	}
	c = New(0, total, noUID)
	c.Use(0, total, nil, []*flowcontrol.PriorityLevelConfiguration{high, bootstrap.MandatoryPriorityLevelConfigurationExempt, mid, low})
	return c, total
}

func TestUpdateBorrowing(t *testing.T) {
	c, total := borrowers()
	exempt, high, mid, low := c.levels["exempt"], c.levels["workload-high"], c.levels["workload-low"], c.levels["catch-all"]
	all := []*Level{exempt, high, mid, low}
	now := time.Duration(0)
	want := func(scenario string, limits ...int) {
		t.Helper()
		for i, l := range all {
			if l.set.limit != limits[i] {
				t.Errorf("%s: %s has %d seats; want %d", scenario, l.Name, l.set.limit, limits[i])
			}
		}
	}
	demand := func(seats ...int) {
		for i, l := range all {
			l.set.demand.set(now, seats[i])
		}
	}
	pass := func(periods int) {
		now += time.Duration(periods) * adjustEvery
		c.catchUp(now)
	}
	more := total + 100
	demand(more, more, more, more)
	pass(1)
	want("everybody wants more than there is", more, high.Min, mid.Min, low.Min)

	half := func(l *Level) int { return (l.Nominal + l.Min) / 2 }
	left := total - half(high) - half(mid) - half(low)
	demand(left, more, more, more)
	pass(2)
	want("they get half of what they may lend", left, half(high), half(mid), half(low))

	left = total - high.Nominal - mid.Min - low.Nominal
	demand(left, more, 1, more)
	pass(2)
	want("one lends, the exempt borrow all of it", left, high.Nominal, mid.Min, low.Nominal)
}

// Two levels of twelve seats, of which one wants 24 and the other 6: upstream's
// TestBorrowing has the first get about 16, by what the other lends or by what it
// may borrow itself.
func TestBorrowing(t *testing.T) {
	for name, percents := range map[string][4]int32{
		"lendable-limited":  {50, 67, 33, 50},
		"borrowing-limited": {50, 33, 67, 50},
	} {
		c := New(0, 24, noUID)
		none := int32(0)
		all := bootstrap.MandatoryPriorityLevelConfigurationCatchAll.DeepCopy()
		all.Spec.Limited.NominalConcurrencyShares = &none
		c.Use(0, 24, []*flowcontrol.FlowSchema{schema("many", "many"), schema("few", "few")}, []*flowcontrol.PriorityLevelConfiguration{
			level("many", 100, percents[0], percents[1]), level("few", 100, percents[2], percents[3]), all,
		})
		now := time.Duration(0)
		for range 100 {
			var seats []*Seat
			for user, n := range map[string]int{"many": 24, "few": 6} {
				for range n {
					s := &Seat{}
					c.Start(now, c.Match(get(user)), get(user), s, Work{Seats: 1})
					seats = append(seats, s)
				}
			}
			now += 250 * time.Millisecond
			for len(seats) > 0 { // who waited sits as long as the others
				var rest []*Seat
				for _, s := range seats {
					if s.Waits() {
						rest = append(rest, s)
					} else {
						s.Finish(now)
					}
				}
				now, seats = now+250*time.Millisecond, rest
			}
		}
		if l := c.levels["many"].State(); l.Limit != 16 || l.Borrowed() != 4 {
			t.Errorf("%s: the level that wants much has %+v", name, l)
		}
		if l := c.levels["few"].State(); l.Limit != 8 {
			t.Errorf("%s: the other one has %+v", name, l)
		}
	}
}

// It is the same whether the limits are adjusted every ten seconds or when somebody
// asks, however long nobody did.
func TestAdjustedLater(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		eager, _ := borrowers()
		lazy, _ := borrowers()
		now := time.Duration(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			name, seats := rapid.SampledFrom(eager.order).Draw(t, "level"), rapid.IntRange(0, 900).Draw(t, "seats")
			for _, c := range []*Controller{eager, lazy} {
				c.catchUp(now)
				c.levels[name].set.sync(now)
				c.levels[name].set.demand.set(now, seats)
			}
			end := now + time.Duration(rapid.IntRange(1, 1_500).Draw(t, "tenths"))*100*time.Millisecond
			if rapid.IntRange(0, 40).Draw(t, "long") == 0 {
				end += 7 * time.Hour
			}
			for ; now < end; now = min(end, now+9*time.Second) {
				eager.catchUp(now)
			}
			for i, st := range eager.Levels(now) {
				if other := lazy.Levels(now)[i]; other.Limit != st.Limit || math.Abs(other.Demand.Smoothed-st.Demand.Smoothed) > 1e-9*(1+st.Demand.Smoothed) {
					t.Fatalf("at %v: %+v, and asked later %+v", now, st, other)
				}
			}
		}
	})
}

// Seats that a write keeps for its watchers are free when their time is over, to
// the microsecond, whoever comes first after it.
func TestSeatsKept(t *testing.T) {
	c := tenant()
	s := c.Match(get("alice"))
	var write, read Seat
	c.Start(0, s, get("alice"), &write, Work{Seats: 1, Final: 1, Latency: 5 * time.Millisecond})
	write.Finish(time.Millisecond)
	c.Start(2*time.Millisecond, s, get("alice"), &read, Work{Seats: 1})
	if !read.Waits() {
		t.Fatal("the seat that is kept was given away")
	}
	if next, any := c.Await(2 * time.Millisecond); !any || next != 6*time.Millisecond {
		t.Errorf("who waits is told to look again at %v", next)
	}
	c.Await(7 * time.Millisecond)
	if read.Waits() || read.began != 6*time.Millisecond {
		t.Errorf("the one that waited has begun at %v", read.began)
	}
	// What is more than there are seats takes longer on fewer.
	c.Start(8*time.Millisecond, s, get("alice"), &write, Work{Seats: 1, Final: 4, Latency: 5 * time.Millisecond})
	read.Finish(9 * time.Millisecond)
	if got := write.Work(); write.Waits() || got.Final != 1 || got.Latency != 20*time.Millisecond {
		t.Errorf("on one seat: %+v", got)
	}
	write.Finish(10 * time.Millisecond)
	if st := c.Levels(29 * time.Millisecond); st[2].InUse != 1 {
		t.Errorf("after 19 ms: %+v", st[2])
	}
	if st := c.Levels(30 * time.Millisecond); st[2].InUse != 0 {
		t.Errorf("after 20 ms: %+v", st[2])
	}
}
