package apiserver

import (
	"fmt"

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
	{"ServiceAccount", admitServiceAccount},
	{"NodeRestriction", admitNodeRestriction},
	{"TaintNodesByCondition", admitTaintNodes},
	{"Priority", admitPriority},
	{"DefaultTolerationSeconds", admitTolerations},
}

// mutate is the mutating admission stage.
func (c *call) mutate(op operation) error {
	c.ref.UID = c.uid()
	if err := c.mayCreateCustom(op); err != nil {
		return c.refuse(trace.StageMutatingAdmission, "", err)
	}
	by, note := "", ""
	var diff []trace.FieldDiff
	for i := range mutating {
		p := &mutating[i]
		did, d, err := p.admit(c, op)
		if err != nil {
			return c.refuse(trace.StageMutatingAdmission, p.name, err)
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
	c.pass(trace.StageMutatingAdmission, by, note, diff)
	return nil
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
		return string(metaOf(c.old).GetUID())
	}
	if c.obj != nil {
		return string(metaOf(c.obj).GetUID())
	}
	return ""
}

// validating are the plugins that only look.
var validating = []plugin{
	{"NodeRestriction", admitNodeRestriction},
	{"Priority", checkPriorityClass},
}

// admit is the validating admission stage.
func (c *call) admit(op operation) error {
	for i := range validating {
		p := &validating[i]
		if _, _, err := p.admit(c, op); err != nil {
			c.release()
			return c.refuse(trace.StageValidatingAdmission, p.name, err)
		}
	}
	c.pass(trace.StageValidatingAdmission, "", "No admission plugin objects.", nil)
	return nil
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }
