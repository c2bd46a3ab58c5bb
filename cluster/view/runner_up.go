package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// Possible is the highest total that a node could have had in the cycle: a hundred times the
// weights of the plugins that rated. 0 where nothing was scored.
func (c *Cycle) Possible() (most int64) {
	for _, n := range c.scores {
		sum := int64(0)
		for _, p := range n.Scores {
			sum += 100 * p.Weight
		}
		most = max(most, sum)
	}
	return most
}

// second is the node that came second, nil if the chosen one was not compared with another that
// is in the trace.
func (c *Cycle) second() *NodeScores {
	var best *NodeScores
	for i := range c.scores {
		n := &c.scores[i]
		if n.Node == c.Decision.Node {
			continue
		}
		if best == nil || n.Total > best.Total {
			best = n
		}
	}
	return best
}

// RunnerUp says in a sentence which node came second and what it lost by; "" where one node was
// left or the cycle chose none.
func (c *Cycle) RunnerUp() string {
	if c.Decision == nil || c.Decision.Node == "" {
		return ""
	}
	won, ok := c.Score(c.Decision.Node)
	second := c.second()
	if !ok || second == nil {
		return ""
	}
	if tied := c.Decision.TiedWith; len(tied) > 0 {
		return "The seed decided the draw: another seed could have chosen " + strings.Join(tied, " or ")
	}
	text := fmt.Sprintf("%s came second with %d: %s", second.Node, second.Total, lostBy(won.Scores, second.Scores))
	if others := c.Decision.Feasible - len(c.scores); others > 0 {
		text += fmt.Sprintf("; %s more that fit %s not in the trace", count(others, "node"), isAre(others))
	}
	return text
}

// lostBy says which plugins rated the second node differently from the first, the greatest
// difference first.
func lostBy(first, second []trace.PluginScore) string {
	type difference struct {
		plugin string
		points int64
	}
	var all []difference
	for _, f := range first {
		for _, s := range second {
			if s.Plugin == f.Plugin && s.Weighted != f.Weighted {
				all = append(all, difference{f.Plugin, s.Weighted - f.Weighted})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b difference) int { return cmp.Compare(max(b.points, -b.points), max(a.points, -a.points)) })
	var parts []string
	for i, d := range all {
		more, n := "more", d.points
		if n < 0 {
			more, n = "less", -n
		}
		if i == 0 {
			parts = append(parts, fmt.Sprintf("%s gave it %d %s", d.plugin, n, more))
		} else {
			parts = append(parts, fmt.Sprintf("%s %d %s", d.plugin, n, more))
		}
	}
	return orElse(joined(parts), "each plugin gave it the same")
}
