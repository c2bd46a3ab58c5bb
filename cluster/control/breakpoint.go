package control

// Breakpoint is a condition at which a cluster comes to stand, every time.
type Breakpoint struct {
	Number int    // from 1, never used again
	Expr   string // the expression
	Hits   int    // how often it has made the cluster stand
}

// Breaker is a cluster that has breakpoints; a recording is none. Its methods
// may be called from any goroutine.
type Breaker interface {
	// Break sets a breakpoint. An expression that asks about the event is
	// looked at with every event, and makes the cluster stand after each for
	// which it holds; one that asks about the state alone does when it begins
	// to hold. A bad expression is refused with the place and the known names.
	Break(expr string) (Breakpoint, error)
	// Breakpoints lists those there are, by number.
	Breakpoints() []Breakpoint
	// Unbreak removes one.
	Unbreak(number int) error
}
