// Package webhook is dynamic admission by webhooks: the plugins
// MutatingAdmissionWebhook and ValidatingAdmissionWebhook (apiserver
// pkg/admission/plugin/webhook). The cluster's webhook configurations say which
// servers are asked about which requests. The dispatchers are ports, because
// upstream's use goroutines and HTTP clients; they call upstream's predicates,
// request builder, response checks and errors.
//
// Start reading at [Hooks].
package webhook

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace"
	"k8s.io/apiserver/pkg/cel/environment"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authz"
	webhookclient "kviz/cluster/apiserver/webhook"
	"kviz/cluster/client"
)

// Hooks are the webhook configurations of the cluster, indexed. The index is rebuilt
// by the first request after one of them has changed; while there are none, a request
// costs one look-up.
type Hooks struct {
	lister     admission.Lister
	authorizer authz.InContext // that match conditions ask
	client     *webhookclient.Client

	stale                bool
	mutating, validating []webhook.WebhookAccessor
	mutates, validates   admission.Resources // what they are about

	accessors map[string]configuration // by kind and name of the configuration
	compiler  cel.ConditionCompiler    // of match conditions; made on first use
	names     *namespace.Matcher
}

// configuration is a webhook configuration's webhooks as of a revision.
type configuration struct {
	revision string
	hooks    []webhook.WebhookAccessor
}

// NewHooks begins with none.
func NewHooks(l admission.Lister, by authz.Decider, c *webhookclient.Client) *Hooks {
	return &Hooks{
		lister: l, authorizer: authz.InContext{Decider: by}, client: c, accessors: map[string]configuration{},
		names: &namespace.Matcher{NamespaceLister: admission.Namespaces(l), Client: admission.NoClient{}},
	}
}

// Changed makes the next request rebuild the index: a configuration has changed.
func (h *Hooks) Changed() { h.stale = true }

// objectsOf are the objects of a kind in the order of their names, by which
// webhooks are called (configuration/mutating_webhook_manager.go
// MutatingWebhookConfigurationSorter).
func (h *Hooks) objectsOf(r client.Resource) (out []runtime.Object) {
	h.lister.Each(r, "", func(obj runtime.Object) bool {
		out = append(out, obj)
		return true
	})
	return out
}

// refresh brings the index up to date.
func (h *Hooks) refresh() {
	if !h.stale {
		return
	}
	h.stale = false
	h.mutates, h.validates = admission.Resources{}, admission.Resources{}
	h.mutating, h.validating = nil, nil
	kept := map[string]configuration{}
	for _, obj := range h.objectsOf(client.MutatingWebhookConfigurations) {
		c := obj.(*admissionv1.MutatingWebhookConfiguration)
		h.mutating = append(h.mutating, h.accessorsOf(kept, "m/"+c.Name, c.ResourceVersion, func() (out []webhook.WebhookAccessor) {
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
		h.validating = append(h.validating, h.accessorsOf(kept, "v/"+c.Name, c.ResourceVersion, func() (out []webhook.WebhookAccessor) {
			uids := accessorUIDs(c.Name)
			for i := range c.Webhooks {
				w := &c.Webhooks[i]
				out = append(out, webhook.NewValidatingWebhookAccessor(uids(w.Name), c.Name, w))
			}
			return out
		})...)
	}
	h.accessors = kept
	for _, w := range h.mutating {
		h.mutates.Add(w.GetRules())
	}
	for _, w := range h.validating {
		h.validates.Add(w.GetRules())
	}
}

// accessorsOf keeps the accessors of a configuration that has not changed, with
// the selectors and conditions they have compiled.
func (h *Hooks) accessorsOf(kept map[string]configuration, key, revision string, make func() []webhook.WebhookAccessor) []webhook.WebhookAccessor {
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
func (h *Hooks) conditions() cel.ConditionCompiler {
	if h.compiler == nil {
		h.compiler = cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	}
	return h.compiler
}

// Mutating are the mutating webhooks in the order in which they are asked.
func (h *Hooks) Mutating() []webhook.WebhookAccessor {
	h.refresh()
	return h.mutating
}
