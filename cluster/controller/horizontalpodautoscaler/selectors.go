package horizontalpodautoscaler

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// selectors remembers which pods each autoscaler selects, by namespace and key: two that select
// the same pod would work against each other (hpaSelectorStore).
type selectors map[string]map[string]labels.Selector

func (s selectors) has(namespace, key string) bool { _, ok := s[namespace][key]; return ok }

func (s selectors) put(namespace, key string, sel labels.Selector) {
	if s[namespace] == nil {
		s[namespace] = map[string]labels.Selector{}
	}
	s[namespace][key] = sel
}

func (s selectors) drop(namespace, key string) {
	if delete(s[namespace], key); len(s[namespace]) == 0 {
		delete(s, namespace)
	}
}

// matching are the keys of autoscalers that select one of the pods, limit of them at most
// (HPAsMatchingPods). Pods with the same labels are looked at once.
func (s selectors) matching(namespace string, pods []*corev1.Pod, limit int) []string {
	keys := slices.Sorted(maps.Keys(s[namespace]))
	var found []string
	seen := map[string]bool{}
	for _, pod := range pods {
		set := labels.Set(pod.Labels)
		if seen[set.String()] {
			continue
		}
		seen[set.String()] = true
		for _, key := range keys {
			if s[namespace][key].Matches(set) && !slices.Contains(found, key) {
				if found = append(found, key); len(found) == limit {
					return found
				}
			}
		}
	}
	return found
}
