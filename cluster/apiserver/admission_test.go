package apiserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kviz/cluster/apiserver/request"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// admissions is the transcript of what admission plugins did, and how it ended.
func admissions(events []*trace.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.Stage:
			if p.By == "" || p.Stage != trace.StageMutatingAdmission && p.Stage != trace.StageValidatingAdmission {
				continue
			}
			fmt.Fprintf(&b, "    %s %s\n", p.Stage, p.Note)
			for _, d := range p.Diff {
				if strings.Contains(d.Path, "resources") || strings.Contains(d.Path, "annotations") {
					fmt.Fprintf(&b, "        %s: %s -> %s\n", d.Path, or(d.From, "nothing"), or(d.To, "nothing"))
				}
			}
		case *trace.Request, *trace.Response:
			b.WriteString(transcript([]*trace.Event{e}))
		}
	}
	return b.String()
}

// TestAdmission tells what the plugins do that limit what a namespace may have:
// LimitRanger, PodSecurity, ResourceQuota.
func TestAdmission(t *testing.T) {
	t.Parallel()
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		s := &story{w: w, t: task}
		step := func(title string, fn func()) {
			n := len(w.sink.events)
			fn()
			s.out.WriteString("## " + title + "\n" + admissions(w.sink.events[n:]) + "\n")
		}
		send := func(verb string, r client.Resource, name, body string) func() {
			return func() {
				req := &request.Request{Verb: verb, Resource: r.GroupVersionResource, Name: name}
				if r.Namespaced {
					req.Namespace = "default"
				}
				if verb == "patch" {
					req.PatchType, req.Patch = "application/merge-patch+json", []byte(body)
				} else {
					req.Body = []byte(body)
				}
				for _, warning := range s.outside(req).Warnings {
					w.sink.events = append(w.sink.events, &trace.Event{Payload: &trace.Response{Reason: "Warning:", Message: warning}})
				}
			}
		}
		create := func(r client.Resource, body string) func() { return send("create", r, "", body) }
		podWith := func(name, spec string) func() {
			return create(client.Pods, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`"},"spec":`+spec+`}`)
		}
		label := func(labels string) func() {
			return send("patch", client.Namespaces, "default", `{"metadata":{"labels":{`+labels+`}}}`)
		}

		step("a LimitRange gets defaults of its own", create(client.LimitRanges, `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"sizes"},"spec":{"limits":[
			{"type":"Container","max":{"cpu":"1"},"min":{"cpu":"50m"},"default":{"cpu":"200m","memory":"64Mi"},"defaultRequest":{"cpu":"100m"},"maxLimitRequestRatio":{"cpu":"4"}},
			{"type":"Pod","max":{"memory":"128Mi"}}]}}`))
		step("one whose default is over its maximum", create(client.LimitRanges, `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"odd"},"spec":{"limits":[{"type":"Container","max":{"cpu":"1"},"default":{"cpu":"2"}}]}}`))
		step("a pod that says nothing gets the defaults", podWith("modest", `{"containers":[{"name":"app","image":"nginx"}]}`))
		step("a pod that asks for too much", podWith("greedy", `{"containers":[{"name":"app","image":"nginx","resources":{"limits":{"cpu":"2","memory":"256Mi"},"requests":{"cpu":"10m"}}}]}`))

		step("restricted, for a warning and the audit log only: what is there is not looked at", label(`"pod-security.kubernetes.io/warn":"restricted","pod-security.kubernetes.io/audit":"baseline"`))
		step("a pod as it should not be is warned of", podWith("host", `{"hostNetwork":true,"containers":[{"name":"app","image":"nginx"}]}`))
		step("restricted, enforced: the pods that are there would be refused", label(`"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/enforce-version":"v1.30"`))
		step("a privileged pod is refused", podWith("root", `{"containers":[{"name":"app","image":"nginx","securityContext":{"privileged":true}}]}`))
		step("a deployment of such pods is only warned of", create(client.Deployments, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app","image":"nginx"}]}}}}`))
		step("a pod that keeps the standard", podWith("good", `{"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"app","image":"nginx","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}`))
		step("a level nobody knows", label(`"pod-security.kubernetes.io/enforce":"strict"`))
		step("the labels go", label(`"pod-security.kubernetes.io/enforce":null,"pod-security.kubernetes.io/enforce-version":null,"pod-security.kubernetes.io/warn":null,"pod-security.kubernetes.io/audit":null`))
		send("delete", client.LimitRanges, "sizes", "")()

		step("a quota whose requests may be more than the limits", create(client.ResourceQuotas, `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"compute"},"spec":{"hard":{"pods":"4","requests.cpu":"2","limits.cpu":"1","count/configmaps":"3"}}}`))
		step("as long as nobody has counted it holds nothing back", create(client.ConfigMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"early"}}`))
		step("the controller has counted", func() {
			q, err := client.Get[*corev1.ResourceQuota](task, w.admin(), client.ResourceQuotas, "default", "compute")
			w.must(err)
			q.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: hard("pods", "3", "requests.cpu", "300m", "limits.cpu", "600m", "count/configmaps", "1")}
			_, err = client.UpdateStatus(task, w.admin(), client.ResourceQuotas, "default", q)
			w.must(err)
		})
		step("a config map is charged", create(client.ConfigMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`))
		step("a dry run is not", func() {
			s.outside(&request.Request{Verb: "create", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", DryRun: true, Body: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)})
		})
		step("a pod must say what the quota counts", podWith("vague", `{"containers":[{"name":"app","image":"nginx"}]}`))
		step("one that fits", podWith("fits", `{"containers":[{"name":"app","image":"nginx","resources":{"limits":{"cpu":"400m"},"requests":{"cpu":"100m"}}}]}`))
		step("one that does not", podWith("over", `{"containers":[{"name":"app","image":"nginx","resources":{"limits":{"cpu":"400m"},"requests":{"cpu":"100m"}}}]}`))
		golden(t, "admission", s.out.String())

		q, err := client.Get[*corev1.ResourceQuota](task, w.admin(), client.ResourceQuotas, "default", "compute")
		w.must(err)
		used, _ := json.Marshal(q.Status.Used)
		if string(used) != `{"count/configmaps":"2","limits.cpu":"1","pods":"4","requests.cpu":"400m"}` {
			t.Errorf("the quota says %s is used", used)
		}
		_, err = w.admin().Get(task, client.Pods, "default", "over")
		if err == nil {
			t.Error("a refused pod is there")
		}
		w.must(w.admin().Delete(task, client.ResourceQuotas, "default", "compute", metav1.DeleteOptions{}))
	})
}
