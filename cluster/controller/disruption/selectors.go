package disruption

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/informer"
)

// selectors remembers the selectors of budgets, by their keys. Each change of a pod is compared with each
// budget of its namespace, and to parse a selector of a megabyte every time would keep everybody else
// waiting.
type selectors map[string]selector

type selector struct {
	uid        types.UID
	generation int64
	from       *metav1.LabelSelector
	parsed     labels.Selector
	err        error
}

// of is a budget's selector. A change of the budget's status does not change it.
func (s selectors) of(b *policyv1.PodDisruptionBudget) (labels.Selector, error) {
	key := informer.KeyOf(b)
	had := s[key]
	if had.from == nil || had.from != b.Spec.Selector && (b.Generation == 0 || had.uid != b.UID || had.generation != b.Generation) {
		had = selector{uid: b.UID, generation: b.Generation, from: b.Spec.Selector}
		had.parsed, had.err = metav1.LabelSelectorAsSelector(b.Spec.Selector)
		s[key] = had
	}
	return had.parsed, had.err
}
