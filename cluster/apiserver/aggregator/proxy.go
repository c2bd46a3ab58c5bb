package aggregator

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The proxy of the aggregator (kube-aggregator pkg/apiserver/handler_proxy.go): what
// has been authenticated and authorized goes to the server behind the APIService, with
// the user's name in headers, and its answer goes back as it is. Everything else that
// a request passes here (admission, validation, the store) is that server's own.

// Dial opens a connection from the server's machine to an address of the cluster's
// network. connected is the event of the attempt. An error is a *[remote.DialError].
type Dial func(t *sim.Task, address string, limit time.Duration) (to remote.Connection, connected trace.ID, err error)

// proxyTimeout is how long a connection may take (net.Dialer in the transport of
// apiserver pkg/server/egressselector).
const proxyTimeout = 30 * time.Second

// aggregatorUser is the aggregator as the servers behind it see it.
var aggregatorUser = authn.User{Name: "system:kube-aggregator", Groups: []string{authn.Masters}}

// Serves reports whether another server serves the group version, or has been said
// to.
func (a *Aggregator) Serves(gv schema.GroupVersion) bool {
	return a.remote(gv.Version+"."+gv.Group) != nil
}

// Proxy forwards a request and records that in the trace. The answer is nil if nobody
// else serves the group version any more.
func (a *Aggregator) Proxy(c *request.Scope, gv schema.GroupVersion, user authn.User, r *remote.Request) *remote.Answer {
	name := gv.Version + "." + gv.Group
	svc := a.remote(name)
	if svc == nil { // it has been deleted meanwhile
		return nil
	}
	if !helper.IsAPIServiceConditionTrue(svc, apiregistration.Available) {
		why := "its server was not asked yet"
		if cond := helper.GetAPIServiceConditionByType(svc, apiregistration.Available); cond != nil {
			why = fmt.Sprintf("%s: %s", cond.Reason, cond.Message)
		}
		return unserved(c, "APIService "+name, "service unavailable", fmt.Sprintf("APIService %s is not Available, so nothing is sent to its Service (%s).", name, why))
	}
	to := svc.Spec.Service
	by := fmt.Sprintf("Service %s/%s", to.Namespace, to.Name)
	ready, err := a.Host.ServiceEndpoints(to.Namespace, to.Name, *to.Port)
	if err != nil {
		return unserved(c, by, "service unavailable", err.Error()+".")
	}
	e := ready[a.Rand.IntN(len(ready))]
	by += ", endpoint " + e
	req := *r
	req.Header = asUser(user)
	for k, v := range r.Header {
		req.Header[k] = v
	}
	began := c.Task.Elapsed()
	c.Task.SetCauses(c.Last)
	answer, failed := a.send(c.Task, e, &req, began+proxyTimeout)
	took := c.Task.Elapsed() - began
	if failed != nil {
		c.Hear(failed.connected)
		return unserved(c, by, "error trying to reach service: "+failed.Error(), "")
	}
	c.Hear(answer.Event)
	st := c.NewStage()
	*st = trace.Stage{
		Request: c.Number, Stage: trace.StageAggregator, By: by, Verdict: "pass", Took: took,
		Note: fmt.Sprintf("APIService %s leads to another server: sent there as X-Remote-User %s%s; it answered %d.", name, user.Name, user.OfGroups(), answer.Code),
	}
	c.Tell(st)
	return &answer
}

// unserved ends the request with 503 in plain words, as the proxy does.
func unserved(c *request.Scope, by, message, note string) *remote.Answer {
	if note == "" {
		note = message + "."
	}
	c.Refused = trace.StageAggregator
	c.Tell(&trace.Stage{Request: c.Number, Stage: trace.StageAggregator, By: by, Verdict: "refuse", Code: http.StatusServiceUnavailable, Note: note})
	return &remote.Answer{
		Code: http.StatusServiceUnavailable, Body: []byte(message + "\n"),
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "X-Content-Type-Options": {"nosniff"}},
	}
}

// asUser is how the server behind is told who it is (client-go transport
// SetAuthProxyHeaders). It believes that because of the client certificate of the
// proxy, which is not simulated.
func asUser(u authn.User) http.Header {
	h := http.Header{"X-Remote-User": {u.Name}}
	if u.UID != "" {
		h.Set("X-Remote-Uid", u.UID)
	}
	for _, g := range u.Groups {
		h.Add("X-Remote-Group", g)
	}
	for _, k := range slices.Sorted(maps.Keys(u.Extra)) {
		for _, v := range u.Extra[k] {
			h.Add("X-Remote-Extra-"+url.PathEscape(strings.ToLower(k)), v)
		}
	}
	return h
}

// unsent is a request that did not get an answer, or did not get there.
type unsent struct {
	address   string
	dial      *remote.DialError // nil where there was a connection
	err       error             // then
	connected trace.ID          // the event of the attempt
}

func (u *unsent) Error() string {
	if u.dial != nil {
		return fmt.Sprintf("dial tcp %s: %v", u.address, u.dial)
	}
	return u.err.Error()
}

// inClient is the error of an HTTP client whose time is limited.
func (u *unsent) inClient() error {
	if u.dial != nil && u.dial.TimedOut {
		return errors.New("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
	}
	return errors.New(u.Error())
}

// send sends a request to an endpoint.
func (a *Aggregator) send(t *sim.Task, e string, r *remote.Request, deadline time.Duration) (remote.Answer, *unsent) {
	failed := &unsent{address: e, dial: &remote.DialError{Reason: "no route to host"}}
	if a.Dial == nil {
		return remote.Answer{}, failed
	}
	to, connected, err := a.Dial(t, e, deadline-t.Elapsed())
	failed.connected = connected
	if !connected.IsZero() {
		t.SetCauses(connected)
	}
	switch {
	case err != nil:
		if !errors.As(err, &failed.dial) {
			failed.dial, failed.err = nil, err
		}
		return remote.Answer{}, failed
	case !to.TLS():
		failed.dial, failed.err = nil, errors.New("http: server gave HTTP response to HTTPS client")
		return remote.Answer{}, failed
	}
	answer, err := to.Serve(t, r)
	if err != nil {
		failed.dial, failed.err = nil, io.EOF
		return remote.Answer{}, failed
	}
	if answer.Event.IsZero() {
		answer.Event = connected
	}
	return answer, nil
}
