// Package audit is the API server's audit log: a line for each stage of each
// request that the audit policy asks for, saying who wanted what, from where,
// and how it ended.
//
// The policy is Kubernetes' audit.k8s.io/v1 Policy, read, validated and evaluated by
// its own code (apiserver pkg/audit/policy); the events are its types, encoded by its
// codec (plugin/pkg/audit/log). What upstream takes from the machine's clock or an
// HTTP request (pkg/audit/request.go, context.go) is an argument here, so the log of
// a run is the same byte for byte each time.
//
// Simplified: the log backend alone, in JSON and blocking mode; no webhook
// backend, no batches, no truncation; the log is rotated by size only and is
// held in memory, which bounds it.
//
// Start reading at [Parse] and [Policy.Evaluate], then [Begin] and [Log].
package audit

import (
	"crypto/sha256"
	"fmt"
	"strings"

	auditapi "k8s.io/apiserver/pkg/apis/audit"
	upstream "k8s.io/apiserver/pkg/audit"
	auditpolicy "k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "the audit log has the log backend alone, in JSON and blocking mode, rotated by size and held in memory; there is no webhook backend, no batching, no truncation",
})

// PolicyFile is where the API server has its policy: the argument of
// kube-apiserver --audit-policy-file in Kubernetes' documentation.
const PolicyFile = "/etc/kubernetes/audit-policy.yaml"

// Policy is a policy that was read and found valid.
type Policy struct {
	Hash  string // of the file: "sha256:…"
	rules []rule
	none  upstream.RequestAuditConfig // what applies where no rule matches
}

// rule is one rule with an evaluator of its own: upstream's says which level
// applies, and not which rule said so.
type rule struct {
	auditapi.PolicyRule
	upstream.PolicyRuleEvaluator
}

// matched is the level that stands in a rule's place in its own evaluator, so
// that a rule of level None that matches differs from one that does not.
const matched auditapi.Level = "matched"

// Parse reads a file's content. Errors are in upstream's words. As upstream it
// accepts fields it does not know.
func Parse(data []byte) (*Policy, error) {
	internal, err := auditpolicy.LoadPolicyFromBytes(data)
	if err != nil {
		return nil, fmt.Errorf("loading audit policy file: %w: from file %v", err, PolicyFile)
	}
	p := &Policy{Hash: fmt.Sprintf("sha256:%x", sha256.Sum256(data))}
	p.none = auditpolicy.NewPolicyRuleEvaluator(&auditapi.Policy{OmitStages: internal.OmitStages, OmitManagedFields: internal.OmitManagedFields}).
		EvaluatePolicyRule(authorizer.AttributesRecord{})
	for _, r := range internal.Rules {
		alone := *r.DeepCopy()
		alone.Level = matched
		p.rules = append(p.rules, rule{r, auditpolicy.NewPolicyRuleEvaluator(&auditapi.Policy{
			OmitStages: internal.OmitStages, OmitManagedFields: internal.OmitManagedFields, Rules: []auditapi.PolicyRule{alone},
		})})
	}
	return p, nil
}

// Verdict is a policy's decision on a request.
type Verdict struct {
	upstream.RequestAuditConfig
	Rule int // the first rule that matched, from 1; 0 where none did
}

// Evaluate finds the first rule that matches.
func (p *Policy) Evaluate(a authorizer.Attributes) Verdict {
	for i := range p.rules {
		if cfg := p.rules[i].EvaluatePolicyRule(a); cfg.Level == matched {
			cfg.Level = p.rules[i].Level
			return Verdict{cfg, i + 1}
		}
	}
	return Verdict{p.none, 0}
}

// Omits reports whether events of a stage are left out.
func (v *Verdict) Omits(s auditapi.Stage) bool {
	for _, o := range v.OmitStages {
		if o == s {
			return true
		}
	}
	return false
}

// Rules tell the policy, a line a rule: "Metadata: secrets, configmaps".
func (p *Policy) Rules() []string {
	var out []string
	for i := range p.rules {
		out = append(out, describe(&p.rules[i].PolicyRule))
	}
	return out
}

func describe(r *auditapi.PolicyRule) string {
	var parts []string
	add := func(before string, words []string) {
		if len(words) > 0 {
			parts = append(parts, before+strings.Join(words, ", "))
		}
	}
	add("", r.Verbs)
	var resources []string
	for _, g := range r.Resources {
		group := g.Group
		if group != "" {
			group += "/"
		}
		if len(g.Resources) == 0 {
			resources = append(resources, group+"*")
		}
		for _, name := range g.Resources {
			resources = append(resources, group+name)
		}
		add("named ", g.ResourceNames)
	}
	add("", resources)
	add("in ", r.Namespaces)
	add("", r.NonResourceURLs)
	add("by ", r.Users)
	add("by ", r.UserGroups)
	add("without ", stageNames(r.OmitStages))
	if len(parts) == 0 {
		parts = []string{"everything"}
	}
	return string(r.Level) + ": " + strings.Join(parts, "; ")
}

func stageNames(stages []auditapi.Stage) []string {
	var out []string
	for _, s := range stages {
		out = append(out, string(s))
	}
	return out
}
