package interpodaffinity

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/trace"
)

// Topology tells which pods of which domains count for the terms: the required ones of the pod, those
// of pods that keep it away, and, in a cluster that is small enough to be looked at again, the preferred ones.
func (pl *InterPodAffinity) Topology(state *framework.CycleState, pod *corev1.Pod, nodes []*framework.NodeInfo, names bool) []trace.TopologyConstraint {
	var told []trace.TopologyConstraint
	if s := framework.Read[*filterState](state, filterKey); s != nil {
		told = s.told(pod, nodes, names)
	}
	if s := framework.Read[*scoreState](state, scoreKey); s != nil && names {
		told = append(told, s.told(nodes)...)
	}
	return told
}

func head(what string, t *framework.AffinityTerm) trace.TopologyConstraint {
	return trace.TopologyConstraint{Plugin: Name, What: what, Key: t.TopologyKey, Selector: t.Selector.String()}
}

func (s *filterState) told(pod *corev1.Pod, nodes []*framework.NodeInfo, names bool) []trace.TopologyConstraint {
	var told []trace.TopologyConstraint
	first := len(s.affinity) > 0 && len(s.wanted) == 0 && matchesAll(s.affinity, pod)
	for i := range s.affinity {
		t := head(trace.TopologyNear, &s.affinity[i])
		t.Hard, t.First = true, first
		match := func(p *framework.PodInfo) bool { return matchesAll(s.affinity, p.Pod) }
		t.Domains, t.More = s.domains(t.Key, nodes, names, s.wanted, match, true)
		for j := range t.Domains {
			t.Domains[j].Refused = t.Domains[j].Count == 0 && !first
		}
		told = append(told, t)
	}
	for i := range s.anti {
		t := head(trace.TopologyAway, &s.anti[i])
		t.Hard = true
		match := func(p *framework.PodInfo) bool { return s.anti[i].Matches(p.Pod, nil) }
		t.Domains, t.More = s.domains(t.Key, nodes, names, s.unwanted, match, true)
		for j := range t.Domains {
			t.Domains[j].Refused = t.Domains[j].Count > 0
		}
		told = append(told, t)
	}
	keys := map[string]bool{}
	for d := range s.unwelcoming { // sorted below
		keys[d.key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		t := trace.TopologyConstraint{Plugin: Name, What: trace.TopologyKeptAway, Hard: true, Key: key}
		match := func(p *framework.PodInfo) bool {
			return p.Affinity != nil && slices.ContainsFunc(p.Affinity.RequiredAnti, func(a framework.AffinityTerm) bool {
				return a.TopologyKey == key && a.Matches(pod, s.namespace)
			})
		}
		t.Domains, t.More = s.domains(key, nodes, names, s.unwelcoming, match, false)
		for j := range t.Domains {
			t.Domains[j].Refused = true
		}
		told = append(told, t)
	}
	return told
}

// domains lists those of a label with the pods that match; without names, those that have some,
// with how many terms match there. empty lists those without such pods too.
func (s *filterState) domains(key string, nodes []*framework.NodeInfo, names bool, sums counts, match func(*framework.PodInfo) bool, empty bool) ([]trace.TopologyDomain, int) {
	var d framework.Domains
	if !names {
		if len(sums) > 256 {
			return nil, len(sums)
		}
		for of, n := range sums { // Domains sorts them
			if of.key == key {
				d.At(of.value).Count = n
			}
		}
		return d.List()
	}
	for _, n := range nodes {
		value, ok := n.Node.Labels[key]
		if !ok || !empty && sums[domain{key, value}] == 0 {
			continue
		}
		at := d.At(value)
		if at == nil {
			continue
		}
		at.Nodes++
		for _, p := range n.ByName() {
			if match(p) {
				d.Pod(at, p.Key)
			}
		}
	}
	return d.List()
}

func (s *scoreState) told(nodes []*framework.NodeInfo) []trace.TopologyConstraint {
	var told []trace.TopologyConstraint
	own := map[domain]int64{}
	add := func(what string, terms []framework.WeightedAffinityTerm, sign int64) {
		for i := range terms {
			t := head(what, &terms[i].AffinityTerm)
			t.Weight = sign * int64(terms[i].Weight)
			var d framework.Domains
			for _, n := range nodes {
				value, ok := n.Node.Labels[t.Key]
				if !ok {
					continue
				}
				at := d.At(value)
				if at == nil {
					continue
				}
				at.Nodes++
				for _, p := range n.ByName() {
					if terms[i].Matches(p.Pod, nil) {
						d.Pod(at, p.Key)
						at.Sum += t.Weight
						own[domain{t.Key, value}] += t.Weight
					}
				}
			}
			t.Domains, t.More = d.List()
			told = append(told, t)
		}
	}
	add(trace.TopologyNear, s.preferred, 1)
	add(trace.TopologyAway, s.anti, -1)
	for _, key := range slices.Sorted(maps.Keys(s.weights)) {
		t := trace.TopologyConstraint{Plugin: Name, What: trace.TopologyOthers, Key: key}
		var d framework.Domains
		for value, sum := range s.weights[key] { // Domains sorts them
			if sum -= own[domain{key, value}]; sum == 0 {
				continue
			}
			if at := d.At(value); at != nil {
				at.Sum = sum
			}
		}
		if t.Domains, t.More = d.List(); len(t.Domains) > 0 {
			told = append(told, t)
		}
	}
	return told
}
