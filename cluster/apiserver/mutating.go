package apiserver

import (
	"fmt"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/trace"
)

// operation is what a request does to an object, as admission plugins see it.
type operation string

const (
	opCreate operation = "CREATE"
	opUpdate operation = "UPDATE"
	opDelete operation = "DELETE"
)

// plugin is an admission plugin: it may change or refuse. It says in a
// sentence what it did; "" for nothing.
type plugin struct {
	name  string
	admit func(c *call, op operation) (note string, diff []trace.FieldDiff, err error)
}

// mutating are the plugins that may change an object, in the order of
// pkg/kubeapiserver/options/plugins.go AllOrderedPlugins.
var mutating = []plugin{
	{"NamespaceLifecycle", admitNamespaceLifecycle},
	{"LimitRanger", setLimits},
	{"ServiceAccount", admitServiceAccount},
	{"NodeRestriction", admitNodeRestriction},
	{"TaintNodesByCondition", admitTaintNodes},
	{"Priority", admitPriority},
	{"DefaultTolerationSeconds", admitTolerations},
	{"DefaultStorageClass", admitStorageClass},
	{"StorageObjectInUseProtection", protectStorage},
	{"RuntimeClass", admitRuntimeClass},
	{"DefaultIngressClass", admitIngressClass},
	{"PodTopologyLabels", admitTopology},
}

// mutate is the mutating admission stage.
func (c *call) mutate(op operation) error {
	c.Ref.UID = c.uid()
	if err := c.mayCreateCustom(op); err != nil {
		return c.Refuse(trace.StageMutatingAdmission, "", err)
	}
	by, note := "", ""
	var diff []trace.FieldDiff
	for i := range mutating {
		p := &mutating[i]
		did, d, err := p.admit(c, op)
		if err != nil {
			return c.Refuse(trace.StageMutatingAdmission, p.name, err)
		}
		if did == "" {
			continue
		}
		by, note = join2(by, ", ", p.name), join2(note, " ", p.name+": "+did)
		if diff == nil {
			diff = d
		} else {
			diff = append(diff, d...)
		}
	}
	if note == "" {
		note = "No admission plugin changes anything."
	}
	c.Pass(trace.StageMutatingAdmission, by, note, diff)
	return c.mutateByHooks(op)
}

func join2(a, sep, b string) string {
	if a == "" {
		return b
	}
	return a + sep + b
}

// uid is the UID of the object the request is about, once known.
func (c *call) uid() string {
	if c.old != nil {
		return string(object.Meta(c.old).GetUID())
	}
	if c.obj != nil {
		return string(object.Meta(c.obj).GetUID())
	}
	return ""
}

// validating are the plugins that only look, in the same order.
var validating = []plugin{
	{"LimitRanger", checkLimits},
	{"NodeRestriction", admitNodeRestriction},
	{"ImagePolicyWebhook", checkImages},
	{"PodSecurity", checkPodSecurity},
	{"Priority", checkPriorityClass},
	{"EventRateLimit", checkEventRate},
	{"PersistentVolumeClaimResize", checkResize},
	{"RuntimeClass", checkRuntimeClass},
	{"CertificateApproval", checkApproval},
	{"CertificateSigning", checkSigning},
	{"CertificateSubjectRestriction", checkSubject},
	{"ValidatingAdmissionPolicy", admitPolicies},
	{"ValidatingAdmissionWebhook", admitWebhooks},
}

// lastPlugin comes after all others, the webhooks too: what it charges would have
// to be given back if one of them refused.
func lastPlugin() *plugin { return &plugin{"ResourceQuota", checkQuota} }

// admit is the validating admission stage.
func (c *call) admit(op operation) error {
	by, note := "", ""
	ask := func(p *plugin) error {
		did, _, err := p.admit(c, op)
		if err != nil {
			c.release()
			return c.Refuse(trace.StageValidatingAdmission, p.name, err)
		}
		if did != "" {
			by, note = join2(by, ", ", p.name), join2(note, " ", p.name+": "+did)
		}
		return nil
	}
	for i := range validating {
		if err := ask(&validating[i]); err != nil {
			return err
		}
	}
	if err := ask(lastPlugin()); err != nil {
		return err
	}
	if note == "" {
		note = "No admission plugin objects."
	}
	c.Pass(trace.StageValidatingAdmission, by, note, nil)
	return nil
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }
