package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/flowcontrol"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func (w *world) flowSchema(task *sim.Task, name string) *flowcontrolv1.FlowSchema {
	obj, err := w.admin().Get(task, client.FlowSchemas, "", name)
	w.must(err)
	return obj.(*flowcontrolv1.FlowSchema)
}

// tenantObjects are a priority level of a tenant's own, and the schema that leads
// there.
func tenantObjects(user string) (*flowcontrolv1.FlowSchema, *flowcontrolv1.PriorityLevelConfiguration) {
	pl := bootstrap.SuggestedPriorityLevelConfigurationWorkloadLow.DeepCopy()
	pl.ObjectMeta = metav1.ObjectMeta{Name: "tenant"}
	fs := bootstrap.SuggestedFlowSchemaGlobalDefault.DeepCopy()
	fs.ObjectMeta = metav1.ObjectMeta{Name: "tenant"}
	fs.Spec.PriorityLevelConfiguration.Name, fs.Spec.MatchingPrecedence = "tenant", 500
	for i := range fs.Spec.Rules {
		fs.Spec.Rules[i].Subjects = []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: user}}}
	}
	return fs, pl
}

// The objects of a new cluster cost nothing until somebody asks for one; then they
// are all there, with the UIDs that answers' headers had all the time.
func TestFlowObjectsOnDemand(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		before := w.s.Handle(task, listPods(person("alice"))).Flow
		revision := w.s.Store().Revision()
		if w.s.caches.InUse(registry.KindFor(client.FlowSchemas.GroupVersionResource)) {
			t.Error("nobody has used FlowSchemas, and yet they are in use")
		}
		fs := w.flowSchema(task, "global-default")
		if fs.UID != before.SchemaUID || fs.Generation != 1 || len(fs.Status.Conditions) != 1 || fs.Status.Conditions[0].Status != flowcontrolv1.ConditionFalse {
			t.Errorf("%+v; answers were of %+v", fs, before)
		}
		schemas, _, err := w.admin().List(task, client.FlowSchemas, "", metav1.ListOptions{})
		w.must(err)
		levels, _, err := w.admin().List(task, client.PriorityLevels, "", metav1.ListOptions{})
		w.must(err)
		if len(schemas) != 11 || len(levels) != 8 {
			t.Errorf("%d schemas and %d levels", len(schemas), len(levels))
		}
		if now := w.s.Store().Revision(); now != revision+1 {
			t.Errorf("they came with %d transactions", now-revision)
		}
		task.Sleep(10 * time.Minute)
		if now := w.s.Store().Revision(); now != revision+1 {
			t.Errorf("and %d more writes in ten minutes", now-revision-1)
		}
		w.restart(task)
		if after := w.s.Handle(task, listPods(person("alice"))).Flow; after != before {
			t.Errorf("the new process answers of %+v", after)
		}
	})
}

// Who makes a FlowSchema has the next requests go by it; its status says whether
// its level is there.
func TestFlowSchemaIsFollowed(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		fs, pl := tenantObjects("alice")
		class := func(user string) string {
			f := w.s.Handle(task, listPods(person(user))).Flow
			return f.Schema + " " + f.Level
		}
		made, err := w.admin().Create(task, client.FlowSchemas, "", fs)
		w.must(err)
		task.Sleep(10 * time.Millisecond)
		if got := class("alice"); got != "global-default global-default" {
			t.Errorf("with a schema without a level alice is of %s", got)
		}
		cond := func() string {
			c := w.flowSchema(task, "tenant").Status.Conditions
			return fmt.Sprint(len(c), " ", c[0].Type, " ", c[0].Status, " ", c[0].Reason)
		}
		if got := cond(); got != "1 Dangling True NotFound" {
			t.Error(got)
		}
		_, err = w.admin().Create(task, client.PriorityLevels, "", pl)
		w.must(err)
		task.Sleep(10 * time.Millisecond)
		if got := class("alice") + ", " + class("bob"); got != "tenant tenant, global-default global-default" {
			t.Errorf("alice and bob are of %s", got)
		}
		if got := cond(); got != "1 Dangling False Found" {
			t.Error(got)
		}
		if f := w.s.Handle(task, listPods(person("alice"))).Flow; f.SchemaUID != object.Meta(made).GetUID() {
			t.Errorf("the answer is of %+v", f)
		}
		w.must(w.admin().Delete(task, client.PriorityLevels, "", "tenant", metav1.DeleteOptions{}))
		task.Sleep(10 * time.Millisecond)
		if got := class("alice") + ", " + cond(); got != "global-default global-default, 1 Dangling True NotFound" {
			t.Errorf("when its level is deleted: %s", got)
		}
	})
}

// What must be there is put back within a minute; what is suggested, if its
// annotation says so, or if it was deleted.
func TestFlowObjectsPutBack(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		patch := func(r client.Resource, name, doc string) {
			resp := w.ask(task, &request.Request{Verb: "patch", Resource: r.GroupVersionResource, Name: name, PatchType: "application/merge-patch+json", Patch: []byte(doc)})
			w.must(resp.Err)
		}
		shares := func(name string) int32 {
			obj, err := w.admin().Get(task, client.PriorityLevels, "", name)
			w.must(err)
			return *obj.(*flowcontrolv1.PriorityLevelConfiguration).Spec.Limited.NominalConcurrencyShares
		}
		task.Sleep(20 * time.Second)
		w.flowSchema(task, "exempt") // the first use: the minutes count from here
		patch(client.PriorityLevels, "catch-all", `{"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":"false"}}}`)
		patch(client.PriorityLevels, "system", `{"spec":{"limited":{"nominalConcurrencyShares":31}}}`)
		patch(client.PriorityLevels, "workload-low", `{"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":"false"}},"spec":{"limited":{"nominalConcurrencyShares":101}}}`)
		w.must(w.admin().Delete(task, client.FlowSchemas, "", "exempt", metav1.DeleteOptions{}))
		w.must(w.admin().Delete(task, client.FlowSchemas, "", "probes", metav1.DeleteOptions{}))
		fs, _ := tenantObjects("alice")
		fs.Annotations = map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"}
		_, err := w.admin().Create(task, client.FlowSchemas, "", fs)
		w.must(err)
		task.Sleep(10 * time.Millisecond)
		admin := w.s.Handle(task, w.listAsAdmin())
		if admin.Flow.Schema != "exempt" || admin.Flow.SchemaUID != "" {
			t.Errorf("without its schema the administrator is of %+v", admin.Flow)
		}
		task.Sleep(time.Minute)
		if got := fmt.Sprint(shares("system"), " ", shares("workload-low")); got != "30 101" {
			t.Errorf("after a minute the shares are %s; want 30 101", got)
		}
		if all, err := w.admin().Get(task, client.PriorityLevels, "", "catch-all"); err != nil || object.Meta(all).GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey] != "true" {
			t.Errorf("catch-all is as somebody left it: %v", err)
		}
		if exempt := w.flowSchema(task, "exempt"); exempt.UID == "" || exempt.Annotations[flowcontrolv1.AutoUpdateAnnotationKey] != "true" {
			t.Errorf("%+v", exempt)
		}
		w.flowSchema(task, "probes")
		if _, err := w.admin().Get(task, client.FlowSchemas, "", "tenant"); err == nil {
			t.Error("a schema that says it belongs to a new cluster, and does not, is still there")
		}
		revision := w.s.Store().Revision()
		task.Sleep(10 * time.Minute)
		if now := w.s.Store().Revision(); now != revision {
			t.Errorf("%d writes in the ten minutes after", now-revision)
		}
	})
}

func (w *world) listAsAdmin() *request.Request {
	r := listPods(person("admin"))
	r.User.Groups = []string{"system:masters"}
	return r
}

// A level that wants more than its share gets what others do not want, after ten
// seconds at most; the trace tells of it, and of nothing where nobody waits.
func TestSeatsAreBorrowed(t *testing.T) {
	slow := DefaultCost
	slow.Respond = time.Second
	w := run(t, Config{Cost: slow}, func(w *world, task *sim.Task) {
		task.Sleep(time.Minute)
		w.must(w.s.Seats().SetConcurrency(task, 30))
		flowcontrol.Storm(task, w.s, listPods(person("alice")), 60)
		task.Sleep(time.Minute)
		w.s.Handle(task, listPods(person("alice")))
	})
	var told []string
	for _, e := range w.sink.events {
		if p, ok := e.Payload.(*trace.FlowLimits); ok {
			i := slices.IndexFunc(p.Levels, func(l trace.FlowLimit) bool { return l.Level == "global-default" })
			l := p.Levels[i]
			told = append(told, fmt.Sprintf("%v %q: %d of %d seats, wanted %d, borrowed %d", e.At.Truncate(time.Second), p.Why, l.Limit, l.Nominal, l.Wanted, l.Borrowed()))
		}
	}
	golden(t, "borrowed", strings.Join(told, "\n")+"\n")
}

// What is dumped, and what is measured, while a storm waits.
func TestFlowDumps(t *testing.T) {
	var out strings.Builder
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.must(w.s.Seats().SetConcurrency(task, 30))
		w.user.Go("storm", func(task *sim.Task) { flowcontrol.Storm(task, w.s, listPods(person("alice")), 12) })
		task.Sleep(50 * time.Microsecond)
		for _, dump := range []string{"dump_priority_levels", "dump_queues", "dump_requests"} {
			var all strings.Builder
			if !w.s.WriteFlows(&all, dump, true) {
				t.Errorf("there is no %s", dump)
			}
			fmt.Fprintf(&out, "%s\n", dump)
			for i, line := range strings.SplitAfter(all.String(), "\n") {
				if i == 0 || dump == "dump_priority_levels" || strings.HasPrefix(line, "global-default") && !strings.Contains(line, "0,               0,                 0,          0.00000000ss") {
					out.WriteString(line)
				}
			}
		}
		if w.s.WriteFlows(&out, "dump_everything", false) {
			t.Error("there is a dump that upstream does not have")
		}
		var all strings.Builder
		w.s.WriteMetrics(&all)
		for _, line := range strings.SplitAfter(all.String(), "\n") {
			if strings.Contains(line, `"global-default"`) || strings.HasPrefix(line, "# TYPE") {
				out.WriteString(line)
			}
		}
	})
	golden(t, "flow-dumps", out.String())
}

// A write of which many hear keeps seats for a while after it has been answered; a
// list takes as many as it needs memory.
func TestWorkOfRequests(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		big, err := json.Marshal(strings.Repeat("x", 9_000))
		w.must(err)
		for i := range 60 {
			cm := configMap(fmt.Sprint("c", i))
			cm.Data = map[string]string{"a": string(big)}
			_, err := w.admin().Create(task, client.ConfigMaps, "default", cm)
			w.must(err)
		}
		for i := range 25 {
			opts := metav1.ListOptions{}
			if i > 20 {
				opts.FieldSelector = "metadata.name=other"
			}
			_, err := w.admin().Watch(task, client.ConfigMaps, "default", opts)
			w.must(err)
		}
		of := func(r request.Request) string {
			r.Resource, r.Namespace = client.ConfigMaps.GroupVersionResource, "default"
			sch := w.s.fairness.Seats.Match(&fairness.Digest{
				User: "alice", Groups: []string{"system:authenticated"}, Verb: r.Verb, Resource: r.Resource.Resource, Subresource: r.Subresource, Namespace: r.Namespace,
			})
			return fmt.Sprintf("%+v", w.s.fairness.Work(&r, registry.KindFor(r.Resource), sch))
		}
		list := func(o metav1.ListOptions) request.Request { return request.Request{Verb: "list", List: o} }
		for _, x := range []struct {
			what string
			r    request.Request
			want string
		}{
			{"read", request.Request{Verb: "get", Name: "c1"}, "{Seats:1 Final:0 Latency:0s}"},
			{"list", list(metav1.ListOptions{}), "{Seats:6 Final:0 Latency:0s}"},
			{"page", list(metav1.ListOptions{Limit: 10}), "{Seats:1 Final:0 Latency:0s}"},
			{"second page", list(metav1.ListOptions{Limit: 30, Continue: "x"}), "{Seats:3 Final:0 Latency:0s}"},
			{"second page of few that match", list(metav1.ListOptions{Limit: 10, Continue: "x", LabelSelector: "a=b"}), "{Seats:3 Final:0 Latency:0s}"},
			{"list of one", list(metav1.ListOptions{FieldSelector: "metadata.name=c1"}), "{Seats:1 Final:0 Latency:0s}"},
			{"watch from now on", request.Request{Verb: "watch", List: metav1.ListOptions{ResourceVersion: "5"}}, "{Seats:1 Final:0 Latency:0s}"},
			{"watch of all", request.Request{Verb: "watch"}, "{Seats:6 Final:0 Latency:0s}"},
			{"creation", request.Request{Verb: "create"}, "{Seats:1 Final:3 Latency:5ms}"},
			{"update", request.Request{Verb: "update", Name: "other"}, "{Seats:1 Final:3 Latency:5ms}"},
			{"deletion of all", request.Request{Verb: "deletecollection"}, "{Seats:1 Final:0 Latency:0s}"},
		} {
			if got := of(x.r); got != x.want {
				t.Errorf("%s: %s, want %s", x.what, got, x.want)
			}
		}
	})
}
