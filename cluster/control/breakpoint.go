package control

// Breakpoint is a condition at which a cluster comes to stand, every time.
type Breakpoint struct {
	Number int    // from 1, never used again
	Expr   string // the expression
	Hits   int    // how often it has made the cluster stand
}
