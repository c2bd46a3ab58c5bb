package daemonset

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
)

// roll replaces pods of old revisions, as many at a time as the strategy allows (rollingUpdate).
func (l *look) roll() error {
	on, err := l.byNode(false)
	if err != nil {
		return err
	}
	desired, names := 0, slices.Collect(maps.Keys(on))
	for _, n := range l.all {
		if n.should {
			desired++
			if _, ok := on[n.Name]; !ok {
				names = append(names, n.Name) // counts, also without a pod
			}
		}
	}
	slices.Sort(names)
	unavailable, err := util.UnavailableCount(l.ds, desired)
	if err != nil {
		return fmt.Errorf("invalid value for MaxUnavailable: %w", err)
	}
	surge, err := util.SurgeCount(l.ds, desired)
	if err != nil {
		return fmt.Errorf("invalid value for MaxSurge: %w", err)
	}
	if desired > 0 && unavailable == 0 && surge == 0 {
		unavailable = 1 // else there would never be an update
	}
	if surge == 0 {
		return l.carryOut(l.replace(on, names, unavailable))
	}
	p, err := l.surge(on, names, surge, desired)
	if err != nil {
		return err
	}
	return l.carryOut(p)
}

// pair finds the pod of the newest revision and the old one that are on a node; ok is false where there
// are more, which the next run prunes (findUpdatedPodsOnNode).
func (l *look) pair(here []*corev1.Pod) (newest, old *corev1.Pod, ok bool) {
	for _, pod := range here {
		of := &old
		switch {
		case pod.DeletionTimestamp != nil:
			continue
		case l.updated(pod):
			of = &newest
		}
		if *of != nil {
			return nil, nil, false
		}
		*of = pod
	}
	return newest, old, true
}

// replace deletes old pods, those first that are not available anyway. The next run makes
// new ones in their places.
func (l *look) replace(on map[string][]*corev1.Pod, names []string, most int) plan {
	var useless, good []string
	away, held := 0, "" // held is an old pod that has to wait
	for _, node := range names {
		newest, old, ok := l.pair(on[node])
		switch {
		case !ok, (old == nil) == (newest == nil): // the next run prunes or makes one
			away++
		case newest != nil:
			if !l.available(newest) {
				away++
			}
		case !l.available(old):
			useless = append(useless, old.Name)
			away++
		case away < most:
			good = append(good, old.Name)
		default:
			held = old.Name
		}
	}
	n := min(max(most-away, 0), len(good))
	if n == 0 && len(useless) == 0 && held != "" {
		l.run.Waits("%s is of an old revision: it waits, %d of %d nodes have no available pod and maxUnavailable is %d", held, away, len(on), most)
	}
	return plan{
		delete: append(useless, good[:n]...),
		why:    fmt.Sprintf("%d of %d nodes have no available pod, maxUnavailable is %d, pods of an old revision can be replaced", away, len(names), most),
	}
}

// surge makes new pods beside old ones, and deletes the old where the new are available.
func (l *look) surge(on map[string][]*corev1.Pod, names []string, most, desired int) (p plan, err error) {
	var useless, good, leaving []string // nodes to get a new pod; pods of nodes that are to have none
	extra, available := 0, 0
	for _, name := range names {
		newest, old, ok := l.pair(on[name])
		if !ok {
			extra++
			continue
		}
		if pod := old; pod != nil || newest != nil {
			if pod == nil {
				pod = newest
			}
			if l.available(pod) {
				available++
			}
		}
		should := true
		if old != nil && newest == nil {
			if should, err = l.shouldRunOn(name); err != nil {
				return p, err
			}
		}
		switch {
		case old == nil: // the next run makes one, or it is new already
		case newest != nil && l.available(newest):
			p.delete = append(p.delete, old.Name)
		case newest != nil:
			extra++
		case !should && l.available(old):
			leaving = append(leaving, old.Name)
		case !should:
			p.delete = append(p.delete, old.Name)
		case !l.available(old):
			useless = append(useless, name)
		case extra < most:
			good = append(good, name)
		}
	}
	// A pod of a node that is to have none goes once there are enough elsewhere.
	p.delete = append(p.delete, leaving[:min(max(available-desired, 0), len(leaving))]...)
	p.create = append(useless, good[:min(max(most-extra, 0), len(good))]...)
	p.why = fmt.Sprintf("%d of %d pods are extra, maxSurge is %d, pods of an old revision can be replaced", extra, desired, most)
	return p, nil
}

func (l *look) shouldRunOn(name string) (bool, error) {
	i, ok := l.byName[name]
	if !ok {
		return false, fmt.Errorf("couldn't get node for nodeName %q: it is gone", name)
	}
	return l.all[i].should, nil
}
