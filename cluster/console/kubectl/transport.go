package kubectl

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/console/command"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// transport carries kubectl's requests into the cluster, one at a time, each
// with the command as its cause. It hides from the cluster what kubectl does by
// the machine's clock: a watch becomes a list, answered as the watch's initial
// events (the console does the waiting, see wait.go).
type transport struct {
	ctx    context.Context // of the command: kubectl's own requests know no other
	kernel *command.Kernel
	user   authn.User
	base   http.RoundTripper
	cause  trace.ID
	raw    bool // kubectl get --raw: the answer is shown as it is

	following *following       // kubectl get --watch
	untilGone *command.Changes // kubectl replace --force: a GET of what is being deleted is answered when it is gone
	mostLog   time.Duration    // kubectl logs --follow: how long, virtual; endless for ever

	with serve.Streams // kubectl exec: of the command in the container

	mu      sync.Mutex
	deleted []deletion
	shown   []*x509.Certificate // the client certificate that kubectl was given
	unfit   error               // it, or its key, is of no use
}

// deletion is an object that a DELETE was accepted for.
type deletion struct {
	path string // of the object
	uid  string
}

// RoundTrip sends one request.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unfit != nil {
		return nil, t.unfit
	}
	ctx := serve.WithCaller(t.ctx, t.caller(r))
	if t.with != (serve.Streams{}) {
		ctx = serve.WithStreams(ctx, t.with)
	}
	r = r.Clone(ctx)
	r.Header.Set("User-Agent", userAgent)
	if t.following != nil {
		return t.following.answer(t, r)
	}
	q := r.URL.Query()
	if inOrder(q) {
		r.URL.RawQuery = q.Encode()
	}
	switch watch := q.Get("watch"); {
	case t.raw && watch != "" && watch != "0" && watch != "false":
		return t.rawWatch(r, q)
	case watch == "true" || watch == "1":
		return t.watch(r, q)
	case t.mostLog > 0 && q.Get("follow") == "true":
		return t.followLog(r)
	}
	resp, err := t.send(r)
	for err == nil && t.untilGone != nil && r.Method == http.MethodGet && resp.StatusCode == http.StatusOK && t.deletes(r.URL.Path) {
		switch err := t.untilGone.Next(t.ctx); {
		case errors.Is(err, command.ErrLimit):
			p := strings.Split(r.URL.Path, "/")
			return statusResponse(r, apierrors.NewTimeoutError("timed out waiting for the condition on "+strings.Join(p[len(p)-2:], "/"), 0)), nil
		case err != nil:
			return nil, err
		}
		resp, err = t.send(r)
	}
	if err == nil && r.Method == http.MethodDelete && resp.StatusCode < 300 && q.Get("dryRun") == "" {
		t.noteDeletion(r.URL.Path, resp)
	}
	return resp, err
}

// aside sends requests of a command beside one another: each in its own context, whose turn
// it gives up while it waits for the answer.
type aside struct{ of *transport }

// RoundTrip sends one request.
func (a aside) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.of.unfit != nil {
		return nil, a.of.unfit
	}
	r = r.Clone(serve.WithCaller(r.Context(), a.of.caller(r)))
	r.Header.Set("User-Agent", userAgent)
	return a.of.send(r)
}

// inOrder puts the terms of a field selector into the order of their text, and reports whether
// there are several: kubectl describe makes the selector for an object's Events from a map, in
// another order each time (client-go GetFieldSelector).
func inOrder(q url.Values) bool {
	of := q.Get("fieldSelector")
	if !strings.Contains(of, ",") || strings.Contains(of, `\`) { // a comma of a value is escaped
		return false
	}
	terms := strings.Split(of, ",")
	slices.Sort(terms)
	q.Set("fieldSelector", strings.Join(terms, ","))
	return true
}

// caller is who sends a request: the console's user, unless kubectl shows a client
// certificate or a token (--client-certificate, --token, the user of --kubeconfig).
func (t *transport) caller(r *http.Request) serve.Caller {
	return serve.Caller{
		User: t.user, Client: "kubectl", Process: t.kernel.Process, Causes: []trace.ID{t.cause},
		Shows: len(t.shown) > 0 || r.Header.Get("Authorization") != "", Certificates: t.shown,
	}
}

// present takes the client certificate out of kubectl's configuration, as the TLS
// handshake of a real connection would: only who has its key may show it.
func (t *transport) present(c *rest.Config) {
	tc := c.TLSClientConfig
	if tc.CertFile == "" && len(tc.CertData) == 0 {
		return
	}
	loaded := &rest.Config{TLSClientConfig: tc}
	t.unfit = rest.LoadTLSFiles(loaded)
	if t.unfit != nil {
		return
	}
	pair, err := tls.X509KeyPair(loaded.CertData, loaded.KeyData)
	if err != nil {
		t.unfit = err
		return
	}
	t.shown, t.unfit = nil, nil
	for _, der := range pair.Certificate {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.unfit = err
			return
		}
		t.shown = append(t.shown, cert)
	}
}

// send sends a request and reads the whole answer, so that nothing of the
// request is left when it returns.
func (t *transport) send(r *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return resp, nil
}

// noteDeletion remembers what is being deleted, for a delete that waits.
func (t *transport) noteDeletion(p string, resp *http.Response) {
	b, _ := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(b))
	var body struct {
		Kind     string
		Metadata struct{ UID string }
		Details  *metav1.StatusDetails
	}
	_ = json.Unmarshal(b, &body)
	d := deletion{path: p, uid: body.Metadata.UID}
	if body.Details != nil {
		d.uid = string(body.Details.UID)
	}
	t.deleted = append(t.deleted, d)
}

// deletes reports whether a DELETE of the object at a path was accepted.
func (t *transport) deletes(path string) bool {
	return slices.ContainsFunc(t.deleted, func(d deletion) bool { return d.path == path })
}

// gone reports whether the object at a path is not there any more, or is
// another one of the same name.
func (t *transport) gone(d deletion) (bool, error) {
	r, err := http.NewRequestWithContext(t.ctx, http.MethodGet, "http://kviz"+d.path, nil)
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := t.RoundTrip(r)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusForbidden, http.StatusMethodNotAllowed: // as kubectl: if we may not look, we do not wait
		return true, nil
	case http.StatusOK:
	default:
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return false, fmt.Errorf("%s: %s", resp.Status, b)
	}
	var body struct{ Metadata struct{ UID string } }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return false, err
	}
	return d.uid != "" && body.Metadata.UID != d.uid, nil
}

// watch answers a watch with what is there now: ADDED for each object, the
// bookmark that ends the initial events, and then silence until kubectl, which
// runs in a form that looks once, has seen enough.
func (t *transport) watch(r *http.Request, q url.Values) (*http.Response, error) {
	for _, name := range []string{"watch", "sendInitialEvents", "allowWatchBookmarks", "resourceVersionMatch", "timeoutSeconds", "resourceVersion"} {
		q.Del(name)
	}
	r.URL.RawQuery = q.Encode()
	r.Header.Set("Accept", "application/json")
	resp, err := t.send(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	var list struct {
		APIVersion string                     `json:"apiVersion"`
		Kind       string                     `json:"kind"`
		Metadata   map[string]json.RawMessage `json:"metadata"`
		Items      []map[string]any           `json:"items"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, fmt.Errorf("the list behind a watch: %w", err)
	}
	kind := strings.TrimSuffix(list.Kind, "List")
	var b bytes.Buffer
	write := func(event string, object map[string]any) {
		object["apiVersion"], object["kind"] = list.APIVersion, kind
		line, _ := json.Marshal(map[string]any{"type": event, "object": object})
		b.Write(append(line, '\n'))
	}
	for _, item := range list.Items {
		write("ADDED", item)
	}
	var revision string
	_ = json.Unmarshal(list.Metadata["resourceVersion"], &revision)
	write("BOOKMARK", map[string]any{"metadata": map[string]any{
		"resourceVersion": revision, "creationTimestamp": nil,
		"annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
	}})
	done, cancel := context.WithCancel(r.Context())
	resp.Header = http.Header{"Content-Type": {"application/json"}}
	resp.Body, resp.ContentLength = &silence{Reader: bytes.NewReader(b.Bytes()), ctx: done, cancel: cancel}, -1
	return resp, nil
}

// rawWatch is a watch whose events a person wants to see as they come over the
// wire. It lasts timeoutSeconds of virtual time, which passes for it, and is
// shown when it is over.
func (t *transport) rawWatch(r *http.Request, q url.Values) (*http.Response, error) {
	n, err := strconv.Atoi(q.Get("timeoutSeconds"))
	if err != nil || n < 1 {
		return statusResponse(r, errNoTimeout), nil
	}
	caller := t.caller(r)
	caller.Waits = true
	if sim.TurnOf(t.ctx) == nil {
		return t.send(r.WithContext(serve.WithCaller(t.ctx, caller)))
	}
	f := &following{feed: &serve.Feed{}, wake: make(chan struct{}, 1)}
	caller.Feed = f.feed
	ctx, stop := context.WithCancel(context.WithoutCancel(t.ctx))
	defer stop()
	resp, err := t.base.RoundTrip(r.WithContext(serve.WithCaller(ctx, caller)))
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	f.watch = resp
	t.kernel.Beside("kubectl get --raw of a watch", f.read)
	for ended := false; !ended; {
		_, ended = f.await(t.ctx, t.kernel, t.cause)
	}
	stop()
	f.drain()
	b, _ := f.events()
	return answer{resp.StatusCode, resp.Header, b}.response(r), nil
}

// endless is how long a log is followed that only the user ends.
const endless = 1 << 62

// followLog opens a log, which kubectl prints as it comes.
func (t *transport) followLog(r *http.Request) (*http.Response, error) {
	caller := t.caller(r)
	caller.Waits = true
	if t.mostLog != endless {
		caller.Most = t.mostLog
	}
	return t.base.RoundTrip(r.WithContext(serve.WithCaller(t.ctx, caller)))
}

var errNoTimeout = errors.New("a watch by hand has to say how long it lasts: add timeoutSeconds=N (seconds of virtual time) to the path")

// silence is a body that, when it has been read, does not end before it is
// closed.
type silence struct {
	io.Reader
	ctx    context.Context
	cancel context.CancelFunc
}

func (s *silence) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		<-s.ctx.Done()
		return n, io.EOF
	}
	return n, err
}

func (s *silence) Close() error {
	s.cancel()
	return nil
}

// statusResponse is an error as the API server would answer it.
func statusResponse(r *http.Request, err error) *http.Response {
	s := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: err.Error(),
	}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		s = known.Status()
		s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	}
	b, _ := json.Marshal(s)
	return &http.Response{
		StatusCode: int(s.Code), Status: fmt.Sprintf("%d %s", s.Code, http.StatusText(int(s.Code))), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b)),
	}
}
