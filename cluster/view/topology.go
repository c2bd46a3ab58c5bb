package view

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
)

// TopologyTitle names a constraint: what it is, over which label, and the pods that it is about.
func TopologyTitle(c *trace.TopologyConstraint) string {
	pods := "all pods"
	if c.Selector != "" {
		pods = "pods with " + c.Selector
	}
	must := "preferred"
	if c.Hard {
		must = "required"
	}
	if c.Weight != 0 {
		must += fmt.Sprintf(", weight %d", max(c.Weight, -c.Weight))
	}
	switch c.What {
	case trace.TopologySpread:
		action := "ScheduleAnyway"
		if c.Hard {
			action = "DoNotSchedule"
		}
		text := fmt.Sprintf("%s spread over %s, maxSkew %d, %s", pods, c.Key, c.MaxSkew, action)
		if c.Default {
			text += ", by default"
		}
		return text
	case trace.TopologyNear:
		return fmt.Sprintf("near %s in the same %s, %s", pods, c.Key, must)
	case trace.TopologyAway:
		return fmt.Sprintf("away from %s in the same %s, %s", pods, c.Key, must)
	case trace.TopologyKeptAway:
		return "kept away by the anti-affinity of pods in the same " + c.Key
	case trace.TopologyOthers:
		return "preferred or not by pods in the same " + c.Key
	}
	return c.What + " over " + c.Key
}

// Skew is what the pod would make the skew of a spread constraint, in a domain.
func Skew(c *trace.TopologyConstraint, d *trace.TopologyDomain) int { return d.Count + c.Self - c.Min }

// DomainVerdict says shortly what a constraint says of a domain.
func DomainVerdict(c *trace.TopologyConstraint, d *trace.TopologyDomain) string {
	switch {
	case c.What == trace.TopologySpread && c.Hard:
		compared := "within"
		if d.Refused {
			compared = "more than"
		}
		return fmt.Sprintf("skew %d, %s %d", Skew(c, d), compared, c.MaxSkew)
	case c.What == trace.TopologyNear && c.Hard && c.First:
		return "the first of its group"
	case c.What == trace.TopologyNear && d.Refused:
		return "none is there"
	case d.Refused:
		return "too near"
	case d.Sum != 0:
		return fmt.Sprintf("%+d points", d.Sum)
	}
	return ""
}

// DomainWords says in a sentence what a constraint says of a domain, and why.
func DomainWords(c *trace.TopologyConstraint, d *trace.TopologyDomain) string {
	matching := count(d.Count, "matching pod")
	switch {
	case c.What == trace.TopologySpread && d.Refused:
		return fmt.Sprintf("%s has %s, %s: placing it in %s would make a skew of %d, more than maxSkew %d", d.Value, matching, fewest(c, d), d.Value, Skew(c, d), c.MaxSkew)
	case c.What == trace.TopologySpread && c.Hard:
		return fmt.Sprintf("%s has %s, %s: placing it in %s makes a skew of %d, and maxSkew is %d", d.Value, matching, fewest(c, d), d.Value, Skew(c, d), c.MaxSkew)
	case c.What == trace.TopologySpread:
		return fmt.Sprintf("%s has %s; fewer is better", d.Value, matching)
	case c.What == trace.TopologyNear && c.First:
		return fmt.Sprintf("no pod matches anywhere but the pod itself, so it may go to %s: it is the first of its group", d.Value)
	case c.What == trace.TopologyNear && d.Refused:
		return fmt.Sprintf("%s has no matching pod, and the pod must be near one", d.Value)
	case c.What == trace.TopologyNear && c.Hard:
		return fmt.Sprintf("%s has %s%s, so the pod may go there", d.Value, matching, tail(": ", named(d)))
	case c.What == trace.TopologyAway && d.Refused:
		return fmt.Sprintf("%s has %s%s, and the pod must be away from those", d.Value, matching, tail(": ", named(d)))
	case c.What == trace.TopologyAway && c.Hard:
		return fmt.Sprintf("%s has no matching pod, so the pod may go there", d.Value)
	case c.What == trace.TopologyKeptAway:
		return fmt.Sprintf("%s has %s whose anti-affinity keeps this one away%s", d.Value, count(d.Count, "pod"), tail(": ", named(d)))
	case c.What == trace.TopologyOthers:
		return fmt.Sprintf("what the pods in %s prefer adds %d to its sum", d.Value, d.Sum)
	}
	return fmt.Sprintf("%s has %s%s, which adds %d to its sum", d.Value, matching, tail(": ", named(d)), d.Sum)
}

// fewest names the domain that has the fewest pods, unless it is the very one.
func fewest(c *trace.TopologyConstraint, than *trace.TopologyDomain) string {
	if than.Count == c.Min {
		return "the fewest"
	}
	for i := range c.Domains {
		if d := &c.Domains[i]; d.Count == c.Min && !d.Refused {
			return fmt.Sprintf("%s %d", d.Value, d.Count)
		}
	}
	return fmt.Sprintf("and the fewest that count are %d", c.Min)
}

// named are the pods of a domain, as far as they are told.
func named(d *trace.TopologyDomain) string {
	text := strings.Join(d.Pods, ", ")
	if more := d.Count - len(d.Pods); more > 0 && text != "" {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// TopologySummary says in a line how the pods of a constraint are spread: "zone-a 2, zone-b 0".
func TopologySummary(c *trace.TopologyConstraint) string {
	var parts []string
	for i := range c.Domains {
		d := &c.Domains[i]
		n := fmt.Sprint(d.Count)
		if c.What == trace.TopologyOthers {
			n = fmt.Sprintf("%+d", d.Sum)
		}
		parts = append(parts, d.Value+" "+n)
	}
	if len(parts) == 0 {
		return count(c.More, "domain") + ", too many to list"
	}
	text := some(parts, 8)
	if c.More > 0 {
		text += fmt.Sprintf(" and %s more", count(c.More, "domain"))
	}
	return text
}
