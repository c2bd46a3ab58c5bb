package scheduler

import (
	"fmt"
	"strings"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// scratch is memory that every cycle uses again.
type scratch struct {
	feasible []*framework.NodeInfo
	raw      [][]int64 // by plugin, by node
	norm     [][]int64
	totals   []int64
	best     []int
}

// grid gives a table of plugins by nodes.
func grid(old [][]int64, plugins, nodes int) [][]int64 {
	for len(old) < plugins {
		old = append(old, nil)
	}
	for i := range old {
		if cap(old[i]) < nodes {
			old[i] = make([]int64, nodes)
		}
		old[i] = old[i][:nodes]
	}
	return old
}

// prioritizeNodes scores the feasible nodes and takes the best; of several
// best ones a random one.
//
// Mirrors pkg/scheduler/schedule_one.go prioritizeNodes and
// framework/runtime/framework.go RunScorePlugins.
func (s *Scheduler) prioritizeNodes(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo, nodes []*framework.NodeInfo) (*result, error) {
	plugins, err := s.runPreScore(t, state, info, nodes)
	if err != nil {
		return nil, err
	}
	s.scratch.raw = grid(s.scratch.raw, len(plugins), len(nodes))
	s.scratch.norm = grid(s.scratch.norm, len(plugins), len(nodes))
	totals := s.scratch.totals[:0]
	totals = append(totals, make([]int64, len(nodes))...)
	s.scratch.totals = totals
	var normalizers []string
	for i, pl := range plugins {
		raw, norm := s.scratch.raw[i], s.scratch.norm[i]
		for j, node := range nodes {
			raw[j] = pl.Score(state, info.Pod, node)
		}
		copy(norm, raw)
		if n, ok := pl.ScorePlugin.(framework.ScoreNormalizer); ok {
			n.NormalizeScore(state, nodes, norm)
			normalizers = append(normalizers, pl.Name())
		}
		for j, score := range norm {
			if score < 0 || score > framework.MaxNodeScore {
				return nil, fmt.Errorf("plugin %q returns an invalid score %d, it should in the range of [0, %d] after normalizing", pl.Name(), score, framework.MaxNodeScore)
			}
			totals[j] += score * pl.weight
		}
	}
	emitPoint(t, info, framework.Score, pluginNames(plugins), count(len(nodes), "node")+" rated"+s.shown(len(nodes)))
	emitPoint(t, info, framework.NormalizeScore, normalizers, "scores of the others are 0 to 100 already")
	res := s.selectHost(t, nodes, totals)
	s.emitScores(t, state, info, plugins, nodes, res)
	s.keep(t, info, res.node.Node.Name, func() []candidate { return s.others(nodes, plugins, res.node) })
	return res, nil
}

// runPreScore gives the score plugins that have something to do.
func (s *Scheduler) runPreScore(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo, nodes []*framework.NodeInfo) ([]weighted, error) {
	plugins, idle, err := s.preScore(state, info, nodes)
	if err == nil {
		emitPoint(t, info, framework.PreScore, pluginNames(s.profile.preScore), strings.Join(nothingTo("rate", idle), ""))
	}
	return plugins, err
}

// preScore is runPreScore without a word to the trace; idle are the plugins that have nothing to do.
func (s *Scheduler) preScore(state *framework.CycleState, info *framework.QueuedPodInfo, nodes []*framework.NodeInfo) (plugins []weighted, idle []string, err error) {
	skip := map[string]bool{}
	for _, pl := range s.profile.preScore {
		st := pl.PreScore(state, info.Pod, nodes)
		switch {
		case st.IsSkip():
			skip[pl.Name()] = true
			idle = append(idle, pl.Name())
		case !st.IsSuccess():
			return nil, nil, fmt.Errorf("running PreScore plugin %q: %w", pl.Name(), st.Err())
		}
	}
	for _, pl := range s.profile.score {
		if why := s.profile.unprepared["PreScore"+pl.Name()]; why != "" {
			return nil, nil, fmt.Errorf("running Score plugins: plugin %q failed with: %s", pl.Name(), why)
		}
		if !skip[pl.Name()] {
			plugins = append(plugins, pl)
		}
	}
	return plugins, idle, nil
}

// selectHost takes the node with the highest total; among equals it draws.
func (s *Scheduler) selectHost(t *sim.Task, nodes []*framework.NodeInfo, totals []int64) *result {
	best := s.scratch.best[:0]
	for i, total := range totals {
		switch {
		case len(best) == 0 || total > totals[best[0]]:
			best = append(best[:0], i)
		case total == totals[best[0]]:
			best = append(best, i)
		}
	}
	s.scratch.best = best
	winner := best[0]
	if len(best) > 1 {
		winner = best[t.Rand().IntN(len(best))]
	}
	res := &result{node: nodes[winner], total: totals[winner]}
	for _, i := range best {
		if i != winner && len(res.tied) < max(s.shows(), 1) {
			res.tied = append(res.tied, nodes[i].Node.Name)
		}
	}
	return res
}

// emitScores writes down the scores of as many nodes as the trace takes, and
// always the winner's. In a cluster too big to be shown whole, how each number
// came about is left out: nobody could read it, and it costs more than scoring.
func (s *Scheduler) emitScores(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo, plugins []weighted, nodes []*framework.NodeInfo, res *result) {
	shows := s.shows()
	explain, shown := len(nodes) <= shows, min(len(nodes), shows+1)
	all, each := make([]trace.NodeScore, shown), make([]trace.PluginScore, shown*len(plugins))
	for j, node := range nodes {
		if j >= shows && node != res.node {
			continue
		}
		score, scores := &all[0], each[:len(plugins):len(plugins)]
		all, each = all[1:], each[len(plugins):]
		for i, pl := range plugins {
			p := &scores[i]
			p.Plugin, p.Raw, p.Normalized, p.Weight = pl.Name(), s.scratch.raw[i][j], s.scratch.norm[i][j], pl.weight
			p.Weighted = p.Normalized * p.Weight
			if e, ok := pl.ScorePlugin.(framework.ScoreExplainer); ok && explain {
				p.How = e.ExplainScore(state, info.Pod, node)
			}
		}
		*score = trace.NodeScore{Pod: info.Key, Node: node.Node.Name, Scores: scores, Total: s.scratch.totals[j]}
		t.Emit(trace.Event{Kind: trace.SchedScore, Object: info.Ref, Payload: score})
	}
}
