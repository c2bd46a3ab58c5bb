package tui

import (
	"time"

	"kviz/cluster/trace"
	"kviz/tui/motion"
	"kviz/tui/narrate"
)

// moving is what moves on the picture of the cluster: how far its player has seen the
// trace, and from where.
type moving struct {
	player *motion.Player
	seen   uint64 // events up to this position have been shown, or passed over
	live   bool   // they were the newest
	paused bool
	walked bool // the last key went forward through the past

	teller narrate.Teller // of what is seen live
}

func newMoving(mode string, remote bool, seen uint64) moving {
	m := moving{player: motion.New(motion.Mode(mode)), seen: seen, live: true}
	m.player.Remote(remote)
	return m
}

// animate counts presentation time and shows what has happened since the last look; it
// reports whether there is something else to draw.
func (m *Explorer) animate(passed time.Duration) bool {
	v := &m.moving
	v.player.Routine(!m.hush)
	told := v.teller.Tick(passed)
	changed := v.player.Tick(passed) || told
	where, live, paused := m.travel.Where(), m.travel.Live(), m.drive.Clock().Paused
	at := where.Len
	if !live {
		at = min(where.At+1, where.Len)
	}
	from, wasLive, walked := v.seen, v.live, v.walked
	stopped, resumed := paused && !v.paused, !paused && v.paused
	v.seen, v.live, v.paused, v.walked = at, live, paused, false
	state := m.travel.State()
	switch {
	case at == from && live == wasLive:
		if live && stopped && m.cluster != nil && !v.player.Busy() {
			v.player.Stand(state.Event, state)
			return true
		}
		if live && resumed { // what stood there is over
			v.player.Stand(nil, state)
			return true
		}
		return changed
	case live && wasLive && at > from:
		tempo := motion.Live(m.drive.Clock().Speed)
		if paused {
			tempo = motion.Stepped
		}
		events := m.between(from, at)
		v.player.Catch(events, state, tempo)
		if paused {
			v.teller.Forget()
		} else {
			v.teller.Catch(events, state, m.drive.Clock().Speed)
		}
		if m.stepped() {
			v.player.End(m.told(), state)
		}
	case !live && !wasLive && at > from && m.travel.Playing():
		v.player.Catch(m.between(from, at), state, motion.Live(m.travel.Speed()))
	case !live && !wasLive && at > from && walked:
		v.player.Catch(m.between(from, at), state, motion.Walked)
		v.player.End(state.Event, state)
	case live:
		v.player.Stand(nil, state)
	default:
		v.player.Stand(state.Event, state)
	}
	return true
}

// enough is how many events are looked at between two frames; of more, the newest.
const enough = 4096

func (m *Explorer) between(from, to uint64) []*trace.Event {
	if to > from+enough {
		from = to - enough
	}
	var all []*trace.Event
	for from < to {
		events, next, _ := m.history().Stream().Read(from, int(to-from))
		if next <= from {
			break
		}
		all, from = append(all, events...), next
	}
	return all
}

// emphasised is the event that the picture emphasises, if the picture is on the screen.
func (m *Explorer) emphasised() *trace.Event {
	if !m.frame.Layout().Shows("map") {
		return nil
	}
	return m.moving.player.Shot().Event
}
