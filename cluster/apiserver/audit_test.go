package apiserver

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"kviz/cluster/apiserver/request"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// the policy of the story: five rules, each of which somebody meets.
const auditStory = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: None
  users: [system:kube-scheduler]
- level: Metadata
  resources: [{group: "", resources: [secrets]}]
- level: RequestResponse
  verbs: [create, delete, list]
  resources: [{group: "", resources: [configmaps]}]
- level: Request
  verbs: [patch]
- level: Metadata
  verbs: [watch, get]
`

func (w *world) audited(t *sim.Task, policy string) {
	w.t.Helper()
	w.must(w.s.Auditor().Write(t, []byte(policy)))
	w.restart(t)
}

func (w *world) log() string {
	b, err := w.s.Disk().ReadFile(audit.LogFile)
	w.must(err)
	return string(b)
}

// stages are the audit stages of the trace, and what else it tells of auditing.
func auditTold(events []*trace.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.Request:
			fmt.Fprintf(&b, "%s %s by %s\n", strings.ToUpper(p.Verb), p.Path, p.User)
		case *trace.Stage:
			if p.Stage == trace.StageAudit {
				fmt.Fprintf(&b, "    [%s] %s\n", p.By, p.Note)
			}
		case *trace.Audit:
			fmt.Fprintf(&b, "  %s %s %s %s\n", p.What, p.File, strings.Join(p.Rules, " | "), p.Error)
		}
	}
	return b.String()
}

// A policy, whom its rules catch, and the log they leave: trace first, then the
// lines of the file.
func TestAuditStory(t *testing.T) {
	var from int
	var lines string
	w := run(t, Config{}, func(w *world, task *sim.Task) {
		w.audited(task, auditStory)
		from = len(w.sink.events)
		admin := w.admin()
		_, err := admin.Create(task, client.Secrets, "default", secret("db", "swordfish"))
		w.must(err)
		_, err = admin.Create(task, client.ConfigMaps, "default", configMap("colours", "sky", "blue"))
		w.must(err)
		_, err = admin.Patch(task, client.ConfigMaps, "default", "colours", types.MergePatchType, []byte(`{"data":{"sky":"red"}}`), "")
		w.must(err)
		_, _, err = admin.List(task, client.ConfigMaps, "default", metav1.ListOptions{})
		w.must(err)
		_, _, err = w.s.Client(trace.Lane{Component: trace.CompScheduler}, authn.Component("kube-scheduler")).List(task, client.Pods, "", metav1.ListOptions{})
		w.must(err)
		_, _, err = admin.List(task, client.Pods, "", metav1.ListOptions{})
		w.must(err)
		eve := w.s.Client(trace.Lane{Component: trace.CompKubelet, Instance: "node-9"}, authn.Node("node-9"))
		if _, err = eve.Get(task, client.Secrets, "kube-system", "x"); !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			t.Errorf("node-9: %v", err)
		}
		resp := w.s.Handle(task, &request.Request{
			Verb: "get", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", Name: "colours",
			User: ptr.To(authn.Admin()), Impersonate: &request.Impersonation{User: "bob", Groups: []string{"dev"}}, UserAgent: "kubectl/v1.37.2", SourceIPs: []string{"10.1.2.3"}, AuditID: "given",
		})
		if resp.Code != 403 || resp.AuditID != "given" {
			t.Errorf("bob gets %d, Audit-Id %s", resp.Code, resp.AuditID)
		}
		resp = w.s.Handle(task, &request.Request{Verb: "get", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", Name: "colours", Token: "nonsense", Client: "curl"})
		if resp.Code != 401 {
			t.Errorf("nonsense gets %d", resp.Code)
		}
		watch, err := admin.Watch(task, client.ConfigMaps, "default", metav1.ListOptions{ResourceVersion: "0"})
		w.must(err)
		task.Sleep(3 * time.Second)
		watch.Stop()
		w.must(admin.Delete(task, client.ConfigMaps, "default", "colours", metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
		w.s.Auditor().Remove(task)
		w.restart(task)
		_, err = admin.Get(task, client.Secrets, "default", "db")
		w.must(err)
		lines = w.log()
	})
	golden(t, "audit", auditTold(w.sink.events[from:])+"\n"+lines)
}

// With the log's disk full the request goes on, as in kube-apiserver's default
// mode; the errors are counted, and the trace tells when it began and ended.
func TestAuditDiskFull(t *testing.T) {
	var from int
	w := run(t, Config{}, func(w *world, task *sim.Task) {
		w.audited(task, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
		from = len(w.sink.events)
		read := func() {
			_, _, err := w.admin().List(task, client.Secrets, "", metav1.ListOptions{})
			w.must(err)
		}
		read()
		before := w.log()
		w.s.Auditor().Fill(true)
		read()
		read()
		if w.log() != before {
			t.Error("the log grew on a full disk")
		}
		w.s.Auditor().Fill(false)
		read()
		if st := w.s.Auditor().State(); st.Events != 8 || st.Errors != 4 || strings.Count(w.log(), "\n") != 4 {
			t.Errorf("%d events, %d errors, %d lines; want 8, 4, 4", st.Events, st.Errors, strings.Count(w.log(), "\n"))
		}
	})
	golden(t, "audit-full", auditTold(w.sink.events[from:]))
}

// A body of any size does not make the log grow past its files, and the policy
// that the server could not start with is not written.
func TestAuditBounds(t *testing.T) {
	w := run(t, Config{}, func(w *world, task *sim.Task) {
		if err := w.s.Auditor().Write(task, []byte("rules: []")); err == nil {
			t.Error("a bad policy is written")
		}
		if st := w.s.Auditor().State(); st.FileHash != "" {
			t.Error("and kept")
		}
		w.audited(task, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n")
		cm := configMap("big", "k", strings.Repeat("x", 400_000))
		for i := range 6 {
			cm.Name = fmt.Sprint("big-", i)
			_, err := w.admin().Create(task, client.ConfigMaps, "default", cm)
			w.must(err)
		}
		total := 0
		for _, name := range w.s.Auditor().State().Files {
			b, err := w.s.Disk().ReadFile(name)
			w.must(err)
			total += len(b)
		}
		if n := len(w.s.Auditor().State().Files); n != audit.MaxBackups+1 || total > (audit.MaxBackups+1)*audit.MaxSize {
			t.Errorf("%d files of %d bytes", n, total)
		}
	})
	told := auditTold(w.sink.events)
	if !regexp.MustCompile(`rotated /var/log/kubernetes/audit-2026-01-01T00-00-\d\d\.\d{3}\.log`).MatchString(told) {
		t.Error("the trace does not tell of a rotation")
	}
}

// Two runs write the same log.
func TestAuditRepeats(t *testing.T) {
	once := func() (log string) {
		run(t, Config{}, func(w *world, task *sim.Task) {
			w.audited(task, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n")
			_, err := w.admin().Create(task, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
			w.must(err)
			log = w.log()
		})
		return log
	}
	if a, b := once(), once(); a != b || a == "" {
		t.Errorf("first\n%ssecond\n%s", a, b)
	}
}

// What the audit label of a namespace asks Pod Security to note is in the audit log, of
// a pod that is allowed as of one that is not.
func TestAuditTellsOfPodSecurity(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.audited(task, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, verbs: [create], resources: [{group: \"\", resources: [pods]}]}]\n")
		for _, ns := range []*corev1.Namespace{
			{ObjectMeta: metav1.ObjectMeta{Name: "lax", Labels: map[string]string{"pod-security.kubernetes.io/audit": "restricted"}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "strict", Labels: map[string]string{"pod-security.kubernetes.io/audit": "restricted", "pod-security.kubernetes.io/enforce": "baseline"}}},
		} {
			_, err := w.admin().Create(task, client.Namespaces, "", ns)
			w.must(err)
			_, err = w.admin().Create(task, client.ServiceAccounts, ns.Name, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
			w.must(err)
		}
		task.Sleep(time.Second)
		of := func(ns string) *request.Request {
			return &request.Request{
				Verb: "create", Resource: client.Pods.GroupVersionResource, Namespace: ns,
				Body: []byte(`{"metadata":{"name":"a"},"spec":{"hostNetwork":true,"containers":[{"name":"a","image":"nginx"}]}}`),
			}
		}
		w.must(w.ask(task, of("lax")).Err)
		if r := w.ask(task, of("strict")); !apierrors.IsForbidden(r.Err) {
			t.Errorf("%d %v", r.Code, r.Err)
		}
		told := 0
		for line := range strings.Lines(w.log()) {
			if !strings.Contains(line, `"stage":"ResponseComplete"`) {
				continue
			}
			for _, part := range []string{
				`"pod-security.kubernetes.io/audit-violations":"would violate PodSecurity \"restricted:latest\": host namespaces (hostNetwork=true), `,
				`"pod-security.kubernetes.io/enforce-policy":"`,
			} {
				if !strings.Contains(line, part) {
					t.Errorf("%s is not in %s", part, line)
				}
			}
			told++
		}
		if told != 2 {
			t.Errorf("%d requests are in the log:\n%s", told, w.log())
		}
	})
}
