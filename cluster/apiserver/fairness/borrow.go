package fairness

import (
	"errors"
	"math"
	"slices"
	"time"
)

// Levels lend one another the seats that their own requests do not want, as far
// as their objects allow it. Every ten seconds each level gets a new limit, from
// what its requests have wanted since. Nobody waits for these moments: whoever
// comes next does what is due, with the times at which it was.

// adjustEvery is borrowingAdjustmentPeriod.
const adjustEvery = 10 * time.Second

// mostAdjustments is how many overdue adjustments are made up for: after so many in
// which nothing changed (five hours) the limits stay as they are.
const mostAdjustments = 2000

// catchUp does what was due by now: seats that were held for watchers become free,
// and limits are adjusted, each at its own time.
func (c *Controller) catchUp(now time.Duration) {
	for now >= c.due {
		if at, any := c.held.first(); any && at <= c.next {
			c.held.release()
		} else {
			c.adjust(c.next)
			c.next += adjustEvery
			if missed := int((now - c.next) / adjustEvery); missed > mostAdjustments && !any && c.held.waiting == 0 {
				c.next += time.Duration(missed-mostAdjustments) * adjustEvery
			}
		}
		c.setDue()
	}
}

func (c *Controller) setDue() {
	c.due = c.next
	if at, any := c.held.first(); any {
		c.due = min(c.due, at)
	}
}

// adjust gives each level its limit of the next ten seconds (apf_controller.go
// updateBorrowingLocked).
func (c *Controller) adjust(now time.Duration) {
	c.moved = true
	remaining := c.nominal
	var items []class
	var least, wanted int // seats that levels keep in any case, and those that they have wanted of their own
	for _, name := range c.order {
		l := c.levels[name]
		l.Demand.update(l.set.demand.period(now))
		if l.set.exempt {
			remaining -= max(l.Min, l.Demand.High)
			continue
		}
		own := max(l.Min, min(l.Nominal, l.Demand.High))
		l.Target = math.Max(float64(own), l.Demand.Smoothed)
		items = append(items, class{float64(own), float64(l.Max), l.Target})
		least += l.Min
		wanted += own
	}
	var limits []float64
	c.fair = 0
	if remaining > wanted {
		if got, fair, err := allocate(c.nominal, items); err == nil {
			limits, c.fair = got, fair
		}
	}
	i := 0
	for _, name := range c.order {
		l := c.levels[name]
		limit := l.set.limit
		switch own := max(l.Min, min(l.Nominal, l.Demand.High)); {
		case l.set.exempt:
			limit = max(l.Min, l.Demand.High)
		case remaining <= least:
			limit = l.Min
		case remaining <= wanted:
			limit = l.Min + int(math.Round(float64(own-l.Min)*float64(remaining-least)/float64(wanted-least)))
		case limits != nil:
			limit = int(math.Round(limits[i]))
		}
		if !l.set.exempt {
			i++
		}
		l.set.resize(now, limit)
	}
}

// class is one level's part of the problem that [allocate] solves.
type class struct{ lower, upper, target float64 }

// leastTarget is MinTarget.
const leastTarget = 0.001

var errNoAllocation = errors.New("the bounds do not allow it")

// allocate divides a sum in proportion to the targets, within the bounds: there is
// one proportion for which that works (conc_alloc.go computeConcurrencyAllocation).
func allocate(sum int, classes []class) (allocs []float64, fair float64, err error) {
	const epsilon = 0.0000001
	type bound struct {
		at    float64 // the proportion at which it begins to hold, or ceases to
		slope float64 // by which the sum grows faster from there on
	}
	var bounds []bound
	low, high := 0.0, 0.0
	target := func(c class) float64 { return math.Max(c.target, leastTarget) }
	for _, c := range classes {
		low, high = low+c.lower, high+c.upper
		bounds = append(bounds, bound{c.lower / target(c), target(c)}, bound{c.upper / target(c), -target(c)})
	}
	if low-float64(sum) > epsilon || float64(sum)-high > epsilon {
		return nil, 0, errNoAllocation
	}
	slices.SortFunc(bounds, func(a, b bound) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	// The sum grows with the proportion, at a rate that changes at each bound.
	slope, got := 0.0, low
	if len(bounds) > 0 {
		fair = bounds[0].at
	}
	for _, b := range bounds {
		if step := (b.at - fair) * slope; got+step >= float64(sum) && slope > epsilon {
			break
		} else {
			got += step
		}
		fair = b.at
		slope += b.slope
	}
	if slope > epsilon && got < float64(sum) {
		fair += (float64(sum) - got) / slope
	}
	for _, c := range classes {
		allocs = append(allocs, math.Max(c.lower, math.Min(c.upper, fair*target(c))))
	}
	return allocs, fair, nil
}
