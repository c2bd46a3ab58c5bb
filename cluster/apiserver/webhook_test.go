package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/admission/policy"
	admissionwebhook "kviz/cluster/apiserver/admission/webhook"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/webhook"
)

// hooked is a world with the simulated webhook servers.
type hooked struct {
	*story
	servers *webhook.Servers
	lanes   map[string]*sim.Process
}

func runHooked(t *testing.T, fn func(h *hooked)) *world {
	h := &hooked{lanes: map[string]*sim.Process{}}
	var w *world
	h.servers = webhook.New(func(name string, causes []trace.ID) { h.begin(name) })
	w = run(t, Config{Webhooks: h.servers}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		h.story = &story{w: w, t: task}
		fn(h)
	})
	return w
}

func (h *hooked) begin(name string) {
	p := h.w.k.NewProcess(trace.Lane{Component: trace.CompWebhook, Instance: name})
	h.lanes[name] = p
	h.servers.Start(name, p)
}

// apply creates what YAML says, one document after another, and notes who was
// refused or warned.
func (h *hooked) apply(docs string) {
	for _, doc := range strings.Split(docs, "\n---\n") {
		h.tell(h.send("create", doc))
	}
}

func (h *hooked) send(verb, doc string) *request.Response {
	h.w.t.Helper()
	var meta struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
	}
	obj, _, err := registry.LaxYAML.Decode([]byte(doc), nil, nil)
	var gvk schema.GroupVersionKind
	if err == nil {
		gvk = obj.GetObjectKind().GroupVersionKind()
		meta.ObjectMeta = metav1.ObjectMeta{Name: object.Name(obj), Namespace: object.Meta(obj).GetNamespace()}
	} else {
		h.w.t.Fatalf("%v\n%s", err, doc)
	}
	for _, k := range registry.Kinds {
		if k.GVK() == gvk && k.Stored() {
			if k.Namespaced && meta.Namespace == "" {
				meta.Namespace = "default"
			}
			req := &request.Request{Verb: verb, Resource: k.GroupVersionResource, Namespace: meta.Namespace, Body: []byte(doc), ContentType: "application/yaml", FieldManager: "kubectl", FieldValidation: "Strict"}
			if verb == "update" {
				req.Name = meta.Name
			}
			return h.outside(req)
		}
	}
	h.w.t.Fatalf("nobody serves %s", gvk)
	return nil
}

// tell writes what a client sees of an answer.
func (h *hooked) tell(r *request.Response) {
	for _, w := range r.Warnings {
		fmt.Fprintf(&h.out, "Warning: %s\n", w)
	}
	if r.Err != nil {
		st := request.StatusOf(r.Err)
		fmt.Fprintf(&h.out, "%d %s: %s\n", st.Code, st.Reason, st.Message)
		return
	}
	fmt.Fprintf(&h.out, "%d %s\n", r.Code, object.Name(r.Object))
}

// stages writes what admission did in a step, and what the webhooks answered.
func (h *hooked) stages(title string, fn func()) {
	n := len(h.w.sink.events)
	fmt.Fprintf(&h.out, "## %s\n", title)
	fn()
	h.t.Sleep(10 * time.Millisecond)
	for _, e := range h.w.sink.events[n:] {
		switch p := e.Payload.(type) {
		case *trace.Stage:
			if !strings.HasSuffix(p.Stage, "admission") || p.By == "" {
				continue
			}
			fmt.Fprintf(&h.out, "  %s [%s] %s", p.Stage, p.By, p.Verdict)
			if p.Took > 0 {
				fmt.Fprintf(&h.out, " in %s", p.Took)
			}
			fmt.Fprintf(&h.out, ": %s\n", p.Note)
			for _, d := range p.Diff {
				fmt.Fprintf(&h.out, "       %s: %s -> %s\n", d.Path, or(d.From, "nothing"), or(d.To, "nothing"))
			}
		case *trace.WebhookCall:
			fmt.Fprintf(&h.out, "  %s answers %d for %s %s: allowed=%v %s%s\n", p.Webhook, p.Code, p.Operation, p.Object, p.Allowed, p.Message, p.Patch)
		}
	}
	h.out.WriteString("\n")
}

// install makes what the manifests make in a whole cluster: a Service with one
// ready endpoint, whose pod runs the server's image.
func (h *hooked) install(name string, ready bool) {
	h.w.t.Helper()
	c := h.w.admin()
	server := pod("server-" + name)
	server.Spec.Containers[0].Image = "docker.io/kviz/webhook-" + name + ":1"
	_, err := c.Create(h.t, client.Pods, "default", server)
	h.w.must(err)
	_, err = c.Create(h.t, client.Services, "default", &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	})
	h.w.must(err)
	port, protocol, none := int32(8443), corev1.ProtocolTCP, ""
	_, err = c.Create(h.t, client.EndpointSlices, "default", &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name + "-abc", Namespace: "default", Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &none, Port: &port, Protocol: &protocol}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.244.1.5"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: server.Name},
		}},
	})
	h.w.must(err)
	h.t.Sleep(time.Second)
}

// hookConfig is a configuration with one webhook behind a Service.
func hookConfig(kind, name, path, resource, more string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: %sWebhookConfiguration
metadata: {name: %s}
webhooks:
- name: %s.kviz.dev
  clientConfig: {service: {namespace: default, name: %s, path: %s}}
  rules: [{apiGroups: ["*"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [%s]}]
  sideEffects: None
  timeoutSeconds: 2
  admissionReviewVersions: [v1]
%s`, kind, name, name, name, path, resource, more)
}

const nginxPod = `apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {containers: [{name: app, image: %s}]}`

// A mutating webhook adds a container; another, which was asked before it, is asked
// again because of that. A validating one refuses. A dry run asks only webhooks
// without side effects.
func TestWebhooks(t *testing.T) {
	runHooked(t, func(h *hooked) {
		for _, name := range []string{"image-policy", "requests-default", "sidecar-injector"} {
			h.install(name, true)
		}
		h.stages("three configurations", func() {
			h.apply(hookConfig("Mutating", "sidecar-injector", "/mutate", "pods", ""))
			h.apply(hookConfig("Mutating", "requests-default", "/mutate", "pods", "  reinvocationPolicy: IfNeeded"))
			h.apply(hookConfig("Validating", "image-policy", "/validate", "pods", "  objectSelector: {matchExpressions: [{key: unchecked, operator: DoesNotExist}]}"))
		})
		h.stages("a pod gets a sidecar, and the one asked first is asked again", func() {
			h.apply(fmt.Sprintf(nginxPod, "web", "docker.io/nginx:1.27"))
		})
		h.stages("an image of no registry", func() { h.apply(fmt.Sprintf(nginxPod, "bare", "nginx")) })
		h.stages("the same, where the selector does not select it", func() {
			h.apply(strings.Replace(fmt.Sprintf(nginxPod, "unchecked", "nginx"), "{name: unchecked}", "{name: unchecked, labels: {unchecked: \"yes\"}}", 1))
		})
		h.stages("a config map concerns nobody", func() {
			h.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}")
		})
		h.stages("with side effects and in a dry run", func() {
			h.apply(strings.Replace(hookConfig("Mutating", "z-effects", "/mutate", "configmaps", ""), "sideEffects: None", "sideEffects: NoneOnDryRun", 1))
			dry := func() {
				h.t.Sleep(10 * time.Millisecond)
				h.tell(h.outside(&request.Request{Verb: "create", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", DryRun: true, Body: []byte(`{"metadata":{"name":"dry"}}`)}))
			}
			dry()
			some := registrationv1.SideEffectClassSome // v1 refuses it; older versions left such objects behind
			hook, _ := h.w.s.hooks.Mutating()[len(h.w.s.hooks.Mutating())-1].GetMutatingWebhook()
			hook.SideEffects = &some
			dry()
		})
		golden(t, "webhooks", h.out.String())
	})
}

// What can go wrong on the way to a webhook, with each failure policy, in
// Kubernetes' words.
func TestWebhookFailures(t *testing.T) {
	runHooked(t, func(h *hooked) {
		n := 0
		try := func(title string) {
			h.stages(title, func() {
				n++
				h.apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-%d}", n))
			})
		}
		both := func(title string, break_, mend func()) {
			for _, policy := range []string{"Fail", "Ignore"} {
				w := client.MutatingWebhookConfigurations
				h.w.must(h.send("create", hookConfig("Mutating", "label-owner", "/mutate", "configmaps", "  failurePolicy: "+policy)).Err)
				h.t.Sleep(10 * time.Millisecond)
				break_()
				try(title + ", " + policy)
				mend()
				h.w.must(h.w.admin().Delete(h.t, w, "", "label-owner", metav1.DeleteOptions{}))
				h.t.Sleep(10 * time.Millisecond)
			}
		}
		nothing := func() {}
		both("no Service", nothing, nothing)
		h.install("label-owner", true)
		both("all well", nothing, nothing)
		both("down", func() { h.lanes["label-owner"].Kill() }, func() { h.begin("label-owner") })
		both("slow", func() { h.servers.Slow("label-owner", time.Minute) }, func() { h.servers.Slow("label-owner", 0) })
		for _, lie := range webhook.Lies("label-owner") {
			both("lying: "+string(lie), func() { h.servers.SetLie("label-owner", lie) }, func() { h.servers.SetLie("label-owner", webhook.Honest) })
		}
		h.w.must(h.w.admin().Delete(h.t, client.EndpointSlices, "default", "label-owner-abc", metav1.DeleteOptions{}))
		h.t.Sleep(10 * time.Millisecond)
		both("no endpoints", nothing, nothing)
		for _, url := range []string{"https://label-owner.webhooks.kviz.dev/mutate", "https://label-owner.webhooks.kviz.dev/wrong", "https://nobody.example.com/mutate"} {
			doc := strings.Replace(hookConfig("Mutating", "label-owner", "/mutate", "configmaps", ""), "{service: {namespace: default, name: label-owner, path: /mutate}}", "{url: \""+url+"\"}", 1)
			h.w.must(h.send("create", doc).Err)
			h.t.Sleep(10 * time.Millisecond)
			try("by URL " + url)
			h.w.must(h.w.admin().Delete(h.t, client.MutatingWebhookConfigurations, "", "label-owner", metav1.DeleteOptions{}))
			h.t.Sleep(10 * time.Millisecond)
		}
		golden(t, "webhook-failures", h.out.String())
	})
}

// The body that a webhook gets, as upstream's request builder and codec make it of
// the attributes that upstream's handler would have: the golden file shows it whole.
func TestAdmissionReviewBody(t *testing.T) {
	runHooked(t, func(h *hooked) {
		h.install("label-owner", true)
		h.w.must(h.send("create", hookConfig("Mutating", "label-owner", "/mutate", "configmaps", "")).Err)
		h.t.Sleep(10 * time.Millisecond)
		jane := authn.User{Name: "jane", Groups: []string{authn.Masters}, Extra: map[string][]string{"team": {"blue"}}}
		var got []byte
		h.servers.Watch(func(_ string, body []byte) { got = body })
		r := h.w.s.Handle(h.t, &request.Request{
			Verb: "create", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", User: &jane, DryRun: true, FieldManager: "kubectl-create",
			Body: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`), ContentType: "application/json", FieldValidation: "Strict",
		})
		h.w.must(r.Err)
		obj := &admissionv1.AdmissionReview{}
		_, _, err := admissionwebhook.ReviewCodec.Decode(got, nil, obj)
		h.w.must(err)
		back, err := runtime.Encode(admissionwebhook.ReviewCodec, obj)
		h.w.must(err)
		if !bytes.Equal(got, back) {
			t.Errorf("upstream writes it back as\n%s", back)
		}
		var text bytes.Buffer
		h.w.must(json.Indent(&text, got, "", "  "))
		golden(t, "admission-review", text.String())
	})
}

// With no configuration a request does nothing for dynamic admission.
func TestNoHooksCostNothing(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := &handlers.Call{Scope: request.Scope{Task: task}, Req: &request.Request{Resource: client.Pods.GroupVersionResource}, Kind: registry.KindFor(client.Pods.GroupVersionResource)}
		a := w.s.handlers.Attributes(c, admission.Create, nil, nil)
		validating := []admission.Validating{policy.Validating{Policies: w.s.policies}, admissionwebhook.Validating{Hooks: w.s.hooks}}
		n := len(w.sink.events)
		if allocs := testing.AllocsPerRun(100, func() {
			if _, err := w.s.handlers.Admission.AdmitDynamic(&c.Scope, a); err != nil {
				t.Error("refused")
			}
			for _, p := range validating {
				if _, err := p.Validate(&c.Scope, a); err != nil {
					t.Error(err)
				}
			}
		}); allocs != 0 {
			t.Errorf("%v allocations a request", allocs)
		}
		if len(w.sink.events) != n {
			t.Error("there are events")
		}
	})
}
