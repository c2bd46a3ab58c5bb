package scheduler

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// maxBatchAge is how long what a cycle found is good for (framework/runtime/batch.go).
const maxBatchAge = 500 * time.Millisecond

// batch keeps the other nodes that a cycle rated. The next pod takes the best of them, without a
// look at the rest, if it is alike and follows at once; the node of the pod before it is rated again
// if it still has room.
//
// What alike is, the plugins say ([framework.SignPlugin]). Profiles with the system's default spread
// constraints, upstream's own among them, sign no pod, and so never place one from here.
//
// Mirrors pkg/scheduler/framework/runtime/batch.go OpportunisticBatch (OpportunisticBatching).
type batch struct {
	signature string
	kept      []candidate // in no order
	since     time.Time

	// The cycle that ended with a node last.
	cycle     uint64
	node, pod string
}

// candidate is a node with what the plugins gave it.
type candidate struct {
	node    string
	plugins []weighted
	raw     []int64 // by plugin
	total   int64
}

// offer is what a cycle has from the one before it.
type offer struct {
	node string // "": nothing
	like string // the pod before it
	// signature is computed when it is first asked for.
	signature string
	signed    bool
}

// setSigners finds the plugins whose fragments make up a pod's signature: none if one cannot sign.
//
// Mirrors pkg/scheduler/framework/runtime/framework.go setBatchablePlugins.
func (p *profile) setSigners() {
	var all []framework.Plugin
	for _, pl := range p.preFilter {
		all = append(all, pl)
	}
	for _, pl := range p.filter {
		all = append(all, pl)
	}
	for _, pl := range p.preScore {
		all = append(all, pl)
	}
	for _, pl := range p.score {
		all = append(all, pl.ScorePlugin)
	}
	for _, pl := range all {
		s, ok := pl.(framework.SignPlugin)
		if !ok {
			p.signers = nil
			return
		}
		if !slices.ContainsFunc(p.signers, func(have framework.SignPlugin) bool { return have.Name() == s.Name() }) {
			p.signers = append(p.signers, s)
		}
	}
	// The plugin that refuses every pod of a usual profile is asked first.
	slices.SortStableFunc(p.signers, func(a, b framework.SignPlugin) int {
		return before(a.Name() == names.PodTopologySpread, b.Name() == names.PodTopologySpread)
	})
}

func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// sign is the pod's signature, "" if it cannot be compared with others.
//
// Mirrors pkg/scheduler/framework/runtime/framework.go SignPod.
func (p *profile) sign(pod *corev1.Pod) string {
	if len(p.signers) == 0 {
		return ""
	}
	var all map[string]any
	for _, pl := range p.signers {
		fragments, st := pl.SignPod(pod)
		if !st.IsSuccess() {
			return ""
		}
		if all == nil {
			all = map[string]any{framework.SchedulerNameSignerName: pod.Spec.SchedulerName}
		}
		for _, f := range fragments {
			all[f.Key] = f.Value
		}
	}
	text, err := json.Marshal(all) // maps by key
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *Scheduler) signature(pod *corev1.Pod) string {
	if !s.offer.signed {
		s.offer.signature, s.offer.signed = s.profile.sign(pod), true
	}
	return s.offer.signature
}

// offered is the node that the pod should be tried on first, "" if there is none.
//
// Mirrors GetNodeHint.
func (s *Scheduler) offered(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo) {
	b := &s.profile.batch
	if len(b.kept) == 0 || s.queue.cycles != b.cycle+1 || info.Pod.Status.NominatedNodeName != "" {
		return
	}
	if sig := s.signature(info.Pod); sig == "" || sig != b.signature || t.Now().After(b.since.Add(maxBatchAge)) {
		return
	}
	if s.refresh(state, info) {
		s.offer.node, s.offer.like = b.pop(t), b.pod
	}
}

// refresh rates the node of the pod before anew if it is still feasible. It reports whether what is
// kept can be used.
//
// Mirrors refreshHintCandidates and rescoreHintedNode.
func (s *Scheduler) refresh(state *framework.CycleState, info *framework.QueuedPodInfo) bool {
	b := &s.profile.batch
	last := s.known(b.node)
	if last == nil {
		return false
	}
	for _, pl := range s.activeFilters(state) {
		if st := pl.Filter(state, info.Pod, last); st.IsRejected() {
			return true
		} else if !st.IsSuccess() {
			return false
		}
	}
	nodes := make([]*framework.NodeInfo, 0, len(b.kept)+1)
	for _, c := range b.kept {
		n := s.known(c.node)
		if n == nil {
			return false
		}
		nodes = append(nodes, n)
	}
	nodes = append(nodes, last)
	again := state.Clone()
	plugins, _, err := s.preScore(again, info, nodes)
	if err != nil {
		return false
	}
	fresh := candidate{node: b.node, plugins: plugins}
	for _, pl := range plugins {
		fresh.raw = append(fresh.raw, pl.Score(again, info.Pod, last))
	}
	all := append(slices.Clone(b.kept), fresh)
	if !normalize(again, nodes, all, plugins) {
		return false
	}
	b.kept = all
	return true
}

// known is a node that the cache has, nil if there is none.
func (s *Scheduler) known(name string) *framework.NodeInfo {
	if n := s.cache.nodes[name]; n != nil && n.Node != nil {
		return n
	}
	return nil
}

// normalize gives the candidates their totals. A plugin that has not rated one before gives it 0.
//
// Mirrors pkg/scheduler/framework/runtime/framework.go NormalizeScores.
func normalize(state *framework.CycleState, nodes []*framework.NodeInfo, all []candidate, plugins []weighted) bool {
	for i := range all {
		all[i].total = 0
	}
	for _, pl := range plugins {
		scores := make([]int64, len(all))
		for i, c := range all {
			scores[i] = c.rated(pl.Name())
		}
		if n, ok := pl.ScorePlugin.(framework.ScoreNormalizer); ok {
			n.NormalizeScore(state, nodes, scores)
		}
		for i, score := range scores {
			if score < 0 || score > framework.MaxNodeScore {
				return false
			}
			all[i].total += score * pl.weight
		}
	}
	return true
}

// rated is the raw score that a plugin gave.
func (c *candidate) rated(plugin string) int64 {
	for i, pl := range c.plugins {
		if pl.Name() == plugin {
			return c.raw[i]
		}
	}
	return 0
}

// pop takes the best candidate, of several best ones a random one. Upstream draws a number for each
// node when it is rated.
//
// Mirrors pkg/scheduler/framework/sorted_nodes.go Pop.
func (b *batch) pop(t *sim.Task) string {
	var best []int
	for i, c := range b.kept {
		switch {
		case len(best) == 0 || c.total > b.kept[best[0]].total:
			best = append(best[:0], i)
		case c.total == b.kept[best[0]].total:
			best = append(best, i)
		}
	}
	i := best[0]
	if len(best) > 1 {
		i = best[t.Rand().IntN(len(best))]
	}
	node := b.kept[i].node
	b.kept = slices.Delete(b.kept, i, i+1)
	return node
}

// keep remembers how a cycle ended: the node of the pod and, unless that is the one that was offered,
// the other nodes that were rated.
//
// Mirrors StoreScheduleResults.
func (s *Scheduler) keep(t *sim.Task, info *framework.QueuedPodInfo, chosen string, others func() []candidate) {
	b := &s.profile.batch
	b.cycle, b.node, b.pod = s.queue.cycles, chosen, info.Key
	if s.offer.node == chosen {
		return
	}
	b.kept = nil
	if others != nil && s.signature(info.Pod) != "" {
		b.signature, b.kept, b.since = s.signature(info.Pod), others(), t.Now()
	}
}

// others are the nodes of a cycle but for the one that was chosen, with their scores.
func (s *Scheduler) others(nodes []*framework.NodeInfo, plugins []weighted, chosen *framework.NodeInfo) []candidate {
	list := make([]candidate, 0, len(nodes)-1)
	raw := make([]int64, len(nodes)*len(plugins))
	for j, n := range nodes {
		if n == chosen {
			continue
		}
		c := candidate{node: n.Node.Name, plugins: plugins, raw: raw[:len(plugins):len(plugins)], total: s.scratch.totals[j]}
		raw = raw[len(plugins):]
		for i := range plugins {
			c.raw[i] = s.scratch.raw[i][j]
		}
		list = append(list, c)
	}
	return list
}
