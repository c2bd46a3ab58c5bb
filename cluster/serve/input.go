package serve

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
	"kviz/cluster/trace"
)

// What enters the run at this edge (see [sim.Kernel.Enter]). Of a request that is what the
// pipeline gets, not the bytes that came: so it is made again without kubectl and sockets.
const (
	inputRequest = "request"       // for the pipeline
	inputAccess  = "request.path"  // whether somebody may have a path that is no resource
	inputProbe   = "request.probe" // of the store, for a health check
	inputAudit   = "request.audit" // an answer that was given without the pipeline
	inputSession = "session"       // a process in a container, with somebody connected
	inputFeed    = "session.in"    // what it reads
	inputEnd     = "session.end"   // the end of that
	inputLeft    = "session.left"  // the connection has ended
	inputDial    = "port"          // a connection to a forwarded port
	inputFetch   = "fetch"         // a request to a program in a container
	inputStop    = "watch.stop"    // the reader of a watch has gone
	inputClosed  = "peer.closed"   // a connection was closed
)

// Inputs are what this edge notes, and lets in again.
var Inputs = []string{inputRequest, inputAccess, inputProbe, inputAudit, inputSession, inputFeed, inputEnd, inputLeft, inputDial, inputFetch, inputStop, inputClosed}

// input is one of them.
type input struct {
	Server  string `json:",omitempty"` // past the load balancer
	Outside bool   `json:",omitempty"` // from a program outside, as against the console
	Request []byte `json:",omitempty"`
	Connect string `json:",omitempty"` // what kind of v1 Options are
	Options []byte `json:",omitempty"` // the request's Connect
	Shows   [][]byte
	Causes  []trace.ID    `json:",omitempty"`
	Waits   bool          `json:",omitempty"`
	Most    time.Duration `json:",omitempty"`
	Verb    string        `json:",omitempty"`
	Path    string        `json:",omitempty"`
	Code    int           `json:",omitempty"`
	Status  []byte        `json:",omitempty"`
	Of      uint64        `json:",omitempty"` // the number of the request, or of the command in a container
	Port    int           `json:",omitempty"`
	Reads   bool          `json:",omitempty"` // it has a standard input
	Text    []byte        `json:",omitempty"`
}

// requested is a request as an input.
func (h *Handler) requested(req *request.Request, caller Caller) input {
	one := *req
	one.Object, one.Certificates, one.Connect = nil, nil, nil
	in := h.sentBy(caller)
	if req.Connect != nil {
		if kinds, _, err := legacyscheme.Scheme.ObjectKinds(req.Connect); err == nil {
			in.Connect = kinds[0].Kind
			in.Options, _ = json.Marshal(req.Connect) // as the request
		}
	}
	in.Request, _ = json.Marshal(&one) // plain data; should it fail, the fork says that the input cannot be read
	for _, c := range req.Certificates {
		in.Shows = append(in.Shows, c.Raw)
	}
	return in
}

func (h *Handler) sentBy(caller Caller) input {
	return input{Server: h.cfg.Name, Outside: caller.Process == h.process, Causes: caller.Causes, Waits: caller.Waits, Most: caller.Most}
}

// request is the request that an input holds.
func (in *input) request() (*request.Request, error) {
	req := &request.Request{}
	if err := json.Unmarshal(in.Request, req); err != nil {
		return nil, err
	}
	if in.Connect != "" {
		var err error
		if req.Connect, err = legacyscheme.Scheme.New(corev1.SchemeGroupVersion.WithKind(in.Connect)); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(in.Options, req.Connect); err != nil {
			return nil, err
		}
	}
	for _, der := range in.Shows {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		req.Certificates = append(req.Certificates, c)
	}
	return req, nil
}

// enter notes an input; on the kernel's goroutine.
func (h *Handler) enter(what string, in input) uint64 { return h.cfg.Kernel.Enter(what, in) }

// repeated is what a run that is run again has at this edge, where nobody reads.
type repeated struct {
	answers  map[uint64]*answer           // by the number of the request
	sessions map[uint64]*session          // by the number of the session
	ports    map[uint64]remote.Connection // by the number of the connection
}

// ServerOf is the API server, past the load balancer, that an input is for; "" is the
// balancer.
func ServerOf(raw *trace.Input) string {
	var in input
	_ = raw.Decode(&in) // Again says so
	return in.Server
}

// FromOutside reports whether an input is a request of a program outside, as against one of the
// console.
func FromOutside(raw *trace.Input) bool {
	var in input
	return raw.What == inputRequest && raw.Decode(&in) == nil && in.Outside
}

// Again lets in what entered at this edge, on the kernel's goroutine. The console's process
// is whose tasks its requests are.
func (h *Handler) Again(raw *trace.Input, console *sim.Process) (bool, error) {
	var in input
	if err := raw.Decode(&in); err != nil {
		return false, err
	}
	k := h.cfg.Kernel
	caller := Caller{Process: console, Causes: in.Causes, Waits: in.Waits, Most: in.Most}
	if in.Outside {
		caller.Process = h.process
	}
	var req *request.Request
	if len(in.Request) > 0 && raw.What != inputFetch {
		var err error
		if req, err = in.request(); err != nil {
			return false, err
		}
	}
	if h.again.answers == nil {
		h.again = repeated{map[uint64]*answer{}, map[uint64]*session{}, map[uint64]remote.Connection{}}
	}
	var status *metav1.Status
	if len(in.Status) > 0 {
		status = &metav1.Status{}
		if err := json.Unmarshal(in.Status, status); err != nil {
			return false, err
		}
	}
	if known, err := h.talk(raw, &in, caller); known || err != nil {
		return err == nil, err
	}
	number := k.Enter(raw.What, raw)
	switch raw.What {
	case inputRequest:
		k.Start(caller.Process, req.Verb+" "+req.Resource.Resource, func(t *sim.Task) {
			a := h.answer(t, req, caller, number)
			if a.feed != nil {
				a.feed.unread = true
			}
			if a.feed != nil || a.resp.Session != nil || a.resp.Ports != nil || a.resp.Proxy != nil {
				h.again.answers[number] = &a
			}
		}, nil)
	case inputAccess:
		k.Start(caller.Process, "read "+in.Path, func(t *sim.Task) { _ = h.access(t, req, in.Verb, in.Path) }, nil)
	case inputProbe:
		k.Start(caller.Process, "probe the store", func(t *sim.Task) { _ = h.probe(t, caller) }, nil)
	case inputAudit:
		k.Start(caller.Process, "audit", func(t *sim.Task) { h.audited(t, req, in.Code, status) }, nil)
	case inputStop:
		if a := h.again.answers[in.Of]; a != nil && a.feed != nil {
			a.feed.halt()
		}
	case inputClosed:
		h.closed(in.Path)
	default:
		return false, fmt.Errorf("this kviz does not know what a %s is", raw.What)
	}
	return true, nil
}

// talk lets in what has to do with a container, and reports whether an input is of that sort.
func (h *Handler) talk(raw *trace.Input, in *input, caller Caller) (bool, error) {
	k, a, one := h.cfg.Kernel, h.again.answers[in.Of], h.again.sessions[in.Of]
	switch raw.What {
	case inputSession:
		if a == nil || a.resp.Session == nil {
			return false, fmt.Errorf("request %d has opened no session", in.Of)
		}
		one := &session{h: h, streams: &stdio.Streams{TTY: a.resp.Session.TTY}, reads: in.Reads}
		if in.Reads {
			one.streams.In = stdio.NewInput(nil)
		}
		one.number = k.Enter(raw.What, raw)
		h.again.sessions[one.number] = one
		k.Start(caller.Process, "session", func(t *sim.Task) {
			t.SetCauses(caller.Causes...)
			_, _ = a.resp.Session.Run(t, one.streams) // what comes of it is in the trace
		}, nil)
	case inputFeed, inputEnd, inputLeft:
		if one == nil {
			return false, fmt.Errorf("there is no session %d", in.Of)
		}
		switch raw.What {
		case inputFeed:
			one.feed(in.Text)
		case inputLeft:
			one.close()
		default:
			var err error
			if in.Path != "" {
				err = errors.New(in.Path)
			}
			one.end(err)
		}
	case inputDial:
		if a == nil || a.resp.Ports == nil {
			return false, fmt.Errorf("request %d leads to no ports", in.Of)
		}
		number := k.Enter(raw.What, raw)
		k.Start(caller.Process, "port-forward", func(t *sim.Task) {
			t.SetCauses(caller.Causes...)
			if to, err := a.resp.Ports.Dial(t, in.Port); err == nil {
				h.again.ports[number] = to
			}
		}, nil)
	case inputFetch:
		req := &remote.Request{}
		if err := json.Unmarshal(in.Request, req); err != nil {
			return false, err
		}
		var send func(*sim.Task, *remote.Request) (remote.Answer, error)
		if to := h.again.ports[in.Of]; to != nil {
			send = to.Serve
		} else if a != nil && a.resp.Proxy != nil {
			send = a.resp.Proxy.Send
		} else {
			return false, fmt.Errorf("nothing leads from %d to a container", in.Of)
		}
		k.Enter(raw.What, raw)
		k.Start(caller.Process, req.Method+" "+req.Path, func(t *sim.Task) {
			t.SetCauses(caller.Causes...)
			_, _ = send(t, req) // likewise
		}, nil)
	default:
		return false, nil
	}
	return true, nil
}

// Leave ends what nobody reads when a repeated run becomes live: its client is not
// connected any more. It is called on the kernel's goroutine.
func (h *Handler) Leave() {
	for _, number := range slices.Sorted(maps.Keys(h.again.answers)) {
		if feed := h.again.answers[number].feed; feed != nil && feed.watch != nil && !feed.over {
			h.enter(inputStop, input{Server: h.cfg.Name, Of: number})
			feed.halt()
		}
	}
	for _, number := range slices.Sorted(maps.Keys(h.again.sessions)) {
		h.again.sessions[number].close()
	}
	h.again = repeated{}
}
