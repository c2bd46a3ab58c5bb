package apiserver

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	quotaplugin "k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/authentication/user"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/quota"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The ResourceQuota plugin (apiserver pkg/admission/plugin/resourcequota), the last
// of all: what it charges would have to be given back if anybody after it refused.
// It compares what the object uses with what the quotas of its namespace leave, and
// writes the new use into their status, each at the revision it was read at: so two
// API servers cannot sell the last place twice. Requests for one namespace wait for
// one another, and those that waited together are charged together.
//
// What fits and what is said is decided by upstream's CheckRequest.

// quotaTries is how often a charge is tried again when the quota was written
// meanwhile (checkAttributes).
const quotaTries = 3

// quotaWait is how long a request waits for its turn.
const quotaWait = 10 * time.Second

// quotas is the plugin's state.
type quotas struct {
	registry quotav1.Registry
	turns    map[string]*turn                 // by namespace
	written  map[string]*corev1.ResourceQuota // by key: what the plugin wrote and the cache may not have yet
}

// turn is those requests of one namespace that are to be charged.
type turn struct {
	taken   bool // somebody is charging
	waiting []*charge
	next    sim.Cond
}

// charge is a request that is to be charged.
type charge struct {
	c     *call
	attrs admission.Attributes
	eval  quotav1.Evaluator
	over  bool
	err   error
	note  string
}

func newQuotas(s *Server) *quotas {
	return &quotas{
		registry: quota.NewRegistry(nil, quota.Clock{Time: s.k.Now}),
		turns:    map[string]*turn{}, written: map[string]*corev1.ResourceQuota{},
	}
}

// checkQuota is the plugin's Validate.
func checkQuota(c *call, op operation) (string, []trace.FieldDiff, error) {
	if op == opDelete || c.Ref.Namespace == "" || c.kind.Is("Namespace") {
		return "", nil, nil
	}
	held, err := c.quotas()
	if err != nil {
		return "", nil, err
	}
	if len(held) == 0 && len(c.s.cfg.LimitedResources) == 0 {
		return "", nil, nil
	}
	ch := &charge{c: c, attrs: c.admissionAttributes(op), eval: quota.For(c.s.quotas.registry, nil, c.kind.GroupVersionResource)}
	if ch.eval == nil || !ch.eval.Handles(ch.attrs) {
		return "", nil, nil
	}
	if err := c.takeTurn(ch); err != nil {
		return "", nil, err
	}
	return ch.note, nil, ch.err
}

// takeTurn waits until ch is charged or refused, or does it, for all who wait with
// it (Evaluate, doWork).
func (c *call) takeTurn(ch *charge) error {
	at := c.s.quotas.turns[c.Ref.Namespace]
	if at == nil {
		at = &turn{}
		c.s.quotas.turns[c.Ref.Namespace] = at
	}
	at.waiting = append(at.waiting, ch)
	for end := c.Task.Elapsed() + quotaWait; at.taken && !ch.over; {
		left := end - c.Task.Elapsed()
		if left <= 0 {
			return apierrors.NewInternalError(fmt.Errorf("resource quota evaluation timed out"))
		}
		at.next.WaitTimeout(c.Task, left)
	}
	if ch.over {
		return nil
	}
	at.taken = true
	batch := at.waiting
	at.waiting = nil
	c.chargeAll(batch)
	for _, one := range batch {
		one.over = true
	}
	at.taken = false
	at.next.Broadcast()
	return nil
}

// chargeAll charges a batch (checkAttributes).
func (c *call) chargeAll(batch []*charge) {
	held, err := c.quotas()
	if err != nil {
		for _, ch := range batch {
			ch.err = err
		}
		return
	}
	if len(held) == 0 && len(c.s.cfg.LimitedResources) == 0 {
		return
	}
	c.chargeTo(held, batch, quotaTries)
}

// chargeTo finds out for each request of the batch whether it fits all quotas,
// together with those before it, and then writes what changed. What somebody else
// has written meanwhile is read and tried again (checkQuotas).
func (c *call) chargeTo(held []corev1.ResourceQuota, batch []*charge, tries int) {
	before := slices.Clone(held)
	var charged []*charge
	for _, ch := range batch {
		after, err := quotaplugin.CheckRequest(held, ch.attrs, ch.eval, c.s.cfg.LimitedResources)
		switch {
		case err != nil:
			ch.err = err
		case ch.attrs.IsDryRun():
			ch.err = nil
		default:
			if note := chargedNote(held, after); note != "" {
				ch.note = note
				charged = append(charged, ch)
			}
			held = after
		}
	}
	if len(charged) == 0 {
		return
	}
	failed := map[string]bool{}
	var lastErr error
	for i := range held {
		if quotav1.Equals(before[i].Status.Used, held[i].Status.Used) {
			continue
		}
		if err := c.writeUse(&held[i], charged); err != nil {
			failed[held[i].Name], lastErr = true, err
		}
	}
	if len(failed) == 0 {
		return
	}
	newer, err := c.quotas()
	if tries <= 0 || err != nil {
		for _, ch := range charged {
			ch.err, ch.note = lastErr, ""
		}
		return
	}
	newer = slices.DeleteFunc(newer, func(q corev1.ResourceQuota) bool { return !failed[q.Name] })
	c.chargeTo(newer, charged, tries-1)
}

// writeUse writes a quota's status, as a request of the API server to itself
// (quotaAccessor UpdateQuotaStatus).
func (c *call) writeUse(q *corev1.ResourceQuota, because []*charge) error {
	causes := []trace.ID{c.Last}
	for _, ch := range because {
		if ch.c != c {
			causes = append(causes, ch.c.Last)
		}
	}
	resp := c.s.serve(c.Task, &Request{
		Verb: "update", Resource: client.ResourceQuotas.GroupVersionResource, Subresource: "status", Namespace: q.Namespace, Name: q.Name,
		User: &authn.User{Name: "system:apiserver", Groups: []string{authn.Masters}}, Client: "apiserver", Causes: causes, Object: q, System: true,
	})
	if resp.Err != nil {
		return resp.Err
	}
	if now, ok := resp.Object.(*corev1.ResourceQuota); ok {
		c.s.quotas.written[q.Namespace+"/"+q.Name] = now
	}
	return nil
}

// quotas are copies of the quotas in the request's namespace, the newest there
// is to know of each (GetQuotas, checkCache).
func (c *call) quotas() ([]corev1.ResourceQuota, error) {
	var out []corev1.ResourceQuota
	written := c.s.quotas.written
	err := c.newest(client.ResourceQuotas, c.Ref.Namespace, func(obj runtime.Object) {
		q := obj.(*corev1.ResourceQuota)
		key := q.Namespace + "/" + q.Name
		if w := written[key]; w != nil {
			if newer(w, q) && w.UID == q.UID {
				q = w
			} else {
				delete(written, key)
			}
		}
		out = append(out, *q)
	})
	return out, err
}

// newer reports whether a's revision is greater than b's.
func newer(a, b runtime.Object) bool {
	x, errX := object.ParseRevision(object.Meta(a).GetResourceVersion())
	y, errY := object.ParseRevision(object.Meta(b).GetResourceVersion())
	return errX == nil && errY == nil && x > y
}

// chargedNote tells what a request was charged: "" for nothing.
func chargedNote(before, after []corev1.ResourceQuota) string {
	var parts []string
	for i := range after {
		if quotav1.Equals(before[i].Status.Used, after[i].Status.Used) {
			continue
		}
		var items []string
		for _, name := range sortedResources(after[i].Status.Used) {
			was, is, most := before[i].Status.Used[name], after[i].Status.Used[name], after[i].Status.Hard[name]
			if was.Cmp(is) != 0 {
				items = append(items, fmt.Sprintf("%s from %s to %s of %s", name, was.String(), is.String(), most.String()))
			}
		}
		parts = append(parts, "quota "+after[i].Name+": "+strings.Join(items, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "charged " + strings.Join(parts, "; ") + "."
}

// admissionAttributes are the request as upstream's plugins see it.
func (c *call) admissionAttributes(op operation) admission.Attributes {
	name := c.Ref.Name
	if c.obj != nil && name == "" {
		name = object.Meta(c.obj).GetName()
	}
	return admission.NewAttributesRecord(c.obj, c.old, c.kind.GVK(), c.Ref.Namespace, name, c.kind.GroupVersionResource, c.req.Subresource,
		admission.Operation(op), nil, c.req.DryRun, &user.DefaultInfo{Name: c.user.Name, UID: c.user.UID, Groups: c.user.Groups})
}
