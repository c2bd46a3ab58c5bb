package fairness

import (
	"slices"
	"strings"

	flowcontrol "k8s.io/api/flowcontrol/v1"
)

// Digest is what is known of a request when it is classified.
type Digest struct {
	User        string
	Groups      []string
	Verb        string
	Group       string // of the API
	Resource    string // "" for a request that is for none
	Subresource string
	Namespace   string
	Path        string // of a request that is for no resource
}

// Match finds the first schema that a request matches (apf_controller.go
// startRequest; rule.go).
func (c *Controller) Match(d *Digest) *Schema {
	for _, s := range c.schemas {
		for i := range s.Spec.Rules {
			if matchesRule(d, &s.Spec.Rules[i]) {
				return s
			}
		}
	}
	return c.catchAll // of a user without any group
}

func matchesRule(d *Digest, r *flowcontrol.PolicyRulesWithSubjects) bool {
	// The subject is asked last: it takes longest.
	if d.Resource != "" {
		for i := range r.ResourceRules {
			if matchesResource(d, &r.ResourceRules[i]) {
				return matchesSubject(d, r.Subjects)
			}
		}
		return false
	}
	for i := range r.NonResourceRules {
		if matchesPath(d, &r.NonResourceRules[i]) {
			return matchesSubject(d, r.Subjects)
		}
	}
	return false
}

func matchesSubject(d *Digest, subjects []flowcontrol.Subject) bool {
	for i := range subjects {
		switch s := &subjects[i]; {
		case s.Kind == flowcontrol.SubjectKindUser && s.User != nil:
			if s.User.Name == flowcontrol.NameAll || s.User.Name == d.User {
				return true
			}
		case s.Kind == flowcontrol.SubjectKindGroup && s.Group != nil:
			if s.Group.Name == "*" || slices.Contains(d.Groups, s.Group.Name) {
				return true
			}
		case s.Kind == flowcontrol.SubjectKindServiceAccount && s.ServiceAccount != nil:
			rest, ok := strings.CutPrefix(d.User, "system:serviceaccount:")
			if !ok {
				continue
			}
			namespace, name, _ := strings.Cut(rest, ":")
			if namespace == s.ServiceAccount.Namespace && (s.ServiceAccount.Name == flowcontrol.NameAll || s.ServiceAccount.Name == name) {
				return true
			}
		}
	}
	return false
}

func matchesResource(d *Digest, r *flowcontrol.ResourcePolicyRule) bool {
	if !has(r.Verbs, d.Verb, flowcontrol.VerbAll) || !has(r.APIGroups, d.Group, flowcontrol.APIGroupAll) {
		return false
	}
	if !all(r.Resources, flowcontrol.ResourceAll) {
		resource := d.Resource
		if d.Subresource != "" {
			resource += "/" + d.Subresource
		}
		if !slices.Contains(r.Resources, resource) {
			return false
		}
	}
	if d.Namespace == "" {
		return r.ClusterScope
	}
	return has(r.Namespaces, d.Namespace, flowcontrol.NamespaceEvery)
}

func matchesPath(d *Digest, r *flowcontrol.NonResourcePolicyRule) bool {
	if !has(r.Verbs, d.Verb, flowcontrol.VerbAll) {
		return false
	}
	for _, rule := range r.NonResourceURLs {
		if rule == flowcontrol.NonResourceAll || rule == d.Path {
			return true
		}
		prefix := strings.TrimSuffix(rule, "*")
		if !strings.HasSuffix(prefix, "/") {
			prefix += "/"
		}
		if strings.HasPrefix(d.Path, prefix) {
			return true
		}
	}
	return false
}

func all(list []string, wildcard string) bool { return len(list) == 1 && list[0] == wildcard }

func has(list []string, x, wildcard string) bool {
	return all(list, wildcard) || slices.Contains(list, x)
}
