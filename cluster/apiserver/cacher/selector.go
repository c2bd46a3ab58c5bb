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
	needs     []fields.Requirement
	size      int // how many requirements there are
	anyLabel  bool
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
	s.size = len(s.needs)
	if terms, ok := s.label.Requirements(); ok {
		s.size += len(terms)
	}
	return s, nil
}

// Size is how many requirements there are.
func (s *Selector) Size() int { return s.size }

// Matches reports whether an object is selected.
func (s *Selector) Matches(obj runtime.Object) bool {
	m := object.Meta(obj)
	if s.namespace != "" && m.GetNamespace() != s.namespace {
		return false
	}
	if !s.anyLabel && !s.label.Matches(labels.Set(m.GetLabels())) {
		return false
	}
	for _, r := range s.needs {
		v, _ := s.kind.Field(obj, r.Field)
		if (v == r.Value) == (r.Operator == "!=") {
			return false
		}
	}
	return true
}

// String is the selector for the trace.
func (s *Selector) String() string {
	out := ""
	if s.namespace != "" {
		out = "namespace=" + s.namespace
	}
	if !s.anyLabel {
		out = join(out, s.label.String())
	}
	if !s.field.Empty() {
		out = join(out, s.field.String())
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
func (s *Selector) trigger() (string, bool) {
	if s.kind.Trigger == "" {
		return "", false
	}
	return s.field.RequiresExactMatch(s.kind.Trigger)
}
