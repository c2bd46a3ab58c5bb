package keymap

// The global actions.
const (
	Pause     = "clock.pause"
	StepInto  = "clock.step"
	StepOver  = "clock.over"
	StepFar   = "clock.converge"
	GrainMenu = "clock.grain"
	Until     = "clock.until"
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
	SetMark   = "time.set-mark"
	ToMark    = "time.to-mark"

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
	Lesson   = "do.lesson"
	Fork     = "do.fork"

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

// Global is the map of keys that work in every pane.
func Global() *Map {
	list := []Binding{
		{Pause, []string{"space"}, "pause", "Stop the cluster where it is, or let it run on.", "clock", 1},
		{StepInto, []string{"."}, "step", "Run to the next event of the chosen grain and stand again.", "clock", 2},
		{StepOver, []string{"n"}, "step over", "Run to the next decision: a reconcile or a scheduling verdict.", "clock", 3},
		{StepFar, []string{"N"}, "to converged", "Run until some object's status says what its spec asks.", "clock", 0},
		{GrainMenu, []string{"s"}, "step size", "Choose how far a step goes, from one raft message to a converged object.", "clock", 0},
		{Until, []string{"u"}, "run until", "Run until an expression holds, then stand.", "clock", 9},
		{Faster, []string{"+", "="}, "faster", "More virtual time in a second.", "clock", 0},
		{Slower, []string{"-"}, "slower", "Less virtual time in a second.", "clock", 10},
		{SkipIdle, []string{">"}, "skip idle", "Jump to the next timer.", "clock", 0},

		{Back, []string{","}, "back", "One event back in time.", "time", 4},
		{Forward, []string{";"}, "forward", "One event forward in what has already happened.", "time", 0},
		{ScrubBack, []string{"["}, "scrub", "A stretch back in time.", "time", 0},
		{ScrubOn, []string{"]"}, "scrub on", "A stretch forward in time.", "time", 0},
		{MarkBack, []string{"{"}, "previous mark", "Back to the previous command, fault or election.", "time", 0},
		{MarkOn, []string{"}"}, "next mark", "Forward to the next command, fault or election.", "time", 0},
		{Start, []string{"home"}, "start", "To the first event.", "time", 0},
		{Now, []string{"end"}, "now", "To the newest event, and stay there.", "time", 5},
		{GoTo, []string{"#"}, "go to number", "To the event of a number, such as 214 or 214.3.", "time", 0},
		{SetMark, []string{"m"}, "mark", "Remember this moment.", "time", 0},
		{ToMark, []string{"'"}, "to mark", "Back to the remembered moment, and from there back here.", "time", 0},

		{NextPane, []string{"tab"}, "next pane", "Focus on the next pane.", "view", 15},
		{PrevPane, []string{"shift+tab"}, "previous pane", "Focus on the previous pane.", "view", 0},
		{Zoom, []string{"z"}, "zoom", "The pane in focus alone, or all again.", "view", 12},
		{Layout, []string{"p"}, "layout", "The next arrangement of panes.", "view", 16},
		{LayoutUp, []string{"P"}, "layout back", "The previous arrangement of panes.", "view", 0},
		{ThemeKey, []string{"t"}, "theme", "The next set of colours.", "view", 0},
		{Jump, []string{"ctrl+o"}, "jump", "Letters on everything that can have the focus; type one.", "view", 0},

		{Filter, []string{"/"}, "filter", "Show only what contains a text; ! before it turns it round.", "find", 11},
		{Palette, []string{"ctrl+p"}, "palette", "Find any action by its name.", "find", 13},
		{Why, []string{"w"}, "why?", "The chain of causes of what is under the cursor; enter jumps to one.", "ask", 6},
		{Help, []string{"?", "f1"}, "help", "What this pane shows and which keys it has.", "ask", 14},
		{Glossary, []string{"g"}, "glossary", "Every kind of event: what it means, what to look at, where the real code is.", "ask", 0},
		{Console, []string{":"}, "console", "Type commands: kubectl, etcdctl, iptables-save, kviz …", "do", 7},
		{Faults, []string{"f"}, "break it", "What can be broken or mended at what is under the cursor.", "do", 8},
		{Copy, []string{"y"}, "copy", "Copy what is under the cursor to the clipboard.", "do", 0},
		{Lesson, []string{"L"}, "lesson", "Show or hide the lesson; lessons to choose from if there is none.", "do", 0},

		{Escape, []string{"esc"}, "back", "Close what is open; out of zoom; out of the past.", "go", 0},
		{Quit, []string{"q", "ctrl+c"}, "quit", "Leave kviz.", "go", 18},
		{Suspend, []string{"ctrl+z"}, "suspend", "Put kviz to sleep and go back to the shell (fg wakes it).", "go", 0},

		{Up, []string{"up", "k"}, "up", "Move the cursor up.", "move", 0},
		{Down, []string{"down", "j"}, "down", "Move the cursor down.", "move", 0},
		{Left, []string{"left", "h"}, "left", "Move the cursor left.", "move", 0},
		{Right, []string{"right", "l"}, "right", "Move the cursor right.", "move", 0},
		{PageUp, []string{"pgup"}, "page up", "A page up.", "move", 0},
		{PageDn, []string{"pgdown"}, "page down", "A page down.", "move", 0},
		{Open, []string{"enter"}, "open", "Open what is under the cursor.", "move", 0},
	}
	for n := 1; n <= 9; n++ {
		d := string(rune('0' + n))
		list = append(list, Binding{"view.pane-" + d, []string{d}, "pane " + d, "Focus on pane " + d + ".", "view", 0})
	}
	return New(list)
}
