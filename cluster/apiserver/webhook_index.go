package apiserver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace"
	"k8s.io/apiserver/pkg/cel/environment"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// hooks is dynamic admission: what the webhook configurations and the admission
// policies in the caches come to. It is made anew when a request asks after one of
// them has changed; while there are none, a request costs a look at two lengths.
type hooks struct {
	s     *Server
	rand  *rand.Rand // UIDs of admission reviews, choice among endpoints
	stale bool

	mutatingWebhooks   []webhook.WebhookAccessor
	validatingWebhooks []webhook.WebhookAccessor
	mutatingPolicies   []mutatingpolicy.PolicyHook
	validatingPolicies []validatingpolicy.PolicyHook

	mutates   resources // what they are about
	validates resources

	accessors map[string]configuration // by kind and name of the configuration
	compiled  map[string]compiledPolicy
	compiler  cel.ConditionCompiler // of webhooks' match conditions; made on first use
	names     *namespace.Matcher
	policies  *policyDispatchers // made on first use
}

// configuration is a webhook configuration's webhooks as of a revision.
type configuration struct {
	revision string
	hooks    []webhook.WebhookAccessor
}

func newHooks(s *Server) *hooks {
	h := &hooks{s: s, rand: s.stream("webhook"), accessors: map[string]configuration{}, compiled: map[string]compiledPolicy{}}
	h.names = &namespace.Matcher{NamespaceLister: namespaceLister{s}, Client: noClient{}}
	return h
}

// listen has the caches tell of changes.
func (h *hooks) listen() {
	for _, k := range registry.AdmissionKinds {
		h.s.caches[k].Changed = func(string, runtime.Object) { h.stale = true }
	}
}

// resources are those that rules name, all if one names "*".
type resources struct {
	any   bool
	named map[string]bool // without the subresource
}

func (r *resources) add(rules []admissionv1.RuleWithOperations) {
	for _, rule := range rules {
		for _, name := range rule.Resources {
			name, _, _ = strings.Cut(name, "/")
			if name == "*" {
				r.any = true
				continue
			}
			if r.named == nil {
				r.named = map[string]bool{}
			}
			r.named[name] = true
		}
	}
}

func (r *resources) addNamed(rules []admissionv1.NamedRuleWithOperations) {
	if len(rules) == 0 {
		r.any = true // no rules match everything
	}
	for _, rule := range rules {
		r.add([]admissionv1.RuleWithOperations{rule.RuleWithOperations})
	}
}

func (r *resources) has(name string) bool { return r.any || r.named[name] }

// refresh brings the index up to date.
func (h *hooks) refresh() {
	if !h.stale {
		return
	}
	h.stale = false
	h.mutates, h.validates = resources{}, resources{}
	h.mutatingWebhooks, h.validatingWebhooks = nil, nil
	h.rebuildWebhooks()
	h.rebuildPolicies()
}

// objectsOf are the objects of a kind in the order of their names, by which
// webhooks are called (configuration/mutating_webhook_manager.go
// MutatingWebhookConfigurationSorter).
func (h *hooks) objectsOf(r client.Resource) []runtime.Object {
	var out []runtime.Object
	h.s.caches[registry.KindFor(r.GroupVersionResource)].Scan("", func(_ string, en *cacher.Entry) bool {
		out = append(out, en.Object)
		return true
	})
	return out
}

func (h *hooks) rebuildWebhooks() {
	kept := map[string]configuration{}
	for _, obj := range h.objectsOf(client.MutatingWebhookConfigurations) {
		c := obj.(*admissionv1.MutatingWebhookConfiguration)
		h.mutatingWebhooks = append(h.mutatingWebhooks, h.accessorsOf(kept, "m/"+c.Name, c.ResourceVersion, func() (out []webhook.WebhookAccessor) {
			uids := accessorUIDs(c.Name)
			for i := range c.Webhooks {
				w := &c.Webhooks[i]
				out = append(out, webhook.NewMutatingWebhookAccessor(uids(w.Name), c.Name, w))
			}
			return out
		})...)
	}
	for _, obj := range h.objectsOf(client.ValidatingWebhookConfigurations) {
		c := obj.(*admissionv1.ValidatingWebhookConfiguration)
		h.validatingWebhooks = append(h.validatingWebhooks, h.accessorsOf(kept, "v/"+c.Name, c.ResourceVersion, func() (out []webhook.WebhookAccessor) {
			uids := accessorUIDs(c.Name)
			for i := range c.Webhooks {
				w := &c.Webhooks[i]
				out = append(out, webhook.NewValidatingWebhookAccessor(uids(w.Name), c.Name, w))
			}
			return out
		})...)
	}
	h.accessors = kept
	for _, w := range h.mutatingWebhooks {
		h.mutates.add(w.GetRules())
	}
	for _, w := range h.validatingWebhooks {
		h.validates.add(w.GetRules())
	}
}

// accessorsOf keeps the accessors of a configuration that has not changed, with
// the selectors and conditions they have compiled.
func (h *hooks) accessorsOf(kept map[string]configuration, key, revision string, make func() []webhook.WebhookAccessor) []webhook.WebhookAccessor {
	c, ok := h.accessors[key]
	if !ok || c.revision != revision {
		c = configuration{revision, make()}
	}
	kept[key] = c
	return c.hooks
}

// accessorUIDs tell webhooks of one name in a configuration apart.
func accessorUIDs(configuration string) func(name string) string {
	seen := map[string]int{}
	return func(name string) string {
		n := seen[name]
		seen[name]++
		return fmt.Sprintf("%s/%s/%d", configuration, name, n)
	}
}

// conditions compiles webhooks' match conditions.
func (h *hooks) conditions() cel.ConditionCompiler {
	if h.compiler == nil {
		h.compiler = cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	}
	return h.compiler
}

// hooked reports whether a request may concern hooks of a stage. The objects that
// configure admission are exempt, or a bad one could not be taken away.
func (c *call) hooked(r *resources, hooks int) bool {
	return hooks > 0 && r.has(c.req.Resource.Resource) && (c.kind.Custom != nil || !slices.Contains(registry.AdmissionKinds, c.kind))
}
