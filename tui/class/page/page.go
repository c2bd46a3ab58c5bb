// Package page shows a class in a browser: for telephones, and for students without ssh. It is the teacher's stage as on the
// projector: the picture as a drawing, and below it as text what is said, asked, answered and to be done.
//
// Who looks on only reads, and that by type: the page is given what the teacher shows and the room's state, and nothing by which
// a cluster or a room is changed. It says neither names nor answers of students; what the class said stands on it once the poll
// is shown, in numbers.
//
// The page works without script, by being loaded again every few seconds, and with a small script that hears of each change by
// server-sent events. It is plain HTTP and fetches nothing from elsewhere.
//
// Simplified: all readers who have typed the code have the same cookie, so the page cannot tell them apart, and takes no answers.
//
// Start reading at [Page.ServeHTTP], then [sheet].
package page

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/lead"
	"kviz/tui/pane"
	"kviz/tui/safe"
)

// Lead is what the teacher shows.
type Lead interface {
	Scene() *lead.Scene
	LookAs(given map[string]lessons.Answer) lessons.Look
}

// Room is who takes part. It is read.
type Room interface{ State() *class.State }

// Door is what knows the class's code.
type Door interface {
	Code() string                // "" if nobody is asked for one
	Try(addr, code string) error // nil if it is the code; the error is in words for the one who typed it
}

// Config is a class that is shown.
type Config struct {
	Lead    Lead
	Room    Room
	Door    Door
	Panes   []pane.Maker
	Teacher string // what students read: "ada"
	Title   string // "L09 Kill the leader"
	Lang    string // of the lesson's texts; "" is English
	Join    string // the line by which students come in to answer; "" for none
	Limits  Limits

	// Changes gives channels that are closed with the next change of the scene, and of the room.
	Changes func() (scene, room <-chan struct{})
}

// Page is a class in a browser. It is made by [New], and is a handler.
type Page struct {
	cfg     Config
	crowd   *crowd
	boards  []*board // one for each size
	cookie  string   // what a browser shows that has typed the code
	known   [32]byte // its hash
	streams atomic.Int64
	cross   *http.CrossOriginProtection
	over    chan struct{} // closed when the class is over

	mu     sync.Mutex
	server *http.Server
	local  bool // only this machine can reach it
	group  *safe.Group
}

// New makes the page of a class.
func New(cfg Config) *Page {
	cfg.Limits = cfg.Limits.orUsual()
	p := &Page{cfg: cfg, cookie: rand.Text(), cross: http.NewCrossOriginProtection(), over: make(chan struct{}), group: safe.NewGroup(nil)}
	p.known = sha256.Sum256([]byte(p.cookie))
	epoch := rand.Text()[:8]
	for _, s := range sizes {
		p.boards = append(p.boards, newBoard(s, epoch, cfg))
	}
	return p
}

// Serve serves the page at a listener, beside the caller, until [Page.Close]. Where others than this machine can come, the
// class must have a code.
func (p *Page) Serve(l net.Listener) error {
	tcp, ok := l.Addr().(*net.TCPAddr)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.local = ok && tcp.IP.IsLoopback(); !p.local && p.cfg.Door.Code() == "" {
		return errors.Join(fmt.Errorf("the page: %s can be reached from other machines, so the class needs a code", l.Addr()), l.Close())
	}
	p.crowd = newCrowd(l)
	p.server = &http.Server{
		Handler: p, ErrorLog: log.New(io.Discard, "", 0), MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: p.cfg.Limits.Header, ReadTimeout: p.cfg.Limits.Header, WriteTimeout: p.cfg.Limits.Stalled, IdleTimeout: p.cfg.Limits.Idle,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, guestKey{}, c) },
	}
	server, crowd := p.server, p.crowd
	p.group.Go(func() { _ = server.Serve(crowd) }) // it ends with Close
	return nil
}

// Close says on every page that the class is over, and waits until nothing is served any more.
func (p *Page) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	close(p.over)
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	err := p.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) { // somebody does not read
		err = p.server.Close()
	}
	p.server = nil
	p.group.Wait()
	if crash := p.group.Crash(); crash != nil {
		err = errors.Join(err, crash)
	}
	return err
}

// Looking is how many look on now, by pages that hear of changes.
func (p *Page) Looking() int { return int(p.streams.Load()) }

// admitted reports whether a request comes from a browser that has typed the code, or needs none.
func (p *Page) admitted(r *http.Request) bool {
	if p.cfg.Door.Code() == "" {
		return true
	}
	c, err := r.Cookie(cookieName)
	if err != nil {
		return false
	}
	is := sha256.Sum256([]byte(c.Value))
	return subtle.ConstantTimeCompare(is[:], p.known[:]) == 1
}

const cookieName = "kviz-class"

// Limits bound what those who look on may cost. A zero field stands for the usual value.
type Limits struct {
	Viewers int           // pages that hear of changes at the same time: 100
	Header  time.Duration // for a request to be there: 5 s
	Idle    time.Duration // for which a connection stands without a request: 20 s
	Stalled time.Duration // for a browser that takes nothing of what it is sent: 10 s
}

func (l Limits) orUsual() Limits {
	if l.Viewers <= 0 {
		l.Viewers = 100
	}
	for _, f := range []struct {
		is    *time.Duration
		usual time.Duration
	}{{&l.Header, 5 * time.Second}, {&l.Idle, 20 * time.Second}, {&l.Stalled, 10 * time.Second}} {
		if *f.is <= 0 {
			*f.is = f.usual
		}
	}
	return l
}

const (
	maxHeader = 8 << 10
	maxBody   = 1 << 10
	maxCode   = 100
	farewell  = 2 * time.Second // for the last words to arrive
)
