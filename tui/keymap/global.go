package keymap

import "strings"

// The global actions.
const (
	Pause     = "clock.pause"
	StepInto  = "clock.step"
	StepOver  = "clock.over"
	StepFar   = "clock.converge"
	GrainMenu = "clock.grain"
	Until     = "clock.until"
	Break     = "clock.break"
	Faster    = "clock.faster"
	Slower    = "clock.slower"
	SkipIdle  = "clock.skip"

	Back      = "time.back"
	Forward   = "time.forward"
	ScrubBack = "time.scrub-back"
	ScrubOn   = "time.scrub-on"
	MarkBack  = "time.mark-back"
	MarkOn    = "time.mark-on"
	Start     = "time.start"
	Now       = "time.now"
	GoTo      = "time.goto"
	Axis      = "time.axis"
	SetMark   = "time.set-mark"
	ToMark    = "time.to-mark"
	Marks     = "do.marks"

	NextPane = "view.next"
	PrevPane = "view.prev"
	Zoom     = "view.zoom"
	Layout   = "view.layout"
	LayoutUp = "view.layout-back"
	ThemeKey = "view.theme"
	Jump     = "view.jump"

	Filter   = "find.filter"
	Palette  = "find.palette"
	Why      = "ask.why"
	Help     = "ask.help"
	Glossary = "ask.glossary"
	Console  = "do.console"
	Faults   = "do.fault"
	Copy     = "do.copy"
	CopyLink = "do.copy-link"
	Lesson   = "do.lesson"
	Fork     = "do.fork"
	Runs     = "do.runs"
	Compare  = "do.compare"
	Differs  = "do.first-difference"
	Outcome  = "do.outcome"
	Odds     = "do.odds"

	Declarative = "do.declarative"
	Convergence = "do.convergence"
	Distributed = "do.distributed"

	Escape  = "go.back"
	Quit    = "go.quit"
	Suspend = "go.suspend"

	Up     = "move.up"
	Down   = "move.down"
	Left   = "move.left"
	Right  = "move.right"
	PageUp = "move.page-up"
	PageDn = "move.page-down"
	Open   = "move.open"
)

// PaneKey is the key of the n-th pane, from 0: a digit for the first ten, none for
// those after them, which tab, the jump list and the palette reach.
func PaneKey(n int) string {
	if n < 10 {
		return string(rune('0' + (n+1)%10))
	}
	return ""
}

// FocusOn is the action that gives a pane the focus.
func FocusOn(pane string) string { return focusOn + pane }

// FocusedBy is the pane that an action gives the focus, if it is such an action.
func FocusedBy(action string) (pane string, ok bool) { return strings.CutPrefix(action, focusOn) }

const focusOn = "view.pane-"

// Global is the map of keys that work in every pane, with a key for each of the panes.
func Global(panes []string) *Map {
	var list []Binding
	add := func(group string, rank int, b Binding) {
		b.Group, b.Rank = group, rank
		list = append(list, b)
	}
	add("clock", 1, Bind(Pause, "pause", "Stop the cluster where it is, or let it run on.", "space"))
	add("clock", 2, Bind(StepInto, "step", "Run to the next thing that your newest command led to, or to the next event of the grain.", "."))
	add("clock", 10, Bind(StepOver, "step over", "Run to the next decision: a reconcile or a scheduling verdict.", "n"))
	add("clock", 0, Bind(StepFar, "to converged", "Run until some object's status says what its spec asks.", "N"))
	add("clock", 0, Bind(GrainMenu, "step size", "Choose how far a step goes: along your newest command, or by a grain of events.", "s"))
	add("clock", 10, Bind(Until, "run until", "Run until an expression holds, then stand.", "u"))
	add("clock", 0, Bind(Break, "breakpoints", "Where the cluster comes to stand every time: at a kind of event, an object, a component, an expression.", "b"))
	add("clock", 0, Bind(Faster, "faster", "More virtual time in a second.", "+", "="))
	add("clock", 11, Bind(Slower, "slower", "Less virtual time in a second.", "-"))
	add("clock", 0, Bind(SkipIdle, "skip idle", "Jump to the next timer.", ">"))

	add("time", 4, Bind(Back, "back", "One event back in time.", ","))
	add("time", 0, Bind(Forward, "forward", "One event forward in what has already happened.", ";"))
	add("time", 0, Bind(ScrubBack, "scrub", "A stretch back in time.", "["))
	add("time", 0, Bind(ScrubOn, "scrub on", "A stretch forward in time.", "]"))
	add("time", 0, Bind(MarkBack, "previous mark", "Back to the previous command, fault or election.", "{"))
	add("time", 0, Bind(MarkOn, "next mark", "Forward to the next command, fault or election.", "}"))
	add("time", 0, Bind(Start, "start", "To the first event.", "home"))
	add("time", 5, Bind(Now, "now", "To the newest event, and stay there.", "end"))
	add("time", 0, Bind(GoTo, "go to number", "To the event of a number, such as 214 or 214.3.", "#"))
	add("time", 0, Bind(Axis, "axis", "What a column of the timeline is: virtual time, events, or the whole run.", "A"))
	add("time", 0, Bind(SetMark, "mark", "Remember this moment.", "m"))
	add("time", 0, Bind(ToMark, "to mark", "Back to the remembered moment, and from there back here.", "'"))

	add("view", 15, Bind(NextPane, "next pane", "Focus on the next pane.", "tab"))
	add("view", 0, Bind(PrevPane, "previous pane", "Focus on the previous pane.", "shift+tab"))
	add("view", 12, Bind(Zoom, "zoom", "The pane in focus alone, or all again.", "z"))
	add("view", 16, Bind(Layout, "layout", "The next arrangement of panes.", "p"))
	add("view", 0, Bind(LayoutUp, "layout back", "The previous arrangement of panes.", "P"))
	add("view", 0, Bind(ThemeKey, "theme", "The next set of colours.", "t"))
	add("view", 9, Bind(Jump, "go to", "Go to any object, node, member, Service, pane or mark of the timeline: a few letters find it.", "ctrl+o"))

	add("find", 11, Bind(Filter, "filter", "Show only what contains a text; ! before it turns it round.", "/"))
	add("find", 13, Bind(Palette, "palette", "Find any action by its name.", "ctrl+p"))
	add("ask", 6, Bind(Why, "why?", "The chain of causes of what is under the cursor; enter jumps to one.", "w"))
	add("ask", 14, Bind(Help, "help", "What this pane shows and which keys it has.", "?", "f1"))
	add("ask", 0, Bind(Glossary, "glossary", "The words of Kubernetes and every kind of event: what each means, what to look at, where the real code is.", "g"))
	add("do", 7, Bind(Console, "console", "Type commands: kubectl, etcdctl, iptables-save, kviz …", ":"))
	add("do", 8, Bind(Faults, "break it", "What can be broken or mended at what is under the cursor.", "f"))
	add("do", 0, Bind(Copy, "copy", "Copy what is under the cursor to the clipboard.", "y"))
	add("do", 0, Bind(CopyLink, "copy link", "Copy a link to this event, or to the beat of the lesson; kviz open goes there on another machine.", "Y"))
	add("do", 0, Bind(Marks, "walk", "The marks of a walk: set one here, with words, go to one, take one away; kviz present walks through them.", "M"))
	add("do", 0, Bind(Lesson, "lesson", "Show or hide the lesson; lessons to choose from if there is none.", "L"))

	add("do", 17, Bind(Fork, "fork", "Run it again up to this moment, and go on differently from there.", "F"))
	add("do", 17, Bind(Odds, "odds", "When did it become inevitable: how probable something was at the events up to this one, in branches that leave the run there.", "O"))
	add("do", 17, Bind(Runs, "runs", "The runs that are kept, this one and its branches: put one on the screen, name it, close it.", "B"))
	add("do", 17, Bind(Differs, "first difference", "To the first event at which the two runs differ.", "D"))
	add("do", 17, Bind(Outcome, "came of it", "What came of this run and of the other: pods ready when, writes refused, the longest gap.", "W"))
	add("do", 17, Bind(Compare, "compare", "The pane of this run and of another beside each other, what differs marked; again leaves it.", "C"))

	add("do", 0, Bind(Declarative, "declarative", "A minute that runs by itself: the same manifest twice, a field of it changed, what it owns deleted and created again.", "f2"))
	add("do", 0, Bind(Convergence, "convergence", "A minute that runs by itself: pods killed, a field changed behind its owner's back, a node without power, and how all is brought back.", "f3"))
	add("do", 0, Bind(Distributed, "distributed", "A minute that runs by itself: a member of the store killed, then two, a write that waits, and how they heal.", "f4"))

	add("go", 0, Bind(Escape, "back", "Close what is open; out of zoom; out of the past.", "esc"))
	add("go", 18, Bind(Quit, "quit", "Leave kviz.", "q", "ctrl+c"))
	add("go", 0, Bind(Suspend, "suspend", "Put kviz to sleep and go back to the shell (fg wakes it); in the console, put the command that runs into the background, so that the prompt is free.", "ctrl+z"))

	add("move", 0, Bind(Up, "up", "Move the cursor up.", "up", "k"))
	add("move", 0, Bind(Down, "down", "Move the cursor down.", "down", "j"))
	add("move", 0, Bind(Left, "left", "Move the cursor left.", "left", "h"))
	add("move", 0, Bind(Right, "right", "Move the cursor right.", "right", "l"))
	add("move", 0, Bind(PageUp, "page up", "A page up.", "pgup"))
	add("move", 0, Bind(PageDn, "page down", "A page down.", "pgdown"))
	add("move", 0, Bind(Open, "open", "Open what is under the cursor.", "enter"))

	for n, name := range panes {
		if d := PaneKey(n); d != "" {
			add("view", 0, Bind(FocusOn(name), "pane "+name, "Focus on the "+name+" pane.", d))
		}
	}
	return New(list)
}
