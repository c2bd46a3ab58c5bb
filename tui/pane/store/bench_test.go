package store

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/pane"
)

// BenchmarkPicture is the raft picture of five members at 120x40: drawn from nothing, and a
// frame of an election in motion, in which four votes cross.
func BenchmarkPicture(b *testing.B) {
	h := elected(5).History()
	s := h.Latest()
	g := grid.New(120, 33)
	frame := pane.Frame{S: s, H: h, Focused: true, Live: true, Motion: &motion.Shot{}}
	b.Run("from-nothing", func(b *testing.B) {
		for b.Loop() {
			pane.NewHost(New(), "2").Draw(g, grid.Rect{W: 120, H: 33}, frame)
		}
	})
	b.Run("in-motion", func(b *testing.B) {
		host := pane.NewHost(New(), "2")
		n := uint64(0)
		for b.Loop() {
			n++
			shot := &motion.Shot{Version: n}
			for pos := h.Stream().First(); pos < h.Stream().Len(); pos++ {
				e := h.Stream().Get(pos)
				if m, ok := e.Payload.(*trace.RaftMessage); ok && e.Kind == trace.RaftReply && m.Term == 2 {
					l, _ := motion.Of(e, s)
					shot.Pulses = append(shot.Pulses, motion.Pulse{Light: l, Event: e, Share: float64(n%100) / 100})
				}
			}
			frame.Motion = shot
			if !host.Draw(g, grid.Rect{W: 120, H: 33}, frame) {
				b.Fatal("a frame in motion was not drawn")
			}
		}
	})
}
