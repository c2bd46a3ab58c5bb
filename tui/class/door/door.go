// Package door is how the terminals of a class come in: an SSH server that has neither a shell nor
// commands, files or forwarding, only terminals. It hands each as a [Visit] to a [Host], which draws on it.
//
// Strangers are at the other end, thirty of them. What one of them sends (a window of four billion columns,
// a name with escape sequences, guessed codes, a flood of requests, nothing read for an hour) costs
// bounded memory and time, and ends that one visit at the most. What is refused is said in words, to the
// stranger and to the teacher ([Door.Refusals]).
//
// Simplified: the host key is the only secret of the machine, and there are no accounts. A person is the
// same as before if the same SSH key says so, or the word that was shown on the first visit.
//
// Start reading at [Door.Serve]; [Visit] is what a screen is drawn on, [Show] how.
package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"charm.land/ssh"
	"charm.land/wish/v2"
	gossh "golang.org/x/crypto/ssh"

	"kviz/tui/safe"
)

// Host receives visits, each on a goroutine of its own. A visit lasts until Receive returns, and Receive returns soon
// after ctx has ended: the client has gone, the visit was ended, the door is closed. [Door.Close] waits for
// it. An error is said to the client in its own words; a panic ends this visit only.
type Host interface {
	Receive(ctx context.Context, v *Visit) error
}

// Config is what a door needs. The zero values of all but Host and Key are usable.
type Config struct {
	Host     Host
	Key      gossh.Signer // of this machine, see [HostKey]
	Code     string       // asked of everybody who comes over the network; needed where others than this machine can come
	Reserved []string     // names that no visitor gets, as the teacher's
	Limits   Limits
}

// Door lets visitors in. It is made by [Open].
type Door struct {
	cfg      Config
	server   *ssh.Server
	names    *names
	guesses  *guesses
	refusals *refusals
	group    *safe.Group // what accepts connections and serves them

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	callers   map[*caller]struct{} // every connection
}

// Open makes a door; nobody can come in before [Door.Serve].
func Open(cfg Config) (*Door, error) {
	switch {
	case cfg.Host == nil:
		return nil, errors.New("door: nobody receives visits")
	case cfg.Key == nil:
		return nil, errors.New("door: no host key")
	}
	cfg.Limits = cfg.Limits.orUsual()
	cfg.Code = plainCode(cfg.Code)
	d := &Door{
		cfg: cfg, names: newNames(cfg.Reserved), guesses: newGuesses(), refusals: &refusals{},
		group: safe.NewGroup(nil), callers: map[*caller]struct{}{},
	}
	server, err := wish.NewServer(wish.WithVersion("kviz"), d.configure)
	if err != nil {
		return nil, fmt.Errorf("door: %w", err)
	}
	d.server = server
	return d, nil
}

// configure gives the SSH server this door's handlers in the place of all of its own: its session can do
// more than a class may.
func (d *Door) configure(s *ssh.Server) error {
	s.HandshakeTimeout = d.cfg.Limits.Handshake
	s.AddHostKey(d.cfg.Key)
	s.ConnCallback = func(ctx ssh.Context, c net.Conn) net.Conn {
		ctx.SetValue(callerKey{}, c)
		return c
	}
	s.ServerConfigCallback = func(ctx ssh.Context) *gossh.ServerConfig { return d.admission(ctx.Value(callerKey{}).(*caller)) }
	s.ChannelHandlers = map[string]ssh.ChannelHandler{
		"session": func(_ *ssh.Server, conn *gossh.ServerConn, c gossh.NewChannel, ctx ssh.Context) {
			d.session(ctx.Value(callerKey{}).(*caller), conn, c)
		},
		"default": func(_ *ssh.Server, _ *gossh.ServerConn, c gossh.NewChannel, ctx ssh.Context) {
			d.refuseChannel(ctx.Value(callerKey{}).(*caller), c)
		},
	}
	s.RequestHandlers = map[string]ssh.RequestHandler{
		"default": func(ctx ssh.Context, _ *ssh.Server, r *gossh.Request) (bool, []byte) {
			d.globalRequest(ctx.Value(callerKey{}).(*caller), r)
			return false, nil
		},
	}
	return nil
}

// callerKey is where the context of a connection keeps it.
type callerKey struct{}

// Serve lets in those who come to a listener, until the door is closed. Where others than this machine can
// come, the door must have a code.
func (d *Door) Serve(l net.Listener) error {
	if d.cfg.Code == "" && !local(l.Addr()) {
		return fmt.Errorf("door: %s can be reached from other machines, so it needs a code", l.Addr())
	}
	return d.serve(l, false)
}

// ServeOwner lets in the owner of this process, without a name or a code, by a listener that nobody else can
// reach (see [ListenOwner]). The SSH user is then the [Visit.Role].
func (d *Door) ServeOwner(l net.Listener) error { return d.serve(l, true) }

func (d *Door) serve(l net.Listener, owner bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errors.Join(ErrClosed, l.Close())
	}
	d.listeners = append(d.listeners, l)
	d.group.Go(func() { d.accept(l, owner) })
	return nil
}

// ErrClosed is the answer of a door that has been closed.
var ErrClosed = errors.New("door: closed")

// accept takes connections as they come. A listener that fails for a moment (no file descriptor left) is
// asked again a little later.
func (d *Door) accept(l net.Listener, owner bool) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || d.isClosed() {
				return
			}
			d.refusals.add(Refusal{Addr: l.Addr().String(), What: "cannot take connections: " + err.Error()})
			time.Sleep(acceptPause)
			continue
		}
		c := newCaller(d, conn, owner)
		if !d.register(c) {
			continue
		}
		d.group.Go(func() {
			defer d.unregister(c)
			defer c.Close()
			d.server.HandleConn(c)
		})
	}
}

// acceptPause is for how long a listener rests that cannot accept.
const acceptPause = 50 * time.Millisecond

func (d *Door) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// Fingerprint is that of the host key, as ssh shows it when it asks whether to go on.
func (d *Door) Fingerprint() string { return gossh.FingerprintSHA256(d.cfg.Key.PublicKey()) }

// Refusals are the newest things that were refused, oldest first.
func (d *Door) Refusals() []Refusal { return d.refusals.list() }

// Close ends all visits, each in words and with its terminal as it was, and waits until everything has ended.
func (d *Door) Close() error {
	d.mu.Lock()
	var errs []error
	if !d.closed {
		for _, l := range d.listeners {
			errs = append(errs, l.Close())
		}
	}
	d.closed = true
	for c := range d.callers {
		c.end(classOver)
	}
	d.mu.Unlock()
	d.group.Wait()
	if crash := d.group.Crash(); crash != nil {
		errs = append(errs, fmt.Errorf("door: %w", crash))
	}
	return errors.Join(errs...)
}

const classOver = "The class is over."
