package admission

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Resources are those that the rules of policies or webhooks name.
type Resources struct {
	any   bool            // a rule names "*"
	named map[string]bool // without the subresource
}

// Add adds those of a webhook's rules.
func (s *Resources) Add(rules []admissionv1.RuleWithOperations) {
	for _, rule := range rules {
		for _, name := range rule.Resources {
			name, _, _ = strings.Cut(name, "/")
			if name == "*" {
				s.any = true
				continue
			}
			if s.named == nil {
				s.named = map[string]bool{}
			}
			s.named[name] = true
		}
	}
}

// AddNamed adds those of a policy's rules.
func (s *Resources) AddNamed(rules []admissionv1.NamedRuleWithOperations) {
	if len(rules) == 0 {
		s.any = true // no rules match everything
	}
	for _, rule := range rules {
		s.Add([]admissionv1.RuleWithOperations{rule.RuleWithOperations})
	}
}

// Concern reports whether a request may be for one of them. The objects that configure
// admission are exempt, or a bad one could not be taken away.
func (s *Resources) Concern(a *Attributes) bool {
	return (s.any || s.named[a.SentResource.Resource]) && (a.Custom || a.Kind.Group != admissionv1.GroupName)
}
