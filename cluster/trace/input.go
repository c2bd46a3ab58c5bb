package trace

import "time"

// InputEntered is what came from outside, with what is needed to make it again.
var InputEntered = outside[Input]("run.input",
	"Something entered from outside: a request, a command, a fault. With its place it is what a run is run again from.",
	"Nothing: kviz fork reads it.", "kviz")

// InputVersion is the version of what inputs hold that this package writes, and the
// newest that it reads. Version 1 left out Within where the cluster had been let go and the task
// that stood in the midst of its step had not moved yet.
const InputVersion = 2

// Input is something that entered a run from outside, and where.
type Input struct {
	What   string        // "request", "fault", …
	Number uint64        // among all that entered, from 1
	Steps  uint64        // how many wake-ups came before
	At     time.Duration // virtual
	Within uint64        `json:",omitempty"` // it entered while the cluster stood after this event, in the midst of a step
	Data   []byte        `json:",omitempty"` // in CBOR; what depends on What
	Closed string        `json:",omitempty"` // why it cannot be made again
}

// Encode fills in what the input holds.
func (in *Input) Encode(data any) {
	if data == nil {
		return
	}
	b, err := encMode.Marshal(data)
	if err != nil {
		in.Closed = err.Error()
		return
	}
	in.Data = b
}

// Decode reads what the input holds.
func (in *Input) Decode(into any) error { return decMode.Unmarshal(in.Data, into) }
