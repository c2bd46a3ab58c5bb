package cacher

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
)

// Selector is what a list or watch asks for (apiserver pkg/storage
// SelectionPredicate).
type Selector struct {
	kind      *registry.Kind
	namespace string
	label     labels.Selector
	field     fields.Selector
	anyLabel  bool

	needs    []fields.Requirement // those on fields; asked one after another while fields is nil
	labels   *labelTerms          // nil: label is asked
	fields   []fieldTerm
	size     int    // how many requirements and values there are
	only     string // the one name that it asks for
	value    string // the one value of the kind's indexed field that it asks for
	hasValue bool
	words    *wording // how it is written, once somebody wants to know, or of a long one
}

// NewSelector parses the selectors of a request. Fields that the kind does not
// offer are refused, in the words of its field label conversion.
func NewSelector(k *registry.Kind, namespace, name string, opts *metav1.ListOptions) (*Selector, error) {
	s := &Selector{kind: k, namespace: namespace, label: labels.Everything(), field: fields.Everything()}
	var err error
	if opts.LabelSelector != "" {
		if s.label, err = labels.Parse(opts.LabelSelector); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if opts.FieldSelector != "" {
		if s.field, err = fields.ParseSelector(opts.FieldSelector); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		s.field, err = s.field.Transform(func(label, value string) (string, string, error) {
			if k.Custom != nil {
				return k.Custom.Version.Label(k, label, value)
			}
			return registry.Scheme.ConvertFieldLabel(k.GVK(), label, value)
		})
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if name != "" {
		s.field = fields.AndSelectors(s.field, fields.OneTermEqualSelector("metadata.name", name))
	}
	s.anyLabel = s.label.Empty()
	s.needs = s.field.Requirements()
	s.labels, s.size = labelTermsOf(s.label)
	s.fields = fieldTermsOf(s.needs)
	s.size += len(s.needs)
	s.only, _ = s.field.RequiresExactMatch("metadata.name")
	if k.Trigger != "" {
		s.value, s.hasValue = s.field.RequiresExactMatch(k.Trigger)
	}
	if s.size > fewTerms {
		s.written()
	}
	return s, nil
}

// Most is how many requirements an object is asked at most.
func (s *Selector) Most() int {
	n := len(s.fields)
	if s.fields == nil {
		n = len(s.needs)
	}
	switch {
	case s.anyLabel:
		return n
	case s.labels == nil:
		return n + fewTerms
	}
	return n + len(s.labels.by)
}

// cost is how many requirements an object is asked, as far as can be said without asking.
func (s *Selector) cost(obj runtime.Object) int {
	if s.labels == nil {
		return s.Most()
	}
	return s.Most() - len(s.labels.by) + min(len(s.labels.by), len(object.Meta(obj).GetLabels()))
}

// Matches reports whether an object is selected.
func (s *Selector) Matches(obj runtime.Object) bool {
	m := object.Meta(obj)
	if s.namespace != "" && m.GetNamespace() != s.namespace {
		return false
	}
	switch {
	case s.anyLabel:
	case s.labels != nil:
		if !s.labels.matches(m.GetLabels()) {
			return false
		}
	case !s.label.Matches(labels.Set(m.GetLabels())):
		return false
	}
	if s.fields != nil {
		for i := range s.fields {
			if v, _ := s.kind.Field(obj, s.fields[i].field); !s.fields[i].allows(v) {
				return false
			}
		}
		return true
	}
	for _, r := range s.needs {
		v, _ := s.kind.Field(obj, r.Field)
		if (v == r.Value) == (r.Operator == "!=") {
			return false
		}
	}
	return true
}

// wording is a selector as it is written: what is written in the same way selects the same
// objects of a kind.
type wording struct{ namespace, label, field string }

func (s *Selector) written() wording {
	if s.words == nil {
		w := wording{namespace: s.namespace}
		if !s.anyLabel {
			w.label = s.label.String()
		}
		if !s.field.Empty() {
			w.field = s.field.String()
		}
		s.words = &w
	}
	return *s.words
}

// String is the selector for the trace.
func (s *Selector) String() string {
	w, out := s.written(), ""
	if w.namespace != "" {
		out = "namespace=" + w.namespace
	}
	if w.label != "" {
		out = join(out, w.label)
	}
	if w.field != "" {
		out = join(out, w.field)
	}
	return out
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "," + b
}

// Everything reports whether no selector was given.
func (s *Selector) Everything() bool { return s.anyLabel && s.field.Empty() }

// trigger is the value of the kind's indexed field that the selector asks for.
func (s *Selector) trigger() (string, bool) { return s.value, s.hasValue }
