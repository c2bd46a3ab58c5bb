package wire

import "time"

// Progress is how far a leader has brought a follower, as its messages and
// their answers tell.
type Progress struct {
	Match uint64 // the follower is known to hold the log up to here
	Next  uint64 // the next entry to send
}

// LinkFault is what is wrong with the way to another member.
type LinkFault struct {
	To        string
	Cut       bool
	Delay     time.Duration
	Drop      float64 // probability that a message is lost
	Duplicate float64 // probability that a request is delivered twice
	Reorder   float64 // probability that a request is overtaken by a later one
}

// Held is a message that waits to be let go.
type Held struct {
	Message
	Since time.Time
}
