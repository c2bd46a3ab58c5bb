package door

import (
	"io"
	"slices"
	"strings"

	gossh "golang.org/x/crypto/ssh"
)

// session is what a connection may open: one terminal, with nothing behind it but a [Host]. It returns when the
// client has closed it.
func (d *Door) session(c *caller, conn gossh.Conn, n gossh.NewChannel) {
	if !c.begin() {
		_ = n.Reject(gossh.ConnectionFailed, classOver)
		return
	}
	defer c.visits.Done()
	if !c.may(&c.channels) {
		return
	}
	if !c.open() {
		_ = n.Reject(gossh.Prohibited, "One terminal a connection: open another connection for another one.")
		c.refused("asked for a second terminal on one connection")
		return
	}
	ch, requests, err := n.Accept()
	if err != nil {
		return
	}
	t := &terminal{caller: c, conn: conn, ch: ch}
	d.group.Go(func() { _, _ = io.Copy(io.Discard, ch.Stderr()) }) // which nobody reads, so it would be kept
	for r := range requests {
		if c.may(&c.requests) {
			t.request(r)
		}
	}
	t.gone()
}

// terminal is a session's channel before and while it is visited.
type terminal struct {
	caller  *caller
	conn    gossh.Conn // that the channel is of
	ch      gossh.Channel
	size    *size // nil before the client has said that it has a terminal
	environ []string
	begun   bool // a visit, or the words of a refusal
	visit   *Visit
}

// request answers one request of the client. What a class has no use for is refused in words.
func (t *terminal) request(r *gossh.Request) {
	ok := false
	switch r.Type {
	case "pty-req":
		ok = t.openPty(r.Payload)
	case "window-change":
		ok = t.resize(r.Payload)
	case "env":
		ok = t.setEnv(r.Payload)
	case "shell":
		ok = t.begin()
		reply(r, ok)
		if ok {
			t.visitOrLeave()
		}
		return
	case "exec", "subsystem":
		// Answered with yes, because most clients show no words after a no.
		ok = t.begin()
		reply(r, ok)
		if ok {
			t.caller.refused(noCommand[r.Type].told)
			t.leave(noCommand[r.Type].said)
		}
		return
	case "x11-req", "auth-agent-req@openssh.com", "auth-agent-req":
		t.caller.refused("asked for forwarding (" + r.Type + ")")
		t.say(noForwarding[r.Type])
	}
	reply(r, ok)
}

var noCommand = map[string]struct{ said, told string }{
	"exec":      {"This is a class: it runs no commands. Connect without one.", "asked for a command"},
	"subsystem": {"This is a class: it has no files to copy.", "asked for file transfer or another subsystem"},
}

var noForwarding = map[string]string{
	"x11-req":                    "This is a class: it forwards no X11.",
	"auth-agent-req@openssh.com": "This is a class: it has no use for your agent.",
	"auth-agent-req":             "This is a class: it has no use for your agent.",
}

func reply(r *gossh.Request, ok bool) {
	if r.WantReply {
		_ = r.Reply(ok, nil)
	}
}

// begin reports whether the session's one purpose is still open.
func (t *terminal) begin() bool {
	first := !t.begun
	t.begun = true
	return first
}

func (t *terminal) openPty(payload []byte) bool {
	var p struct {
		Term                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}
	if t.size != nil || t.begun || gossh.Unmarshal(payload, &p) != nil {
		return false
	}
	t.size = newSize(p.Columns, p.Rows)
	t.environ = append(t.environ, "TERM="+plainValue(p.Term))
	return true
}

func (t *terminal) resize(payload []byte) bool {
	var p struct{ Columns, Rows, Width, Height uint32 }
	if t.size == nil || gossh.Unmarshal(payload, &p) != nil {
		return false
	}
	t.size.set(p.Columns, p.Rows)
	return true
}

// passed are the variables that say what the terminal can show, and in which language. TERM comes with the terminal.
var passed = []string{"COLORTERM", "LANG", "NO_COLOR"}

func (t *terminal) setEnv(payload []byte) bool {
	var p struct{ Name, Value string }
	if t.begun || gossh.Unmarshal(payload, &p) != nil || !slices.Contains(passed, p.Name) {
		return false // without words: clients send what they are configured to send
	}
	t.environ = slices.DeleteFunc(t.environ, func(e string) bool { return strings.HasPrefix(e, p.Name+"=") })
	t.environ = append(t.environ, p.Name+"="+plainValue(p.Value))
	return true
}

// plainValue is a value without anything that could mean something else in an environment or on a screen.
func plainValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		return -1
	}, s[:min(len(s), 64)])
}

// visitOrLeave begins the visit, if there is a terminal to show it on and a seat.
func (t *terminal) visitOrLeave() {
	c := t.caller
	c.mu.Lock()
	no, notices := c.no, c.notices
	c.notices = nil
	c.mu.Unlock()
	for _, n := range notices {
		t.say(n)
	}
	switch {
	case no != "":
		t.leave(no)
	case t.size == nil:
		c.refused("asked for a shell without a terminal")
		t.leave("This is a class: it needs a terminal. Connect with ssh -t.")
	default:
		v := newVisit(t)
		c.mu.Lock()
		if c.left {
			c.mu.Unlock()
			return
		}
		c.visits.Add(1)
		c.visit, t.visit = v, v
		c.patience.Stop()
		c.mu.Unlock()
		c.door.group.Go(func() {
			defer c.visits.Done()
			v.run()
		})
		if c.door.isClosed() { // between its look at the callers and this
			v.End(classOver)
		}
	}
}

// say writes a line beside what is shown; before the first screen it is read.
func (t *terminal) say(line string) {
	if t.visit == nil {
		_, _ = io.WriteString(t.ch.Stderr(), line+"\r\n")
	}
}

// leave ends the session with a sentence.
func (t *terminal) leave(sentence string) {
	c := t.caller
	c.mu.Lock()
	c.visits.Add(1) // the caller's session runs, so nobody has waited yet
	c.mu.Unlock()
	c.door.group.Go(func() {
		defer c.visits.Done()
		c.farewell()
		_, _ = io.WriteString(t.ch.Stderr(), sentence+"\r\n")
		c.hangUp(t.ch, 1)
	})
}

// gone ends the visit of a client that has closed its terminal.
func (t *terminal) gone() {
	if t.visit != nil {
		t.visit.cancel(errGone)
	}
}

// refuseChannel refuses what is no terminal: forwarding in one direction or the other.
func (d *Door) refuseChannel(c *caller, n gossh.NewChannel) {
	if !c.begin() {
		return
	}
	defer c.visits.Done()
	if c.may(&c.channels) {
		c.refused("asked for forwarding (" + plainValue(n.ChannelType()) + ")")
		_ = n.Reject(gossh.Prohibited, "This is a class: it forwards nothing.")
	}
}

// globalRequest refuses what is asked of the connection as a whole. Only forwarding has words: what else clients
// ask for is their own business (whether the connection lives, which host keys there are).
func (d *Door) globalRequest(c *caller, r *gossh.Request) {
	if !c.may(&c.requests) || r.Type != "tcpip-forward" && r.Type != "streamlocal-forward@openssh.com" {
		return
	}
	c.refused("asked for forwarding (" + r.Type + ")")
	c.mu.Lock()
	defer c.mu.Unlock()
	if line := "This is a class: it forwards nothing."; !slices.Contains(c.notices, line) {
		c.notices = append(c.notices, line)
	}
}
