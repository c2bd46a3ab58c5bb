package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	quotaplugin "k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quotaconfig "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/quota"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// ResourceQuota is the plugin of that name (apiserver
// pkg/admission/plugin/resourcequota), the last of all: what it charges would have to be
// given back if anybody after it refused. It compares what the object uses with what the
// quotas of its namespace leave, and writes the new use into their status, each at the
// revision it was read at: so two API servers cannot sell the last place twice. Requests
// for one namespace wait for one another, and those that waited together are charged
// together.
//
// What fits and what is said is decided by upstream's CheckRequest.
type ResourceQuota struct {
	lister   Lister
	writer   QuotaWriter
	limited  []quotaconfig.LimitedResource // may be used only where a quota covers them
	registry quotav1.Registry
	turns    map[string]*turn                 // by namespace
	written  map[string]*corev1.ResourceQuota // by key: what the plugin wrote and the cache may not have yet
}

// QuotaWriter writes a quota's status, because of events.
type QuotaWriter interface {
	WriteUse(t *sim.Task, q *corev1.ResourceQuota, causes []trace.ID) (*corev1.ResourceQuota, error)
}

// NewResourceQuota makes the plugin.
func NewResourceQuota(l Lister, w QuotaWriter, limited []quotaconfig.LimitedResource, now func() time.Time) *ResourceQuota {
	return &ResourceQuota{
		lister: l, writer: w, limited: limited, registry: quota.NewRegistry(nil, quota.Clock{Time: now}),
		turns: map[string]*turn{}, written: map[string]*corev1.ResourceQuota{},
	}
}

// Name is [Plugin].
func (*ResourceQuota) Name() string { return "ResourceQuota" }

// quotaTries is how often a charge is tried again when the quota was written
// meanwhile (checkAttributes).
const quotaTries = 3

// quotaWait is how long a request waits for its turn.
const quotaWait = 10 * time.Second

// turn is those requests of one namespace that are to be charged.
type turn struct {
	taken   bool // somebody is charging
	waiting []*charge
	next    sim.Cond
}

// charge is a request that is to be charged.
type charge struct {
	r     *request.Scope
	attrs admission.Attributes
	eval  quotav1.Evaluator
	over  bool
	err   error
	note  string
}

// Validate is [Validating].
func (p *ResourceQuota) Validate(r *request.Scope, a *Attributes) (Result, error) {
	if a.Operation == Delete || a.Namespace == "" || a.Is("Namespace") {
		return Result{}, nil
	}
	held, err := p.quotas(r, a)
	if err != nil {
		return Result{}, err
	}
	if len(held) == 0 && len(p.limited) == 0 {
		return Result{}, nil
	}
	ch := &charge{r: r, attrs: a.Record(), eval: quota.For(p.registry, nil, a.Resource)}
	if ch.eval == nil || !ch.eval.Handles(ch.attrs) {
		return Result{}, nil
	}
	if err := p.takeTurn(r, a, ch); err != nil {
		return Result{}, err
	}
	return Result{Note: ch.note}, ch.err
}

// takeTurn waits until ch is charged or refused, or does it, for all who wait with
// it (Evaluate, doWork).
func (p *ResourceQuota) takeTurn(r *request.Scope, a *Attributes, ch *charge) error {
	at := p.turns[a.Namespace]
	if at == nil {
		at = &turn{}
		p.turns[a.Namespace] = at
	}
	at.waiting = append(at.waiting, ch)
	for end := r.Task.Elapsed() + quotaWait; at.taken && !ch.over; {
		left := end - r.Task.Elapsed()
		if left <= 0 {
			return apierrors.NewInternalError(fmt.Errorf("resource quota evaluation timed out"))
		}
		at.next.WaitTimeout(r.Task, left)
	}
	if ch.over {
		return nil
	}
	at.taken = true
	batch := at.waiting
	at.waiting = nil
	p.chargeAll(r, a, batch)
	for _, one := range batch {
		one.over = true
	}
	at.taken = false
	at.next.Broadcast()
	return nil
}

// chargeAll charges a batch (checkAttributes).
func (p *ResourceQuota) chargeAll(r *request.Scope, a *Attributes, batch []*charge) {
	held, err := p.quotas(r, a)
	if err != nil {
		for _, ch := range batch {
			ch.err = err
		}
		return
	}
	if len(held) == 0 && len(p.limited) == 0 {
		return
	}
	p.chargeTo(r, a, held, batch, quotaTries)
}

// chargeTo finds out for each request of the batch whether it fits all quotas,
// together with those before it, and then writes what changed. What somebody else
// has written meanwhile is read and tried again (checkQuotas).
func (p *ResourceQuota) chargeTo(r *request.Scope, a *Attributes, held []corev1.ResourceQuota, batch []*charge, tries int) {
	before := slices.Clone(held)
	var charged []*charge
	for _, ch := range batch {
		after, err := quotaplugin.CheckRequest(held, ch.attrs, ch.eval, p.limited)
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
		if err := p.writeUse(r, &held[i], charged); err != nil {
			failed[held[i].Name], lastErr = true, err
		}
	}
	if len(failed) == 0 {
		return
	}
	again, err := p.quotas(r, a)
	if tries <= 0 || err != nil {
		for _, ch := range charged {
			ch.err, ch.note = lastErr, ""
		}
		return
	}
	again = slices.DeleteFunc(again, func(q corev1.ResourceQuota) bool { return !failed[q.Name] })
	p.chargeTo(r, a, again, charged, tries-1)
}

// writeUse writes a quota's status (quotaAccessor UpdateQuotaStatus).
func (p *ResourceQuota) writeUse(r *request.Scope, q *corev1.ResourceQuota, because []*charge) error {
	causes := []trace.ID{r.Last}
	for _, ch := range because {
		if ch.r != r {
			causes = append(causes, ch.r.Last)
		}
	}
	now, err := p.writer.WriteUse(r.Task, q, causes)
	if err == nil && now != nil {
		p.written[q.Namespace+"/"+q.Name] = now
	}
	return err
}

// quotas are copies of the quotas in the request's namespace, the newest there
// is to know of each (GetQuotas, checkCache).
func (p *ResourceQuota) quotas(r *request.Scope, a *Attributes) ([]corev1.ResourceQuota, error) {
	all, err := newest[*corev1.ResourceQuota](r, a, p.lister, client.ResourceQuotas, a.Namespace)
	var out []corev1.ResourceQuota
	for _, q := range all {
		key := q.Namespace + "/" + q.Name
		if w := p.written[key]; w != nil {
			if newer(w, q) && w.UID == q.UID {
				q = w
			} else {
				delete(p.written, key)
			}
		}
		out = append(out, *q)
	}
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
		for _, name := range slices.Sorted(maps.Keys(after[i].Status.Used)) {
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
