// Package console is the drawer in which commands are typed: kubectl, etcdctl,
// iptables-save, kviz verbs. It runs them through a [Shell] and
// shows what they print, with a scroll back and a history: one in the foreground,
// which has the prompt, and any number in the background (jobs.go), as a shell does. While the cluster
// stands, a command waits, and the console says so.
//
// Start reading at [Console.Run], then [Drawer].
package console

import (
	"context"
	"slices"
	"strings"
	"sync"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/tui/edit"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/safe"
	"kviz/tui/theme"
)

// keep is how many lines of output are kept.
const keep = 5000

// Console is the drawer.
type Console struct {
	line edit.Line
	top  int // rows scrolled back from the end
	hint string

	mu      sync.Mutex
	rows    []*row
	version uint64
	entered *job   // what was entered last
	front   *job   // what runs in the foreground; nil: the prompt is free
	jobs    []*job // what runs in the background, in the order in which it was put there
	lent    *job   // who has the terminal
}

type row struct {
	mark  string // of the job that wrote it, "" for what ran in the foreground
	text  string
	style grid.Style
	asked bool // it is a line that was entered
	said  *job // who wrote it to its standard error; else nil
}

// New makes an empty console.
func New() *Console {
	c := &Console{}
	c.say("Type a command, such as  kubectl get pods -A.  help lists them all.", theme.Muted)
	return c
}

// Version changes whenever there is something new to draw.
func (c *Console) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Running is the command in the foreground, or "".
func (c *Console) Running() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.front == nil {
		return ""
	}
	return c.front.line
}

// Busy reports whether any command runs, in the foreground or the background.
func (c *Console) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.front != nil || len(c.jobs) > 0
}

// Command is a command that was entered.
type Command struct {
	Line    string
	Running bool
	Exit    int
	Said    string // the last lines it printed, as far as they are the last there are
}

// settle notes that a command that has ended may be shown as ended: what else is drawn of
// the cluster is brought up to date after that, and has what the command did.
func (c *Console) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entered != nil {
		c.entered.seen = c.entered.over
	}
}

// Last is the newest command as of the last [Drawer.Update]; no line for none.
func (c *Console) Last() Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entered == nil {
		return Command{}
	}
	last := Command{Line: c.entered.line, Running: !c.entered.seen, Exit: c.entered.exit}
	var said []string
	for i := len(c.rows) - 1; i >= 0 && !c.rows[i].asked && len(said) < lastLines; i-- {
		if text := c.rows[i].text; text != "" && !strings.HasPrefix(text, "exit status ") {
			said = append(said, text)
		}
	}
	slices.Reverse(said)
	last.Said = strings.Join(said, "\n")
	return last
}

// lastLines is how many of the lines that a command printed are told beside it.
const lastLines = 4

// Fill puts a text into the line, to be changed and run.
func (c *Console) Fill(text string) {
	c.line.Set(text)
	c.mu.Lock()
	c.version++
	c.mu.Unlock()
}

// Wanted reports whether a command runs that nobody has ended.
func (c *Console) Wanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.all(), func(j *job) bool { return !j.killed })
}

func (c *Console) say(text string, st grid.Style) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(text, st)
}

// ask shows the line that was entered.
func (c *Console) ask(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, part := range strings.Split(line, "\n") {
		c.tell([]string{"$ ", "> "}[min(i, 1)]+part, theme.Accent)
		c.rows[len(c.rows)-1].asked = true
	}
}

// tell appends a line of the console's own; c.mu is held.
func (c *Console) tell(text string, st grid.Style) { c.write(nil, nil, text+"\n", st) }

// write appends what a job writes, nil for the console itself; said is the job again where
// it is to its standard error. c.mu is held. A line that comes in pieces stays one,
// whatever others write in between.
func (c *Console) write(j, said *job, text string, st grid.Style) {
	c.version++
	var open *row // has no line end yet
	mark := ""
	if j != nil {
		open, mark = j.open, j.mark()
	}
	for {
		line, rest, ended := strings.Cut(text, "\n")
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    ")
		if open != nil {
			open.text += line
		} else if line != "" || ended {
			open = &row{mark: mark, text: line, style: st, said: said}
			if said != nil && strings.HasPrefix(line, "Warning: ") {
				open.style = theme.Warn
			}
			c.rows = append(c.rows, open)
		}
		if !ended {
			break
		}
		open, text = nil, rest
	}
	if j != nil {
		j.open = open
	}
	if len(c.rows) > keep {
		c.rows = append([]*row(nil), c.rows[len(c.rows)-keep:]...)
	}
}

// stdout is a command's standard output.
type stdout struct {
	c *Console
	j *job
}

func (s stdout) Write(p []byte) (int, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.write(s.j, nil, stripEscapes(string(p)), theme.Text)
	return len(p), nil
}

// stderr is a command's standard error. kubectl says there also what is no error ("No
// resources found", "Warning: …"): it is one when the command ends with another status
// than 0 (see blame).
type stderr struct{ stdout }

func (s stderr) Write(p []byte) (int, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.write(s.j, s.j, stripEscapes(string(p)), theme.Text)
	return len(p), nil
}

// blame marks what a command that has failed wrote to its standard error.
func (c *Console) blame(j *job) {
	for _, r := range c.rows {
		if r.said == j {
			r.style = theme.Bad
		}
	}
}

// stripEscapes takes terminal sequences out of a command's output.
func stripEscapes(s string) string {
	if !strings.ContainsRune(s, '\x1b') {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\x1b' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i < len(s) && s[i] == '[' {
			for i++; i < len(s) && (s[i] < 0x40 || s[i] > 0x7e); i++ {
			}
		}
	}
	return b.String()
}

// Shell is what runs the lines.
type Shell interface {
	Exec(ctx context.Context, line string, io control.Streams) int
}

// Confined is a shell whose lines reach one folder only: somebody wrote them whom the person need not know.
type Confined struct {
	Shell
	Dir string
}

// Exec implements [Shell].
func (c Confined) Exec(ctx context.Context, line string, io control.Streams) int {
	io.Within = c.Dir
	return c.Shell.Exec(ctx, line, io)
}

// Run runs a line: in the foreground, unless something runs there, or, if it ends in &,
// in the background.
// lend may be nil.
func (c *Console) Run(ctx context.Context, g *safe.Group, cl Shell, absent, line string, columns int, lend control.Lend) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	c.line.Remember(strings.ReplaceAll(line, "\n", edit.Break))
	c.top = 0
	c.ask(line)
	if line == "clear" {
		c.mu.Lock()
		c.rows = nil
		for _, j := range c.all() {
			j.open = nil
		}
		c.version++
		c.mu.Unlock()
		return
	}
	if c.control(strings.Fields(line)) {
		return
	}
	if cl == nil {
		c.say(absent, theme.Warn)
		return
	}
	line, behind := background(line)
	j := &job{line: line, behind: make(chan struct{})}
	c.mu.Lock()
	if c.front != nil && !behind {
		c.tell("still running: "+c.front.line+"  (ctrl+z puts it into the background, ctrl+c ends it)", theme.Warn)
		c.mu.Unlock()
		return
	}
	c.entered = j
	ctx, j.cancel = context.WithCancel(ctx)
	if behind {
		c.putBehind(j)
	} else {
		c.front = j
	}
	c.version++
	c.mu.Unlock()
	g.Go(func() {
		defer j.cancel()
		code := cl.Exec(ctx, line, control.Streams{
			In: strings.NewReader(""), Out: stdout{c, j}, Err: stderr{stdout{c, j}},
			Source: "console", Columns: columns, Lend: c.lending(j, lend), Behind: j.behind,
		})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended(j, code)
	})
}

// Draft is what stands in the line, and has not been run; SetDraft puts something there.
func (c *Console) Draft() string        { return c.line.String() }
func (c *Console) SetDraft(line string) { c.line.Set(line) }

// Interrupt ends the command in the foreground and reports whether there was one to end.
func (c *Console) Interrupt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.front == nil || c.front.killed { // which is ending, and is not asked twice
		return false
	}
	c.front.end()
	c.tell("^C", theme.Warn)
	return true
}

// Entered is what a key came to.
type Entered struct {
	Close bool
	Line  string // a line to run
}

// The console's own keys.
var (
	runKey       = keymap.Hint("⏎", "run", "enter")
	completeKey  = keymap.Hint("tab", "complete", "tab")
	historyKey   = keymap.Hint("↑↓", "history", "up", "down")
	pageUp       = keymap.Hint("PgUp", "scroll", "pgup")
	pageDown     = keymap.Hint("PgDn", "scroll", "pgdown")
	interruptKey = keymap.Hint("^c", "interrupt", "ctrl+c")
	behindKey    = keymap.Hint("^z", "background", "ctrl+z")
	clearKey     = keymap.Hint("^l", "clear", "ctrl+l")
	endKey       = keymap.Hint("^d", "back to the panes", "ctrl+d")
	leaveKey     = keymap.Hint("esc", "back to the panes", "esc")
)

// Keys are what the key line shows.
func (c *Console) Keys() []key.Binding {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.front != nil {
		return []key.Binding{interruptKey, behindKey, runKey, leaveKey, historyKey, pageUp, completeKey}
	}
	if j := c.newest(); j != nil && c.line.String() == "" {
		return []key.Binding{runKey, completeKey, leaveKey, keymap.Hint("^c", "end "+j.name(), "ctrl+c"), historyKey, pageUp}
	}
	return []key.Binding{runKey, completeKey, leaveKey, interruptKey, historyKey, pageUp}
}

// Key answers a key press. complete gives what could stand at the end of a
// line instead of its last word.
func (c *Console) Key(k tea.KeyPressMsg, complete func(line string) []string) Entered {
	c.mu.Lock()
	c.version++
	c.hint = ""
	c.mu.Unlock()
	switch {
	case key.Matches(k, leaveKey):
		return Entered{Close: true}
	case key.Matches(k, runKey):
		line := c.line.Lines()
		c.line.Set("")
		return Entered{Line: line}
	case key.Matches(k, interruptKey):
		switch {
		case c.Interrupt():
		case c.line.String() != "":
			c.line.Set("")
		case c.endNewest():
		default:
			return Entered{Close: true} // nothing left to end but the console itself
		}
	case key.Matches(k, behindKey):
		c.Behind()
	case key.Matches(k, endKey) && c.line.String() == "":
		return Entered{Close: true}
	case key.Matches(k, clearKey):
		return Entered{Line: "clear"}
	case key.Matches(k, pageUp):
		c.Wheel(-8)
	case key.Matches(k, pageDown):
		c.Wheel(8)
	case key.Matches(k, completeKey):
		c.complete(complete)
	default:
		c.line.Key(k)
	}
	return Entered{}
}

func (c *Console) complete(complete func(string) []string) {
	if complete == nil {
		return
	}
	line := c.line.String()
	all := complete(line)
	if len(all) == 0 {
		return
	}
	prefix := all[0]
	for _, s := range all {
		for !strings.HasPrefix(s, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	head := line[:strings.LastIndex(line, " ")+1]
	if len(all) == 1 {
		c.line.Set(head + all[0] + " ")
		return
	}
	if len(head)+len(prefix) > len(line) {
		c.line.Set(head + prefix)
	}
	c.hint = strings.Join(all, "  ")
}

// Paste inserts text at the cursor.
func (c *Console) Paste(s string) {
	c.line.InsertLines(s)
	c.mu.Lock()
	c.version++
	c.mu.Unlock()
}

// Wheel scrolls.
func (c *Console) Wheel(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.top = max(0, min(c.top-by, len(c.rows)-1))
	c.version++
}
