package cacher

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Upstream asks the requirements of a selector one after another, and each looks through
// its values. A selector of one request can have ten thousands of them, and a watch asks
// them of every object at first, and of two states at every write. So those on one label
// become one term, and an object is asked about as many labels as it has or as the selector
// names, whichever are fewer.

// fewTerms is up to how many requirements and values are asked one after another.
const fewTerms = 8

// term is what all requirements on one label, or one field, come to. The zero term allows
// everything.
type term struct {
	must    bool     // it has to be there
	never   bool     // it must not be there
	chosen  bool     // its value is among these
	ordered bool     // its value is a number, above and below these
	among   []string // sorted, as not
	not     []string // its value is none of these
	above   *int64
	below   *int64
}

// Most requirements only say whether a label is there, so what they come to is shared.
var (
	present = &term{must: true}
	absent  = &term{never: true}
)

// with is the term and one requirement more.
func (m *term) with(op selection.Operator, values []string) *term {
	switch {
	case op == selection.Exists && (m == nil || m == present):
		return present
	case op == selection.DoesNotExist && (m == nil || m == absent):
		return absent
	case m == nil:
		m = &term{}
	case m == present || m == absent:
		own := *m
		m = &own
	}
	switch op {
	case selection.In, selection.Equals, selection.DoubleEquals:
		m.only(values)
	case selection.NotIn, selection.NotEquals:
		m.not = append(m.not, values...)
	case selection.Exists:
		m.must = true
	case selection.DoesNotExist:
		m.never = true
	case selection.GreaterThan, selection.LessThan:
		m.beyond(op, values[0])
	default: // there is no other; upstream's matches nothing
		m.must, m.never = true, true
	}
	return m
}

// only leaves the values that are in a list too.
func (m *term) only(values []string) {
	var both []string
	for _, v := range values {
		if !m.chosen || has(m.among, v) {
			both = append(both, v)
		}
	}
	slices.Sort(both)
	m.must, m.chosen, m.among = true, true, both
}

// beyond takes in a comparison with a number; of those in one direction one counts.
func (m *term) beyond(op selection.Operator, value string) {
	m.must, m.ordered = true, true
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil: // the parser refuses it
		m.never = true
	case op == selection.GreaterThan && (m.above == nil || n > *m.above):
		m.above = &n
	case op == selection.LessThan && (m.below == nil || n < *m.below):
		m.below = &n
	}
}

// allows reports whether what is there may have a value.
func (m *term) allows(value string) bool {
	if m.never || m.chosen && !has(m.among, value) || has(m.not, value) {
		return false
	}
	if !m.ordered {
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && (m.above == nil || n > *m.above) && (m.below == nil || n < *m.below)
}

func has(sorted []string, v string) bool {
	_, found := slices.BinarySearch(sorted, v)
	return found
}

// labelTerms are the requirements of a label selector by label.
type labelTerms struct {
	by   map[string]*term
	must int // how many labels have to be there
}

// labelTermsOf is nil for a selector of few terms, and for one that does not say its
// requirements. size is how many requirements and values there are.
func labelTermsOf(s labels.Selector) (t *labelTerms, size int) {
	all, ok := s.Requirements()
	values := make([][]string, len(all))
	for i := range all {
		values[i] = all[i].ValuesUnsorted()
		size += max(1, len(values[i]))
	}
	if !ok || size <= fewTerms {
		return nil, size
	}
	t = &labelTerms{by: map[string]*term{}}
	for i := range all {
		key := all[i].Key()
		t.by[key] = t.by[key].with(all[i].Operator(), values[i])
	}
	for _, m := range t.by {
		slices.Sort(m.not)
		if m.must {
			t.must++
		}
	}
	return t, size
}

// matches asks about each label that an object has, or that is named, whichever are fewer.
func (t *labelTerms) matches(labels map[string]string) bool {
	if len(labels) < t.must {
		return false
	}
	if len(labels) <= len(t.by) {
		found := 0
		for key, value := range labels {
			m := t.by[key]
			switch {
			case m == nil:
			case !m.allows(value):
				return false
			case m.must:
				found++
			}
		}
		return found == t.must
	}
	for key, m := range t.by {
		if value, there := labels[key]; there && !m.allows(value) || !there && m.must {
			return false
		}
	}
	return true
}

// fieldTerm is what the requirements on one field come to.
type fieldTerm struct {
	field string
	*term
}

// fieldTermsOf are the requirements of a field selector by field, in the order in which
// the fields are named first; nil for few.
func fieldTermsOf(all []fields.Requirement) (t []fieldTerm) {
	if len(all) <= fewTerms {
		return nil
	}
	at := map[string]int{}
	for _, r := range all {
		i, known := at[r.Field]
		if !known {
			i = len(t)
			at[r.Field], t = i, append(t, fieldTerm{r.Field, nil})
		}
		t[i].term = t[i].with(r.Operator, []string{r.Value})
	}
	for _, m := range t {
		slices.Sort(m.not)
	}
	return t
}
