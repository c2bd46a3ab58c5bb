package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	gossh "golang.org/x/crypto/ssh"

	"kviz/tui/safe"
)

// Visit is one terminal that came in. It is used by one program after another: each takes an [Visit.Input] of its own
// and writes to Out; [Show] does so for a Bubble Tea program.
type Visit struct {
	Name    string   // as it may stand on every screen, and nobody else's; empty for the owner
	Word    string   // shown to the visitor: who types it later is the same; empty for the owner
	Role    string   // of the owner: the SSH user, as "notes"; empty for a visitor
	Addr    string   // without the port
	Environ []string // TERM, and where the client sent them COLORTERM, LANG, NO_COLOR

	// Out is the terminal. What is written waits in a bounded queue, and a Write for room in it, while the client is slow.
	// So nobody may wait for a program that draws on it: tell it that there is something new, and let it look.
	Out io.Writer

	caller *caller
	conn   gossh.Conn
	ch     gossh.Channel
	size   *size
	keys   *keys
	out    *outlet
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newVisit(t *terminal) *Visit {
	c := t.caller
	v := &Visit{Addr: c.addr, Environ: t.environ, caller: c, conn: t.conn, ch: t.ch, size: t.size, keys: newKeys()}
	v.ctx, v.cancel = context.WithCancelCause(context.Background())
	v.out = newOutlet(t.ch, c.door.cfg.Limits.Stalled, v.stalled)
	v.Out = v.out
	return v
}

// Size is how large the terminal is now, from 1x1 to 500x200.
func (v *Visit) Size() (width, height int) { return v.size.get() }

// Resized holds something after the size has changed. It is for one reader at a time.
func (v *Visit) Resized() <-chan struct{} { return v.size.changed }

// Input is what is typed from now on, until ctx ends or Input is asked for again; then it gives io.EOF, and takes no key
// that it has not given.
func (v *Visit) Input(ctx context.Context) io.ReadCloser { return v.keys.read(ctx) }

// End ends the visit with a sentence, which is the last line on the visitor's terminal.
func (v *Visit) End(sentence string) { v.cancel(ended(sentence)) }

// ended is why a visit ended, for its visitor to read.
type ended string

func (e ended) Error() string { return string(e) }

const (
	cameInAgain  = "You came in again from another terminal, so this one is closed."
	longEnough   = "This terminal was open for %s, which is the most. Come in again."
	brokeDown    = "This screen broke down, and the class goes on: come in again. The teacher sees what happened."
	typedTooMuch = "More was typed than could be read, so this terminal is closed. Come in again."
)

// run is the visit from its first to its last byte.
func (v *Visit) run() {
	group := safe.NewGroup(nil)
	group.Go(v.out.run)
	group.Go(v.pump)
	if !v.caller.owner {
		group.Go(v.watch)
	}
	stop := context.AfterFunc(v.ctx, v.out.drop)
	err := v.receive()
	why := context.Cause(v.ctx)
	stop()
	v.cancel(err) // what is typed now is read by nobody
	words, status := v.lastWords(err, why)
	switch {
	case errors.Is(why, errGone):
		v.out.giveUp()
	case why != nil:
		v.out.drop()
		v.caller.farewell()
	} // else the visit is over by itself, and what it drew last is worth waiting for
	v.out.finish(words)
	v.caller.farewell()
	v.caller.hangUp(v.ch, status)
	group.Wait()
}

// receive waits until nobody else is on a terminal under the same name, and has the host receive the visit.
func (v *Visit) receive() (err error) {
	if c := v.caller; c.owner {
		v.Role = plainValue(c.user)
	} else if cl := c.claim; cl != nil {
		v.Name, v.Word = cl.name, cl.word
		for _, other := range cl.others(c) {
			other.end(cameInAgain)
		}
		select {
		case cl.turn <- struct{}{}:
			defer func() { <-cl.turn }()
		case <-v.ctx.Done():
			return nil
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = &safe.Crash{Value: p, Stack: debug.Stack()}
		}
	}()
	return v.caller.door.cfg.Host.Receive(v.ctx, v)
}

// pump reads what is typed. It goes on when nobody wants it any more, for else the client would wait to be read.
func (v *Visit) pump() {
	p := make([]byte, 4096)
	for {
		n, err := v.ch.Read(p)
		if n > 0 && v.ctx.Err() == nil && !v.keys.put(p[:n]) {
			v.caller.refused("typed more than could be read")
			v.End(typedTooMuch)
		}
		if err != nil {
			v.keys.end()
			return
		}
	}
}

// watch ends a visit that has lasted too long, or whose client is not there any more. One who only looks on for an hour is there: their
// client answers.
func (v *Visit) watch() {
	limits := v.caller.door.cfg.Limits
	total := time.NewTimer(limits.Total)
	defer total.Stop()
	for {
		quiet := time.Since(time.Unix(0, v.caller.active.Load()))
		if quiet >= limits.Idle {
			if !v.answers(limits.Answer) {
				return
			}
			continue
		}
		idle := time.NewTimer(limits.Idle - quiet)
		select {
		case <-idle.C:
		case <-total.C:
			v.End(fmt.Sprintf(longEnough, limits.Total))
		case <-v.ctx.Done():
			idle.Stop()
			return
		}
	}
}

// answers asks the client whether it is there, and reports whether it has said so; any answer is one. A client that has not is given up.
func (v *Visit) answers(within time.Duration) bool {
	late := time.AfterFunc(within, func() {
		v.caller.refused("did not answer whether it is there, and was dropped")
		v.giveUp()
	})
	defer late.Stop()
	_, _, err := v.conn.SendRequest("keepalive@openssh.com", true, nil) // what OpenSSH asks, in both directions
	return err == nil
}

// stalled gives up a client that has not taken anything for too long. There is no use in words.
func (v *Visit) stalled() {
	v.caller.refused("read nothing of its screen for too long, and was dropped")
	v.giveUp()
}

// giveUp ends the visit of a client that is not there.
func (v *Visit) giveUp() {
	v.cancel(errGone)
	v.out.giveUp()
	_ = v.caller.Close()
}

// lastWords are what the visitor reads at the end, and the exit status of ssh.
func (v *Visit) lastWords(err, why error) (words string, status uint32) {
	var sentence ended
	var crash *safe.Crash
	switch {
	case errors.As(why, &sentence):
		words = string(sentence)
		if words != classOver {
			status = 1
		}
	case errors.As(err, &crash):
		v.caller.door.refusals.add(Refusal{Addr: v.Addr, Name: v.Name, What: fmt.Sprintf("the screen broke down: %v", crash.Value), Stack: string(crash.Stack)})
		words, status = brokeDown, 1
	case errors.Is(err, tea.ErrProgramPanic): // whose stack Bubble Tea has printed
		v.caller.refused("the screen broke down")
		words, status = brokeDown, 1
	case err != nil:
		words, status = err.Error(), 1
	}
	if words != "" {
		words = strings.ReplaceAll(words, "\n", "\r\n") + "\r\n"
	}
	return words, status
}

// farewell bounds for how long the end of a connection may take.
func (c *caller) farewell() {
	time.AfterFunc(c.door.cfg.Limits.Farewell, func() { _ = c.Close() })
}

// hangUp tells the client how it ended, and closes its terminal.
func (c *caller) hangUp(ch gossh.Channel, status uint32) {
	_, _ = ch.SendRequest("exit-status", false, gossh.Marshal(struct{ Status uint32 }{status}))
	_ = ch.Close()
	time.AfterFunc(handsOff, c.finishWriting)
}

// handsOff is for how long a client may close the connection itself: then ssh does not say that the remote host did.
const handsOff = 250 * time.Millisecond
