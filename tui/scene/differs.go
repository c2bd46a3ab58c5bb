package scene

// Claim is how something is said to be, or how it is.
type Claim uint8

// The claims.
const (
	Unsaid  Claim = iota // nobody says anything yet
	Works                // it does what it should
	Ails                 // it is there, and does not do what it should
	Unheard              // nobody hears of it
	Off                  // it is not there
)

// Differs reports whether what is said of something is not what it is. Only then both are
// drawn, under each other: said, and is.
func Differs(said, is Claim) bool { return said != Unsaid && is != Unsaid && said != is }
