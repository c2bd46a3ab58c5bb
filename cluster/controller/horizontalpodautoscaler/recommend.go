package horizontalpodautoscaler

import (
	"fmt"
	"math"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// memory is what is remembered of autoscalers, by their keys: what was recommended and how they
// have scaled. It is lost with the process.
type memory struct {
	recommendations map[string][]recommendation
	ups, downs      map[string][]scaleEvent
}

// recommendation is what the metrics asked for, before it was stabilized (timestampedRecommendation).
type recommendation struct {
	replicas int32
	at       time.Time
}

// scaleEvent is by how much a target was scaled (timestampedScaleEvent).
type scaleEvent struct {
	change   int32
	at       time.Time
	outdated bool // its place may be taken
}

func newMemory() memory {
	return memory{map[string][]recommendation{}, map[string][]scaleEvent{}, map[string][]scaleEvent{}}
}

func (m *memory) forget(key string) {
	delete(m.recommendations, key)
	delete(m.ups, key)
	delete(m.downs, key)
}

// begin has an autoscaler of which nothing is remembered recommend what there is, so that its
// target does not shrink at once (recordInitialRecommendation).
func (m *memory) begin(key string, current int32, now time.Time) {
	if m.recommendations[key] == nil {
		m.recommendations[key] = []recommendation{{current, now}}
	}
}

// remember notes a recommendation, in the place of an old one, if there is one.
func (m *memory) remember(key string, replicas int32, now time.Time, old func(time.Time) bool) {
	list, at := m.recommendations[key], -1
	for i, r := range list {
		if old(r.at) {
			at = i
		}
	}
	if at < 0 {
		m.recommendations[key] = append(list, recommendation{replicas, now})
		return
	}
	list[at] = recommendation{replicas, now}
}

// stabilized is what becomes of a recommendation because of older ones.
type stabilized struct {
	replicas int32
	reason   string // of the condition AbleToScale, where it is another number
	message  string
	window   time.Duration // of the older ones
	until    time.Time     // when the last of them no longer counts
}

const (
	waitToShrink = "recent recommendations were higher than current one, applying the highest recent recommendation"
	waitToGrow   = "recent recommendations were lower than current one, applying the lowest recent recommendation"
)

// stabilize gives the highest of the recommendations of the last 5 minutes (stabilizeRecommendation).
func (m *memory) stabilize(key string, desired int32, now time.Time) stabilized {
	s := stabilized{replicas: desired, reason: "ScaleDownStabilized", message: waitToShrink, window: Stabilization}
	cutoff := now.Add(-Stabilization)
	for _, r := range m.recommendations[key] {
		if r.at.Before(cutoff) {
			continue
		}
		s.replicas = max(s.replicas, r.replicas)
		if r.replicas > desired && s.until.Before(r.at) {
			s.until = r.at
		}
	}
	s.until = s.until.Add(Stabilization)
	m.remember(key, desired, now, cutoff.After)
	return s
}

// stabilizeBy goes by the windows of spec.behavior: towards the lowest recommendation of the one
// when the target is to grow, and towards the highest of the other when it is to shrink
// (stabilizeRecommendationWithBehaviors).
func (m *memory) stabilizeBy(a normalization, now time.Time) stabilized {
	up, down := seconds(*a.up.StabilizationWindowSeconds), seconds(*a.down.StabilizationWindowSeconds)
	lowest, highest := a.desired, a.desired
	upCutoff, downCutoff := now.Add(-up), now.Add(-down)
	var lower, higher time.Time
	for _, r := range m.recommendations[a.key] {
		if r.at.After(upCutoff) {
			if lowest = min(r.replicas, lowest); r.replicas < a.desired && lower.Before(r.at) {
				lower = r.at
			}
		}
		if r.at.After(downCutoff) {
			if highest = max(r.replicas, highest); r.replicas > a.desired && higher.Before(r.at) {
				higher = r.at
			}
		}
	}
	s := stabilized{replicas: a.current}
	if s.replicas < lowest {
		s.replicas = lowest
	}
	if s.replicas > highest {
		s.replicas = highest
	}
	m.remember(a.key, a.desired, now, func(at time.Time) bool { return at.Before(upCutoff) && at.Before(downCutoff) })
	if a.desired >= a.current {
		s.reason, s.message, s.window, s.until = "ScaleUpStabilized", waitToGrow, up, lower.Add(up)
	} else {
		s.reason, s.message, s.window, s.until = "ScaleDownStabilized", waitToShrink, down, higher.Add(down)
	}
	return s
}

// normalization is a recommendation on its way through spec.behavior (NormalizationArg).
type normalization struct {
	key                        string
	up, down                   *autoscalingv2.HPAScalingRules
	min, max, current, desired int32
}

// bounded is what bounds and policies let through.
type bounded struct {
	replicas        int32
	reason, message string // of the condition ScalingLimited
	allowed         int32  // as far as the target may go in this direction
	policy          string // what holds it there, in words; "" for a bound
}

var within = bounded{reason: "DesiredWithinRange", message: "the desired count is within the acceptable range"}

func (b bounded) let(n int32) bounded { b.replicas = n; return b }

// Reasons of the condition ScalingLimited, and what they say.
var (
	tooFast     = bounded{reason: "ScaleUpLimit", message: "the desired replica count is increasing faster than the maximum scale rate"}
	tooMany     = bounded{reason: "TooManyReplicas", message: "the desired replica count is more than the maximum replica count"}
	tooFastDown = bounded{reason: "ScaleDownLimit", message: "the desired replica count is decreasing faster than the maximum scale rate"}
	tooFew      = bounded{reason: "TooFewReplicas", message: "the desired replica count is less than the minimum replica count"}
)

// bound lets a target without spec.behavior double, or grow to 4, at a time
// (convertDesiredReplicasWithRules).
func bound(current, desired, least, most int32) bounded {
	limit, because := tooMany, ""
	allowed := most
	if fast := int32(math.Max(2*float64(current), 4)); most > fast {
		limit, allowed = tooFast, fast
		because = fmt.Sprintf("at most twice the %d, or 4, at a time", current)
	}
	out := within.let(desired)
	switch {
	case desired < least:
		out, allowed, because = tooFew.let(least), least, ""
	case desired > allowed:
		out = limit.let(allowed)
	case desired < current:
		allowed, because = least, ""
	}
	out.allowed, out.policy = allowed, because
	return out
}

// rate lets a target go as far as the policies of spec.behavior and the bounds do
// (convertDesiredReplicasWithBehaviorRate).
func (m *memory) rate(a normalization, now time.Time) bounded {
	out := within.let(a.desired)
	switch {
	case a.desired > a.current:
		p := growth(a.current, m.ups[a.key], m.downs[a.key], a.up, now)
		limit, allowed, because := tooMany, a.max, ""
		if fast := max(p.limit, a.current); a.max > fast { // else until those that were scaled are no longer counted
			limit, allowed, because = tooFast, fast, p.why
		}
		if a.desired > allowed {
			out = limit.let(allowed)
		}
		out.allowed, out.policy = allowed, because
	case a.desired < a.current:
		p := shrinkage(a.current, m.ups[a.key], m.downs[a.key], a.down, now)
		limit, allowed, because := tooFew, a.min, ""
		if fast := min(p.limit, a.current); a.min < fast {
			limit, allowed, because = tooFastDown, fast, p.why
		}
		if a.desired < allowed {
			out = limit.let(allowed)
		}
		out.allowed, out.policy = allowed, because
	}
	return out
}

// policies is what the policies of a direction allow.
type policies struct {
	limit int32
	why   string // which policy it was, in words
}

// growth is how many replicas there may be at most (calculateScaleUpLimitWithScalingRules).
func growth(current int32, ups, downs []scaleEvent, rules *autoscalingv2.HPAScalingRules, now time.Time) policies {
	best := policies{limit: math.MinInt32}
	chosen := func(n int32) bool { return n > best.limit }
	switch *rules.SelectPolicy {
	case autoscalingv2.DisabledPolicySelect:
		return policies{current, "behavior.scaleUp.selectPolicy is Disabled"}
	case autoscalingv2.MinChangePolicySelect:
		best.limit = math.MaxInt32
		chosen = func(n int32) bool { return n < best.limit }
	}
	n := int32(0) // as upstream's, of the policy before, where one is of no type
	for _, p := range rules.Policies {
		began := atBegin(current, p.PeriodSeconds, ups, downs, now)
		switch p.Type {
		case autoscalingv2.PodsScalingPolicy:
			n = began + p.Value
		case autoscalingv2.PercentScalingPolicy: // rounded up, or a small target would never grow
			n = int32(math.Ceil(float64(began) * (1 + float64(p.Value)/100)))
		}
		if chosen(n) {
			best = policies{n, allows("scaleUp", p, began, current)}
		}
	}
	return best
}

// shrinkage is how many replicas there must be at least (calculateScaleDownLimitWithBehaviors).
func shrinkage(current int32, ups, downs []scaleEvent, rules *autoscalingv2.HPAScalingRules, now time.Time) policies {
	best := policies{limit: math.MaxInt32}
	chosen := func(n int32) bool { return n < best.limit }
	switch *rules.SelectPolicy {
	case autoscalingv2.DisabledPolicySelect:
		return policies{current, "behavior.scaleDown.selectPolicy is Disabled"}
	case autoscalingv2.MinChangePolicySelect:
		best.limit = math.MinInt32
		chosen = func(n int32) bool { return n > best.limit }
	}
	n := int32(0)
	for _, p := range rules.Policies {
		began := atBegin(current, p.PeriodSeconds, ups, downs, now)
		switch p.Type {
		case autoscalingv2.PodsScalingPolicy:
			n = began - p.Value
		case autoscalingv2.PercentScalingPolicy:
			n = int32(float64(began) * (1 - float64(p.Value)/100))
		}
		if chosen(n) {
			best = policies{n, allows("scaleDown", p, began, current)}
		}
	}
	return best
}

// allows says what a policy does.
func allows(direction string, p autoscalingv2.HPAScalingPolicy, began, current int32) string {
	amount := fmt.Sprintf("%d%%", p.Value)
	if p.Type == autoscalingv2.PodsScalingPolicy {
		amount = plural(int(p.Value), "pod")
	}
	s := fmt.Sprintf("at most %s in %ds by behavior.%s", amount, p.PeriodSeconds, direction)
	if began != current {
		s += fmt.Sprintf(", and the last %ds began with %d", p.PeriodSeconds, began)
	}
	return s
}

// atBegin is how many replicas there were when a period began.
func atBegin(current, period int32, ups, downs []scaleEvent, now time.Time) int32 {
	return current - changed(period, ups, now) + changed(period, downs, now)
}

// changed adds up what was scaled in the last period (getReplicasChangePerPeriod).
func changed(period int32, events []scaleEvent, now time.Time) (sum int32) {
	cutoff := now.Add(-seconds(period))
	for _, e := range events {
		if e.at.After(cutoff) {
			sum += e.change
		}
	}
	return sum
}

// scaled notes how a target was scaled, for as long as the longest period of its policies. Without
// spec.behavior nobody asks (storeScaleEvent).
func (m *memory) scaled(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior, key string, before, after int32, now time.Time) {
	if behavior == nil {
		return
	}
	events, rules, change := m.downs, behavior.ScaleDown, before-after
	if after > before {
		events, rules, change = m.ups, behavior.ScaleUp, after-before
	}
	longest := int32(0)
	for _, p := range rules.Policies {
		longest = max(longest, p.PeriodSeconds)
	}
	list, at := events[key], -1
	cutoff := now.Add(-seconds(longest))
	for i := range list {
		if list[i].at.Before(cutoff) {
			list[i].outdated = true
		}
		if list[i].outdated {
			at = i
		}
	}
	e := scaleEvent{change: change, at: now}
	if at >= 0 {
		list[at] = e
		return
	}
	events[key] = append(list, e)
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
