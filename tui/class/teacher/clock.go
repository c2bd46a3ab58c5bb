package teacher

import (
	"fmt"
	"time"
)

// lasted is how long the class has lasted.
func (d *desk) lasted() time.Duration {
	if d.room.Opened.IsZero() {
		return 0
	}
	return max(d.cfg.Now().Sub(d.room.Opened), 0)
}

// clock says how long the class has lasted, of how long: "11:40 of 25:00".
func (d *desk) clock() string {
	text := minutes(d.lasted())
	if d.cfg.Time > 0 {
		text += " of " + minutes(d.cfg.Time)
	}
	return text
}

// late says how far the class is behind what was planned for the beats before this one, or ahead of it: "2:10 behind". Half a
// minute is neither.
func (d *desk) late() string {
	look := d.scene.Stand.Look
	if d.cfg.Time == 0 || look.Steps == 0 {
		return ""
	}
	due := d.cfg.Time * time.Duration(look.Step-1) / time.Duration(look.Steps)
	by := d.lasted() - due - d.cfg.Time/time.Duration(look.Steps) // it is in time until the beat's own time is over
	switch {
	case by > slack:
		return minutes(by) + " behind"
	case d.lasted() < due-slack:
		return minutes(due-d.lasted()) + " ahead"
	}
	return "in time"
}

// slack is how far from the plan a class is that is in time.
const slack = 30 * time.Second

// minutes is a time as a clock shows it: "4:10", "1:02:03".
func minutes(d time.Duration) string {
	s := int(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
