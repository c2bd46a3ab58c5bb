package tuitest

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

// Call is one request as the story tells it.
type Call struct {
	Verb, Resource, Sub string
	Ref                 trace.Ref
	Client, User        string
	Object              runtime.Object
	Defaults            []trace.FieldDiff // what decoding set
	Admission           []trace.FieldDiff // what mutating admission set
	Refused             string            // the stage that refuses
	Why                 string
	Code                int
}

// Request takes a request through the pipeline and gives the store's commit
// (or the answer, where nothing was written).
func (t *Tape) Request(c Call, causes ...trace.ID) trace.ID {
	t.req++
	n := t.req
	path := "/api/v1/"
	if c.Ref.Namespace != "" {
		path += "namespaces/" + c.Ref.Namespace + "/"
	}
	path += c.Resource
	if c.Verb != "create" && c.Ref.Name != "" {
		path += "/" + c.Ref.Name
	}
	if c.Sub != "" {
		path += "/" + c.Sub
	}
	if c.User == "" {
		c.User = "system:kube-controller-manager"
	}
	last := t.Emit(trace.CompAPIServer, "", trace.RequestReceived, c.Ref, &trace.Request{
		Request: n, Verb: c.Verb, Path: path, Resource: c.Resource,
		Subresource: c.Sub, Namespace: c.Ref.Namespace, Name: c.Ref.Name, User: c.User, Client: c.Client, Body: trace.Obj(c.Object),
	}, causes...)
	by := map[string]string{trace.StageAuthentication: "x509", trace.StageAuthorization: "RBAC", trace.StageMutatingAdmission: "ServiceAccount"}
	notes := map[string]string{
		trace.StageAuthentication: "the client certificate says " + c.User, trace.StageAuthorization: "ClusterRoleBinding " + c.User,
		trace.StageDecode: "decoded, defaults set", trace.StageMutatingAdmission: "added the default account and its token volume",
		trace.StageValidation: "every field is valid", trace.StageStorage: "one transaction",
	}
	for _, st := range trace.Stages() {
		t.After(300 * time.Microsecond)
		s := &trace.Stage{Request: n, Stage: st, By: by[st], Verdict: "pass", Note: notes[st]}
		switch st {
		case trace.StageDecode:
			s.Diff = c.Defaults
		case trace.StageMutatingAdmission:
			s.Diff = c.Admission
		case trace.StageAudit, trace.StageImpersonation, trace.StageFairness:
			s.Note = "nothing to do"
		}
		if st == c.Refused {
			s.Verdict, s.Note, s.Code = "refuse", c.Why, c.Code
			r := t.Emit(trace.CompAPIServer, "", trace.RequestStage, c.Ref, s, last)
			return t.Emit(trace.CompAPIServer, "", trace.RequestDone, c.Ref, &trace.Response{
				Request: n, Verb: c.Verb, Code: c.Code, Reason: "Forbidden",
				Message: c.Why, Stage: st, Took: 3 * time.Millisecond,
			}, r)
		}
		if st == trace.StageStorage {
			commit := t.Commit(c.Ref, c.Resource, c.Object, last)
			last = t.Emit(trace.CompAPIServer, "", trace.RequestStage, c.Ref, s, commit)
			code := 200
			if c.Verb == "create" {
				code = 201
			}
			t.Emit(trace.CompAPIServer, "", trace.RequestDone, c.Ref, &trace.Response{Request: n, Verb: c.Verb, Code: code, Took: 4 * time.Millisecond}, last)
			return commit
		}
		last = t.Emit(trace.CompAPIServer, "", trace.RequestStage, c.Ref, s, last)
	}
	return last
}

// Watched delivers a commit to watchers and gives the delivery to each.
func (t *Tape) Watched(commit trace.ID, resource, what string, o runtime.Object, ref trace.Ref, clients ...string) []trace.ID {
	c := t.Emit(trace.CompAPIServer, "", trace.WatchCacheEvent, ref, &trace.CacheUpdate{Resource: resource, Type: what, Revision: t.rev, Watchers: len(clients)}, commit)
	var out []trace.ID
	for i, cl := range clients {
		t.After(100 * time.Microsecond)
		comp, inst := cl, ""
		for j := range cl {
			if cl[j] == '/' {
				comp, inst = cl[:j], cl[j+1:]
				break
			}
		}
		out = append(out, t.Emit(comp, inst, trace.WatchDelivered, ref, &trace.WatchEvent{Watch: uint64(i + 1), Client: cl, Type: what, Revision: t.rev, Object: trace.Obj(o)}, c))
	}
	return out
}

// Enqueue adds a key to a queue, takes it, and begins to reconcile.
func (t *Tape) Enqueue(lane, queue, key string, causes ...trace.ID) trace.ID {
	a := t.Emit(lane, "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: queue, Key: key, Ready: 1}, causes...)
	t.After(200 * time.Microsecond)
	g := t.Emit(lane, "", trace.QueueGet, trace.Ref{}, &trace.QueueItem{Queue: queue, Key: key, Processing: 1}, a)
	return t.Emit(lane, "", trace.ReconcileStart, trace.Ref{}, &trace.Reconcile{Controller: queue, Key: key}, g)
}

// Finish ends a reconcile.
func (t *Tape) Finish(lane, queue, key string, causes ...trace.ID) {
	e := t.Emit(lane, "", trace.ReconcileEnd, trace.Ref{}, &trace.Reconcile{Controller: queue, Key: key, Result: "done", CacheReads: 3, Writes: 1}, causes...)
	t.Emit(lane, "", trace.QueueDone, trace.Ref{}, &trace.QueueItem{Queue: queue, Key: key}, e)
}
