package menu

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/overlay"
)

// Until lists where a running cluster could stop, in sentences, and last of all asks for an
// expression.
func Until(s *view.State, ref trace.Ref, ask action.Prompt) overlay.Overlay {
	p := &overlay.Picker{Title: "Run until", Search: true, Intro: "The cluster runs and stops there, once. A few letters find a sentence."}
	for _, o := range Sentences(s, ref) {
		p.Items = append(p.Items, overlay.Item{Label: o.Says, Detail: o.Expr, Do: action.Until{Expr: o.Expr}})
	}
	p.Items = append(p.Items, overlay.Item{Label: "an expression holds …", Detail: "Any CEL expression over the state and the event; tab completes names.", Do: ask})
	return p
}

// mostDeployments bounds how many Deployments have sentences of their own.
const mostDeployments = 4

// Sentences say where a cluster could stop: at what concerns an object, which may be none, at
// what concerns everybody. What holds already is left out.
func Sentences(s *view.State, ref trace.Ref) []Offer {
	var out []Offer
	add := func(says, src string) {
		p := expr.MustCompile(src)
		if p.Mentions("event") {
			out = append(out, Offer{says, src})
		} else if holds, err := p.Eval(s, nil); err == nil && !holds {
			out = append(out, Offer{says, src})
		}
	}
	about(s, ref, add)
	n := 0
	for _, o := range s.Objects("deployments", "") {
		if o.Ref != ref && !strings.HasPrefix(o.Ref.Namespace, "kube-") && n < mostDeployments {
			n++
			about(s, o.Ref, add)
		}
	}
	ready := `objects("pods").filter(p, has(p.status.conditions) && p.status.conditions.exists(c, c.type == "Ready" && c.status == "True")).size()`
	add(fmt.Sprintf("a pod is ready (%d are now)", readyPods(s)), fmt.Sprintf("%s > %d", ready, readyPods(s)))
	add("a pod fits on no node", `event.kind == "sched.decision" && event.payload.node == ""`)
	add("a container ends with an error", `event.kind == "container.state" && event.payload.state == "terminated" && event.payload.exitCode != 0`)
	add("a write is refused", `event.kind == "api.response" && event.payload.code >= 400 && event.payload.verb in ["create", "update", "patch", "delete"]`)
	add("something has converged", `event.kind == "object.converged"`)
	add("the next election of the store is won", `event.kind == "raft.role" && event.payload.role == "leader"`)
	add("a member of the store is down", `event.kind == "raft.down"`)
	add("the store has no quorum", `!store.quorum.ok`)
	add("the store has a quorum again", `store.quorum.ok`)
	add("a Lease has another holder", `event.kind == "lease.leader"`)
	add("a node is not ready", `objects("nodes").exists(n, n.status.conditions.exists(c, c.type == "Ready" && c.status != "True"))`)
	add("all nodes are ready", `objects("nodes").all(n, n.status.conditions.exists(c, c.type == "Ready" && c.status == "True"))`)
	return out
}

// about are the sentences about an object.
func about(s *view.State, ref trace.Ref, add func(says, src string)) {
	o := s.Object(ref.Kind, ref.Namespace, ref.Name)
	if o == nil {
		return
	}
	it := fmt.Sprintf("object(%q, %q, %q)", o.Resource, ref.Namespace, ref.Name)
	who := ref.Kind + " " + ref.Key()
	ready := `.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`
	switch ref.Kind {
	case "Deployment":
		add(who+" is rolled out", fmt.Sprintf("%[1]s.status.observedGeneration == %[1]s.metadata.generation && %[1]s.status.updatedReplicas == %[1]s.spec.replicas && "+
			"%[1]s.status.replicas == %[1]s.spec.replicas && %[1]s.status.availableReplicas == %[1]s.spec.replicas", it))
		add(who+" has fewer pods available than it wants", fmt.Sprintf("!has(%[1]s.status.availableReplicas) || %[1]s.status.availableReplicas < %[1]s.spec.replicas", it))
		add(who+" has more pods than it may have, or fewer available than it must", "!"+rollout(o)+".held")
		add(who+" is written", written(ref))
	case "StatefulSet", "DaemonSet":
		add(who+" is rolled out", rollout(o)+".done")
		add(who+" has fewer pods available than it must", "!"+rollout(o)+".held")
		add(who+" is written", written(ref))
	case "Job":
		if r := s.JobRun(o); r != nil {
			run := fmt.Sprintf("job(%q, %q)", ref.Namespace, ref.Name)
			add(who+" is over", run+`.over != ""`)
			if r.Indexed {
				add("another index of "+who+" has failed for good", fmt.Sprintf("%s.lost.size() > %d", run, len(r.Lost)))
			}
			add("another pod of "+who+" has failed", fmt.Sprintf("%s.failed > %d", run, r.Failed))
		}
		add(who+" is written", written(ref))
	case "CronJob":
		add(who+" makes its next Job", fmt.Sprintf(`event.kind == "store.commit" && event.object.kind == "Job" && event.object.namespace == %q && event.object.name.startsWith(%q) && event.payload.changes[0].version == 1`, ref.Namespace, ref.Name+"-"))
		add(who+" is written", written(ref))
	case "Pod":
		add(who+" is ready", it+ready)
		add(who+" is bound to a node", it+`.spec.nodeName != ""`)
		add(who+" is gone", it+" == null")
	case "Node":
		it = fmt.Sprintf("object(%q, %q)", o.Resource, ref.Name)
		add(who+" is ready", it+ready)
		add(who+" is not ready", it+`.status.conditions.exists(c, c.type == "Ready" && c.status != "True")`)
	default:
		add(who+" is written", written(ref))
	}
}

// rollout is what the expressions of an object's rollout begin with.
func rollout(o *view.Object) string {
	return fmt.Sprintf("rollout(%q, %q, %q)", o.Resource, o.Namespace(), o.Name())
}

// written holds for the commit of an object.
func written(ref trace.Ref) string {
	src := fmt.Sprintf(`event.kind == "store.commit" && event.object.kind == %q && event.object.name == %q`, ref.Kind, ref.Name)
	if ref.Namespace != "" {
		src += fmt.Sprintf(" && event.object.namespace == %q", ref.Namespace)
	}
	return src
}

// readyPods is how many pods are ready.
func readyPods(s *view.State) int {
	n := 0
	s.EachObject("pods", "", func(o *view.Object) bool {
		if p, ok := o.Value.(*corev1.Pod); ok {
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					n++
				}
			}
		}
		return true
	})
	return n
}
