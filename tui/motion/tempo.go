package motion

import "time"

// Mode is how much may move.
type Mode string

// The modes.
const (
	Full Mode = "full" // things travel
	Calm Mode = "calm" // the whole way lights up, no more than four times a second
	Off  Mode = "none" // the last event stands
)

// Modes are the names of the modes.
func Modes() []string { return []string{string(Full), string(Calm), string(Off)} }

// Means says what a mode does.
func (m Mode) Means() string {
	switch m {
	case Calm:
		return "the whole way lights up, no more than four times a second"
	case Off:
		return "nothing moves; the last event stands"
	}
	return "what happens travels from place to place"
}

// Tempo is how events become pulses, by where we are.
type Tempo struct {
	Take  time.Duration // of a pulse
	Most  int           // at once
	Apart time.Duration // of the pulses of a step
	Merge bool          // one pulse an edge and class: further ones count on it
	Glow  bool          // no pulses: edges glow by rate
	Stand bool          // the last event stands when all have arrived
}

// Live is the tempo of a cluster that runs, or of a recording that is played; speed 0 is
// as fast as possible.
func Live(speed float64) Tempo {
	switch {
	case speed == 0 || speed >= 5:
		return Tempo{Glow: true}
	case speed > 0.5:
		return Tempo{Take: 300 * time.Millisecond, Most: 24, Merge: true}
	case speed > 0.05:
		return Tempo{Take: 450 * time.Millisecond, Most: 24}
	}
	return Tempo{Take: 700 * time.Millisecond, Most: 24}
}

// The tempos of a step.
var (
	Stepped = Tempo{Take: 450 * time.Millisecond, Most: 12, Apart: 90 * time.Millisecond, Stand: true}
	Walked  = Tempo{Take: 250 * time.Millisecond, Most: 12, Apart: 90 * time.Millisecond, Stand: true}
)
