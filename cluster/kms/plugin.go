// Package kms is a KMS v2 plugin: the process beside the API server that holds the
// key encryption keys. The API server encrypts objects with data keys of its own
// making; the plugin encrypts those keys, so that what is in the store is of no use
// without the plugin.
//
// The interface is Kubernetes' (k8s.io/kms/pkg/service Service: Status, Encrypt,
// Decrypt). Simplified: calls go from task to task instead of over gRPC on a
// Unix socket, whatever its path; the keys are in the plugin's memory, which
// stands for the vault or security module behind a real one and outlives its
// process. Start reading at [Plugin.Dial].
package kms

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/kms/pkg/service"

	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simulated,
	What: "the KMS plugin is called from task to task instead of over a Unix socket; its keys outlive its process, as those in a vault would",
	Seen: "kviz apiserver encryption",
})

// latency is how long the plugin takes for one call.
const latency = 2 * time.Millisecond

// version is what the plugin's Status says it speaks.
const version = "v2"

// Plugin is the plugin and its keys. Its methods may be called only on the
// kernel's goroutine.
type Plugin struct {
	rand    *rand.Rand
	keys    []cipher.AEAD // the newest encrypts, all decrypt
	p       *sim.Process
	calls   *sim.Mailbox[*call]
	started sim.Cond
}

// New makes a plugin with one key. It answers nobody before [Plugin.Start].
func New(k *sim.Kernel) *Plugin {
	g := &Plugin{rand: k.Rand("kms")}
	g.Rotate()
	return g
}

// Start serves calls as process p, until that is killed.
func (g *Plugin) Start(p *sim.Process) {
	g.p, g.calls = p, &sim.Mailbox[*call]{}
	calls := g.calls
	var now *call
	p.Go("serve", func(t *sim.Task) {
		for {
			c, ok := calls.Recv(t)
			if !ok {
				return
			}
			now = c
			t.SetCauses(c.causes...)
			t.Sleep(latency)
			c.serve(t, g)
			now = nil
		}
	}).OnEnd(func() {
		if now != nil {
			now.end(errGone)
		}
		for calls.Len() > 0 {
			c, _ := calls.TryRecv()
			c.end(errGone)
		}
	})
	g.started.Broadcast()
}

// Up reports whether the plugin's process runs.
func (g *Plugin) Up() bool { return g.p != nil && g.p.Alive() }

// Rotate makes a new key encryption key, which from now on encrypts; the older
// ones still decrypt.
func (g *Plugin) Rotate() {
	key := make([]byte, 32)
	sim.Fill(g.rand, key) // where a real plugin has its security module
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the length is right
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // likewise
	}
	g.keys = append(g.keys, aead)
}

// KeyID names the key that encrypts.
func (g *Plugin) KeyID() string { return keyID(len(g.keys)) }

func keyID(n int) string { return "kek-" + strconv.Itoa(n) }

func (g *Plugin) encrypt(plain []byte) *service.EncryptResponse {
	key := g.keys[len(g.keys)-1]
	nonce := make([]byte, key.NonceSize())
	sim.Fill(g.rand, nonce)
	return &service.EncryptResponse{
		Ciphertext: key.Seal(nonce, nonce, plain, nil), KeyID: g.KeyID(),
		Annotations: map[string][]byte{"version.kms.kviz.dev": []byte("1")},
	}
}

func (g *Plugin) decrypt(req *service.DecryptRequest) ([]byte, error) {
	for i, key := range g.keys {
		if keyID(i+1) != req.KeyID {
			continue
		}
		n := key.NonceSize()
		if len(req.Ciphertext) < n {
			return nil, errors.New("the ciphertext is too short")
		}
		return key.Open(nil, req.Ciphertext[:n], req.Ciphertext[n:], nil)
	}
	return nil, fmt.Errorf("there is no key %q", req.KeyID)
}

// call is one call on its way to the plugin and back.
type call struct {
	method string
	keyID  string
	do     func() error
	causes []trace.ID
	err    error
	over   bool
	wait   sim.Cond
}

func (c *call) serve(t *sim.Task, g *Plugin) {
	if c.over {
		return // nobody waits for it any more
	}
	err := c.do()
	payload := &trace.KMSCall{Method: c.method, KeyID: c.keyID}
	if c.keyID == "" {
		payload.KeyID = g.KeyID()
	}
	if err != nil {
		payload.Error = err.Error()
		err = status.Error(codes.Unknown, err.Error())
	}
	t.Emit(trace.Event{Kind: trace.KMSCalled, Payload: payload})
	c.end(err)
}

func (c *call) end(err error) {
	c.err, c.over = err, true
	c.wait.Broadcast()
}

// errGone is what a gRPC client gets whose server dies during a call.
var errGone = status.Error(codes.Unavailable, "error reading from server: EOF")

// conn is a client's connection.
type conn struct {
	g       *Plugin
	path    string
	timeout time.Duration
}

// Dial is a connection to the plugin for the endpoint that a configuration names
// (unix:///path). Calls take a context of [Context], and fail as upstream's gRPC
// client does: while nobody listens, after timeout of virtual time
// (envelope/kmsv2/grpc_service.go).
func (g *Plugin) Dial(path string, timeout time.Duration) service.Service {
	return &conn{g: g, path: path, timeout: timeout}
}

// Status asks whether the plugin is well and which key it uses.
func (c *conn) Status(ctx context.Context) (*service.StatusResponse, error) {
	var resp *service.StatusResponse
	err := c.call(ctx, &call{method: "Status", do: func() error {
		resp = &service.StatusResponse{Version: version, Healthz: "ok", KeyID: c.g.KeyID()}
		return nil
	}})
	return resp, err
}

// Encrypt has the plugin encrypt a data key.
func (c *conn) Encrypt(ctx context.Context, _ string, plain []byte) (*service.EncryptResponse, error) {
	var resp *service.EncryptResponse
	err := c.call(ctx, &call{method: "Encrypt", do: func() error {
		resp = c.g.encrypt(plain)
		return nil
	}})
	return resp, err
}

// Decrypt has the plugin decrypt a data key.
func (c *conn) Decrypt(ctx context.Context, _ string, req *service.DecryptRequest) ([]byte, error) {
	var plain []byte
	err := c.call(ctx, &call{method: "Decrypt", keyID: req.KeyID, do: func() (err error) {
		plain, err = c.g.decrypt(req)
		return err
	}})
	return plain, err
}

func (c *conn) call(ctx context.Context, call *call) error {
	t, ok := ctx.Value(taskKey{}).(*sim.Task)
	if !ok {
		return status.Error(codes.Unavailable, "the caller cannot wait for an answer")
	}
	deadline := t.Elapsed() + c.timeout
	for !c.g.Up() {
		left := deadline - t.Elapsed()
		if left <= 0 {
			return c.unreachable()
		}
		c.g.started.WaitTimeout(t, left)
	}
	call.causes = t.Causes()
	c.g.calls.Send(call)
	for !call.over {
		left := deadline - t.Elapsed()
		if left <= 0 {
			call.over = true
			return status.Error(codes.DeadlineExceeded, "context deadline exceeded")
		}
		call.wait.WaitTimeout(t, left)
	}
	return call.err
}

// unreachable is what gRPC says of a socket at which nobody listens.
func (c *conn) unreachable() error {
	return status.Error(codes.DeadlineExceeded, fmt.Sprintf(
		`latest balancer error: connection error: desc = "transport: Error while dialing: dial unix %s: connect: connection refused"`, c.path))
}

type taskKey struct{}

// Context is a context for calls by task t, which waits for them; without a task
// every call fails at once.
func Context(t *sim.Task) context.Context {
	if t == nil {
		return context.Background()
	}
	return context.WithValue(context.Background(), taskKey{}, t)
}

// Now is the virtual time of the task that a context is for.
func Now(ctx context.Context) (time.Time, bool) {
	t, ok := ctx.Value(taskKey{}).(*sim.Task)
	if !ok {
		return time.Time{}, false
	}
	return t.Now(), true
}
