package proof

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/cluster/webhook"
	"kviz/raftstore"
)

// said is what the server of a webhook answers to one request.
type said struct {
	after   time.Duration
	code    int
	kind    string // Content-Type
	retry   string // Retry-After
	body    string
	refused bool // nobody listens
	cut     bool // it breaks off without an answer
}

// inquiry is one question of a review, some time after the one before.
type inquiry struct {
	pause time.Duration
	body  string // a TokenReview or SubjectAccessReview, whose status is the answer
	twice bool   // two ask it at once
}

// review is a case: questions to an API server with a webhook, and what the webhook's
// server answers, the last for ever.
type review struct {
	name    string
	config  string // AuthorizationConfiguration; "" for a token webhook
	answers []said
	asks    []inquiry
}

// told is what came of one question.
type told struct {
	status string
	took   time.Duration
	seen   []string // by the webhook's server
}

// judges are upstream's and kviz' sides of the reviews: they answer a case.
type judges struct {
	upstream func(t *testing.T, r *review, dial dialer) func(body string) string
	resource schema.GroupVersionResource
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// desk is the webhook's server on both sides.
type desk struct {
	answers []said
	seen    []string
}

func (d *desk) next() said {
	s := d.answers[0]
	if len(d.answers) > 1 {
		d.answers = d.answers[1:]
	}
	return s
}

// computing is the time that kviz' clock takes at most to compute with one byte of a long question.
const computing = 20 * time.Nanosecond

// compareReviews has both judge every case. Upstream runs in a bubble of testing/synctest, over TLS on pipes,
// and kviz in virtual time, so that nobody waits, and time-outs and the age of answers are exact.
func compareReviews(t *testing.T, j judges, cases []review) {
	t.Helper()
	asked, differ := 0, 0
	for i := range cases {
		r := &cases[i]
		got := kvizReviews(t, j, r)
		var want []told
		synctest.Test(t, func(t *testing.T) { want = upstreamReviews(t, j, r) })
		for k := range want {
			asked++
			a, b := want[k], got[k]
			retried := len(a.seen) > 1 && max(a.took, b.took) <= min(a.took, b.took)*12/10 // the pauses are drawn
			computed := b.took >= a.took && b.took-a.took <= time.Duration(len(r.asks[k].body))*computing
			if a.status != b.status || strings.Join(a.seen, "\n") != strings.Join(b.seen, "\n") || a.took != b.took && !retried && !computed {
				differ++
				t.Errorf("%s, question %d: %s\nanswers: %+v\nkube-apiserver: %s\n  after %v, has seen %d: %s\nkviz:           %s\n  after %v, has seen %d: %s", r.name, k+1, r.asks[k].body, r.answers,
					a.status, a.took, len(a.seen), strings.Join(a.seen, "  "), b.status, b.took, len(b.seen), strings.Join(b.seen, "  "))
			}
		}
	}
	t.Logf("%d cases, %d questions, %d differ", len(cases), asked, differ)
	if len(cases) < 100 {
		t.Errorf("only %d cases", len(cases))
	}
}

// backoff is that of kube-apiserver's webhooks.
func backoff() *wait.Backoff {
	b := webhookutil.DefaultRetryBackoffWithInitialDelay(500 * time.Millisecond)
	return &b
}

// certificate is one that is signed quickly.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{tokenServer + ".webhooks.kviz.dev", accessServer + ".webhooks.kviz.dev"}, NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// pipes is a listener without a network.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.over:
	default:
		close(p.over)
	}
	return nil
}

func (p *pipes) Addr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(webhook.Address), Port: 443}
}

// timedOut is what Go's HTTP client says where its own time-out and the context's end in the same moment: in a
// bubble they do, and it is undecided which is noticed; otherwise the context's is some microseconds before.
var timedOut = regexp.MustCompile(`(context deadline exceeded|net/http: request canceled) \(Client\.Timeout exceeded while awaiting headers\)`)

func upstreamReviews(t *testing.T, j judges, r *review) []told {
	d, l := &desk{answers: r.answers}, &pipes{make(chan net.Conn), make(chan struct{})}
	var now said // what the connection that was opened last is for
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s := now
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		d.seen = append(d.seen, req.URL.Path+" "+string(body))
		select {
		case <-time.After(s.after):
		case <-req.Context().Done():
			return
		}
		if s.cut {
			panic(http.ErrAbortHandler)
		}
		w.Header()["Content-Type"] = nil // nobody guesses
		if s.kind != "" {
			w.Header().Set("Content-Type", s.kind)
		}
		if s.retry != "" {
			w.Header().Set("Retry-After", s.retry)
		}
		w.WriteHeader(s.code)
		_, _ = w.Write([]byte(s.body)) // who asked may have gone
	}))
	srv.Listener = l
	srv.Config.SetKeepAlivesEnabled(false)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{certificate()}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // who does not wait any more has gone
	srv.StartTLS()
	defer srv.Close()
	var open []net.Conn
	dial := func(context.Context, string, string) (net.Conn, error) {
		if now = d.next(); now.refused {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.Addr(), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		ours, theirs := net.Pipe()
		open = append(open, ours)
		l.conns <- theirs
		return ours, nil
	}
	ask := j.upstream(t, r, dial)
	var out []told
	for _, a := range r.asks {
		time.Sleep(a.pause + 1) // an answer with no time to live is remembered for no time at all
		began, seen := time.Now(), len(d.seen)
		status, beside := "", make(chan string, 1)
		if a.twice {
			go func() { beside <- ask(a.body) }() // it ends within the bubble
		}
		if status = ask(a.body); a.twice {
			status += " and " + <-beside
		}
		status = timedOut.ReplaceAllString(status, "context deadline exceeded")
		out = append(out, told{status, time.Since(began).Round(time.Microsecond), d.seen[seen:]})
		for _, c := range open {
			_ = c.Close() // nobody reads from it any more
		}
		open = nil
		synctest.Wait()
	}
	return out
}

// webhooks are the servers that kviz finds outside: the desk.
type webhooks struct {
	*desk
	k *sim.Kernel
}

// Host is apiserver.Webhooks.
func (w *webhooks) Host(string) string { return "desk" }

// Image is apiserver.Webhooks.
func (w *webhooks) Image(string) string { return "" }

// Send is apiserver.Webhooks.
func (w *webhooks) Send(t *sim.Task, _, path string, body []byte) *remote.Call {
	s := w.next()
	if s.refused {
		return nil
	}
	w.seen = append(w.seen, path+" "+string(body))
	p := w.k.NewProcess(trace.Lane{Component: trace.CompWebhook})
	server := &remote.Server{Handle: func(t *sim.Task, _ *remote.Request) remote.Answer {
		t.Sleep(s.after)
		h := http.Header{}
		if s.kind != "" {
			h.Set("Content-Type", s.kind)
		}
		if s.retry != "" {
			h.Set("Retry-After", s.retry)
		}
		return remote.Answer{Code: s.code, Header: h, Body: []byte(s.body)}
	}}
	server.Start(p)
	c := server.Send(t, remote.Request{Method: http.MethodPost, Path: path, Body: body})
	if s.cut {
		w.k.NewProcess(trace.Lane{Component: trace.CompWebhook}).Go("cut", func(t *sim.Task) {
			t.Sleep(s.after)
			p.Kill()
		})
	}
	return c
}

func kvizReviews(t *testing.T, j judges, r *review) []told {
	t.Helper()
	k := sim.New(sim.Config{Seed: 1, Sink: trace.NewStream(10)})
	store := raftstore.OpenBare()
	d := &webhooks{desk: &desk{answers: r.answers}, k: k}
	process := func() *sim.Process { return k.NewProcess(trace.Lane{Component: trace.CompAPIServer}) }
	first := process()
	server := apiserver.New(first, storage.New(k, store), apiserver.Config{Webhooks: d, Cost: apiserver.Cost{Access: 1}})
	var out []told
	admin := authn.Admin()
	k.NewProcess(trace.Lane{Component: trace.CompConsole}).Go("ask", func(task *sim.Task) {
		defer k.Stop()
		name, file := "authorization", []byte(r.config)
		if r.config == "" {
			name, file = "token-webhook", webhook.Kubeconfig(tokenServer)
		}
		first.Kill() // it reads the file when it starts
		if err := server.ConfigFiles().Write(task, name, file); err != nil {
			t.Error(r.name, err)
			return
		}
		server.Restart(process())
		server.WaitReady(task)
		for _, a := range r.asks {
			task.Sleep(a.pause + 1)
			began, seen := task.Elapsed(), len(d.seen)
			ask := func(task *sim.Task) string {
				resp := server.Handle(task, &request.Request{Verb: "create", Resource: j.resource, Body: []byte(a.body), ContentType: "application/json", User: &admin})
				if resp.Err != nil {
					return "error: " + resp.Err.Error()
				}
				return statusJSON(t, resp.Object)
			}
			status, beside := "", &sim.Mailbox[string]{}
			if a.twice {
				k.NewProcess(trace.Lane{Component: trace.CompConsole}).Go("beside", func(task *sim.Task) { beside.Send(ask(task)) })
			}
			if status = ask(task); a.twice {
				other, _ := beside.Recv(task)
				status += " and " + other
			}
			out = append(out, told{status, (task.Elapsed() - began).Round(time.Microsecond), d.seen[seen:]})
		}
	})
	if err := errors.Join(k.Run(t.Context()), store.Close()); err != nil {
		t.Fatal(r.name, err)
	}
	return out
}

// The servers of package webhook whose kubeconfigs both sides read.
const (
	tokenServer  = "token-review"
	accessServer = "access-review"
)

// kubeconfigFile writes such a kubeconfig for upstream, which checks certificates.
func kubeconfigFile(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), server)
	text := strings.Replace(string(webhook.Kubeconfig(server)), "    server:", "    insecure-skip-tls-verify: true\n    server:", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// statusJSON is the status of an object, with its keys in order.
func statusJSON(t *testing.T, obj any) string {
	t.Helper()
	data, err := json.Marshal(obj)
	var m struct{ Status map[string]any }
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err == nil {
		data, err = json.Marshal(m.Status)
	}
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// failures are what a webhook's server can answer that is no verdict: ok is a good
// answer, other one of another version of the kind.
func failures(kind, ok, other string) (cases []review) {
	add := func(name string, answers ...said) { cases = append(cases, review{name: name, answers: answers}) }
	for _, body := range []string{
		"", "{", "[]", "null", `"yes"`, "{}", "\x00\x01", "plain words", ok + "x", ok + ok, other,
		`{"kind":"` + kind + `"}`, strings.Replace(ok, kind, "Pod", 1), strings.Replace(ok, kind, "Unheard", 1), `{"kind":"Pod","apiVersion":"v1"}`,
		`{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"we are out","reason":"Forbidden","code":403}`,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"come again","reason":"InternalError","code":500}`,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"come again","details":{"retryAfterSeconds":3},"code":503}`,
		strings.Replace(ok, `"status":{`, `"status":{"unheard":1,`, 1), strings.Replace(ok, `"status":{`, `"status":"`, 1), strings.Replace(ok, "true", `"yes"`, 1),
		strings.ReplaceAll(strings.ReplaceAll(ok, `"authenticated"`, `"Authenticated"`), `"allowed"`, `"Allowed"`), " \n" + ok + "\n ",
		"kind: " + kind + "\napiVersion: " + strings.Split(strings.Split(ok, `"apiVersion":"`)[1], `"`)[0] + "\nstatus: {authenticated: true, allowed: true}\n",
	} {
		for _, kind := range []string{"", "application/json", "text/html; charset=utf-8", "application/yaml", "nonsense/"} {
			if kind == "" || len(body)%3 == 0 {
				add(fmt.Sprintf("200 %q as %q", body, kind), said{code: 200, kind: kind, body: body})
			}
		}
	}
	long := strings.Repeat("<long> & \"wide\" ", 300)
	failure := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"because","reason":"Conflict","code":409}`
	i := 0
	for _, code := range []int{201, 202, 203, 204, 206, 207, 226, 304, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 418, 422, 429, 500, 501, 502, 503, 504, 505, 599} {
		for _, body := range []string{ok, "", " in plain words\n", failure, `{"status":"Failure","message":"bare"}`, `{"kind":"Status","status":"Success"}`, long} {
			if i++; code == 204 || code == 304 {
				body = ""
			}
			as := []string{"", "application/json", "text/plain", "x;y;z"}[i%4]
			if code == 304 {
				as = "" // Go's server says none
			}
			add(fmt.Sprintf("%d %.20q as %q", code, body, as), said{code: code, kind: as, body: body})
		}
	}
	good := said{code: 200, body: ok}
	bad := func(code int, after time.Duration, retry string) said {
		return said{code: code, body: "no", after: after, retry: retry}
	}
	refused, cut := said{refused: true}, said{cut: true}
	add("refused", refused)
	add("refused, then there", refused, good)
	add("cut", cut)
	add("cut after a while", said{cut: true, after: 2 * time.Second}, good)
	for _, code := range []int{400, 408, 429, 500, 502, 503, 504} {
		add(fmt.Sprintf("%d, then good", code), bad(code, 0, ""), good)
		add(fmt.Sprintf("%d four times, then good", code), bad(code, 0, ""), bad(code, 0, ""), bad(code, 0, ""), bad(code, 0, ""), good)
		for _, retry := range []string{"0", "1", "4", "29", "30", "31", "soon", "-1", "Wed, 21 Oct 2015 07:28:00 GMT"} {
			add(fmt.Sprintf("%d with Retry-After %s, then good", code, retry), bad(code, 0, retry), good)
		}
		add(fmt.Sprintf("%d with Retry-After 1 for ever", code), bad(code, 0, "1"))
		add(fmt.Sprintf("%d with Retry-After 0 for ever", code), bad(code, 0, "0"))
		add(fmt.Sprintf("%d after 1 s for ever", code), bad(code, time.Second, ""))
		add(fmt.Sprintf("%d after 9 s, then slow", code), bad(code, 9*time.Second, ""), said{code: 200, body: ok, after: 40 * time.Second})
	}
	for _, after := range []time.Duration{time.Millisecond, 2 * time.Second, 3*time.Second - 1, 3*time.Second + 1, 10 * time.Second, 29 * time.Second, 30*time.Second + 1, time.Hour} {
		add(fmt.Sprintf("good after %v", after), said{code: 200, body: ok, after: after}, good)
		add(fmt.Sprintf("500 after %v", after), bad(500, after, ""), good)
	}
	return cases
}
