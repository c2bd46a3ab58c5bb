package proof

import (
	"fmt"
	"strings"
)

// evictions are those that budgets allow and refuse. Nobody counts their pods here: each
// budget's status is what the step before has written.
func evictions() []step {
	const ns = "/api/v1/namespaces/evicts"
	const budgets = "/apis/policy/v1/namespaces/evicts/poddisruptionbudgets"
	var steps []step
	do := func(name, method, path, body string) {
		st := step{name: name, method: method, path: path, body: body}
		if method == "PATCH" {
			st.contentType = mergeType
		}
		steps = append(steps, st)
	}
	pod := func(name, app, status string) {
		do("create "+name, "POST", ns+"/pods", fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"app":%q}},"spec":{"nodeName":"here","containers":[{"name":"c","image":"x:1"}]}}`, name, app))
		do("status of "+name, "PATCH", ns+"/pods/"+name+"/status", `{"status":`+status+`}`)
	}
	budget := func(name, app, spec string) {
		do("budget "+name, "POST", budgets, merge(fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"selector":{"matchLabels":{"app":%q}}}}`, name, app), `{"spec":`+spec+`}`))
	}
	counted := func(name, status string) {
		do("status of budget "+name, "PATCH", budgets+"/"+name+"/status", `{"status":`+status+`}`)
	}
	evict := func(what, pod, query, more string) {
		do("evict: "+what, "POST", ns+"/pods/"+pod+"/eviction"+query, merge(fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q}}`, pod), more))
	}
	look := func(pod, budget string) {
		do("pod "+pod+" then", "GET", ns+"/pods/"+pod, "")
		if budget != "" {
			do("budget "+budget+" then", "GET", budgets+"/"+budget, "")
		}
	}
	const (
		ready   = `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`
		unready = `{"phase":"Running","conditions":[{"type":"Ready","status":"False"}]}`
	)
	steps = append(steps, post("/api/v1/namespaces", `{"metadata":{"name":"evicts"}}`), post(ns+"/serviceaccounts", `{"metadata":{"name":"default"}}`))

	pod("free", "free", ready)
	evict("nobody guards it, dry run of the request", "free", "?dryRun=All", `{}`)
	evict("dry runs that differ", "free", "?dryRun=All", `{"deleteOptions":{"dryRun":["Some"]}}`)
	evict("a dry run that is none", "free", "", `{"deleteOptions":{"dryRun":["Some"]}}`)
	evict("a request's dry run that is none", "free", "?dryRun=Some", `{}`)
	look("free", "")
	do("evict: without a name", "POST", ns+"/pods/free/eviction", `{"apiVersion":"policy/v1","kind":"Eviction"}`)
	evict("in another namespace", "free", "", `{"metadata":{"namespace":"default"}}`)
	evict("in an old version", "free", "", `{"apiVersion":"policy/v1beta1","deleteOptions":{"dryRun":["All"]}}`)
	evict("ignoring errors", "free", "", `{"deleteOptions":{"ignoreStoreReadErrorWithClusterBreakingPotential":true}}`)
	evict("of another UID", "free", "", `{"deleteOptions":{"preconditions":{"uid":"00000000-0000-0000-0000-000000000001"}}}`)
	evict("of an old version of the pod", "free", "", `{"deleteOptions":{"preconditions":{"resourceVersion":"1"}}}`)
	evict("nobody guards it", "free", "", `{"deleteOptions":{"gracePeriodSeconds":7}}`)
	look("free", "")
	evict("again, with more grace", "free", "", `{"deleteOptions":{"gracePeriodSeconds":20}}`)
	evict("again, with less grace", "free", "", `{"deleteOptions":{"gracePeriodSeconds":3}}`)
	look("free", "")
	evict("again, without grace", "free", "", `{"deleteOptions":{"gracePeriodSeconds":0}}`)
	look("free", "")
	evict("gone", "free", "", `{}`)

	budget("web", "web", `{"minAvailable":1}`)
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		pod(name, "web", ready)
	}
	evict("not counted yet", "web-1", "", `{}`)
	evict("not counted yet, dry run", "web-1", "?dryRun=All", `{}`)
	counted("web", `{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,"expectedPods":3}`)
	evict("needs as many as there are", "web-1", "", `{}`)
	counted("web", `{"currentHealthy":3}`)
	evict("allows none all the same", "web-1", "", `{}`)
	counted("web", `{"conditions":[{"type":"DisruptionAllowed","status":"False","reason":"Because","message":"of the moon","lastTransitionTime":"2024-01-01T00:00:00Z"}]}`)
	evict("allows none, and says why", "web-1", "", `{}`)
	counted("web", `{"conditions":[{"type":"DisruptionAllowed","status":"False","reason":"SyncFailed","message":"found no controllers","lastTransitionTime":"2024-01-01T00:00:00Z"}]}`)
	evict("could not be counted", "web-1", "", `{}`)
	counted("web", `{"disruptionsAllowed":-1}`)
	evict("allows fewer than none", "web-1", "", `{}`)
	counted("web", `{"disruptionsAllowed":2,"conditions":[{"type":"DisruptionAllowed","status":"True","reason":"SufficientPods","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"}]}`)
	evict("allowed, dry run", "web-1", "", `{"deleteOptions":{"dryRun":["All"]}}`)
	look("web-1", "web")
	evict("allowed, of an old version of the pod", "web-1", "", `{"deleteOptions":{"preconditions":{"resourceVersion":"1"}}}`)
	look("web-1", "web")
	evict("allowed, the last", "web-1", "", `{}`)
	look("web-1", "web")
	evict("being deleted, and none is allowed", "web-1", "", `{}`)
	evict("one more", "web-2", "", `{}`)
	do("change the budget", "PATCH", budgets+"/web", `{"spec":{"minAvailable":2}}`)
	evict("not counted since", "web-2", "", `{}`)

	budget("also", "web", `{"maxUnavailable":"50%"}`)
	evict("two budgets", "web-2", "", `{}`)
	evict("two budgets, dry run", "web-2", "?dryRun=All", `{}`)
	evict("two budgets, and being deleted", "web-1", "", `{}`)

	budget("sick", "sick", `{"minAvailable":1}`)
	for _, name := range []string{"sick-1", "sick-2", "sick-3"} {
		pod(name, "sick", unready)
	}
	counted("sick", `{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":1,"expectedPods":3}`)
	evict("not ready, and too few are", "sick-1", "", `{}`)
	counted("sick", `{"desiredHealthy":0}`)
	evict("not ready, and none has to be", "sick-1", "", `{}`)
	counted("sick", `{"desiredHealthy":1,"currentHealthy":1}`)
	evict("not ready, and enough are, dry run", "sick-1", "?dryRun=All", `{}`)
	evict("not ready, and enough are, of another UID", "sick-1", "", `{"deleteOptions":{"preconditions":{"uid":"00000000-0000-0000-0000-000000000001"}}}`)
	evict("not ready, and enough are, of an old version", "sick-1", "", `{"deleteOptions":{"preconditions":{"resourceVersion":"1"}}}`)
	look("sick-1", "sick")
	evict("not ready, and enough are", "sick-2", "", `{}`)
	look("sick-2", "sick")
	do("let the sick go", "PATCH", budgets+"/sick", `{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}`)
	counted("sick", `{"desiredHealthy":3,"currentHealthy":0}`)
	evict("not ready, always", "sick-3", "", `{}`)
	look("sick-3", "sick")

	budget("every", "every", `{"minAvailable":1}`)
	do("have it select every pod", "PUT", budgets+"/every", `{"metadata":{"name":"every"},"spec":{"minAvailable":1,"selector":{}}}`)
	pod("other", "other", ready)
	evict("a budget of every pod", "other", "", `{}`)
	do("without the budget", "DELETE", budgets+"/every", "")
	do("a budget without a selector", "POST", budgets, `{"metadata":{"name":"none"},"spec":{"minAvailable":1}}`)
	for _, phase := range []string{"Pending", "Succeeded", "Failed", "Unknown"} {
		name := "phase-" + strings.ToLower(phase)
		pod(name, "web", `{"phase":"`+phase+`"}`)
		evict(phase+", of an old version", name, "", `{"deleteOptions":{"preconditions":{"resourceVersion":"1"}}}`)
		evict(phase+", dry run", name, "?dryRun=All", `{}`)
		evict(phase, name, "", `{}`)
		look(name, "")
	}
	do("the rest", "DELETE", ns+"/pods?gracePeriodSeconds=0", "")
	return steps
}
