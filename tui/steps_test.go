package tui

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/motion"
	"kviz/tui/tuitest"
)

// A step of any grain ends with exactly one emphasised place, and it is the place of the event
// that the explanation line tells. What happens nowhere in the cluster emphasises nothing.
func TestAStepOfAnyGrainEmphasisesWhatItTells(t *testing.T) {
	for _, name := range trace.GrainNames() {
		g, err := trace.ParseGrain(name)
		if err != nil {
			t.Fatal(err)
		}
		c := tuitest.NewCluster(tuitest.Story(), 100)
		d := exploreCluster(t, c, 120, 40, func(c *Config) { c.Preset = "" })
		d.m.perform(action.Grain(g))
		lit := 0
		for range 30 {
			before := c.Trace().Len()
			d.press(".")
			if c.Trace().Len() == before {
				break // the tape is over
			}
			for d.look(); d.m.moving.player.Busy(); {
				d.look()
			}
			shot, told, s := d.m.moving.player.Shot(), d.m.told(), d.m.travel.State()
			if told == nil {
				t.Fatalf("%s: nothing is told", name)
			}
			place := motion.PlaceOf(told.Lane, s)
			if l, ok := motion.Of(told, s); ok {
				if place = l.To; l.To == "" || l.Lost {
					place = l.From
				}
			}
			switch {
			case place == "" && shot.Event == nil:
			case place == "" || shot.Event == nil:
				t.Errorf("%s: #%s %s at %q is told, and the picture emphasises %v", name, told.ID, told.Kind, place, shot.Event)
			case shot.Event.ID != told.ID || shot.Place != place:
				t.Errorf("%s: #%s %s at %q is told, and the picture emphasises #%s %s at %q", name, told.ID, told.Kind, place, shot.Event.ID, shot.Event.Kind, shot.Place)
			case len(shot.Pulses)+len(shot.Lamps) != 1:
				t.Errorf("%s: %d pulses and %d lamps stand at #%s", name, len(shot.Pulses), len(shot.Lamps), told.ID)
			default:
				lit++
			}
		}
		if lit == 0 {
			t.Errorf("%s: no step emphasised a place", name)
		}
	}
}
