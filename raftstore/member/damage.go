package member

// Damage is what happens to a member's log file while the member is down.
type Damage string

// The kinds of damage.
const (
	MetaZeroed  Damage = "meta"     // the newer of bbolt's two meta pages is zeroes: bbolt would open the file with the last write missing
	MetasZeroed Damage = "metas"    // both are
	Truncated   Damage = "truncate" // the file is cut in half
	MiddleZero  Damage = "middle"   // a page in the middle is zeroes
	Flipped     Damage = "flip"     // single bits are flipped here and there
	Emptied     Damage = "empty"    // the file has no bytes: bbolt would begin a new one, with all votes forgotten
)

// Damages are all kinds, in the order in which they are told.
var Damages = []Damage{MetaZeroed, MetasZeroed, Truncated, MiddleZero, Flipped, Emptied}
