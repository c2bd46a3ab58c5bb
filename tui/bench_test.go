package tui

import (
	"context"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/safe"
	"kviz/tui/tuitest"
)

// BenchmarkRedraw is one frame at 10,000 events a second and 30 frames: 333
// events are folded, every pane that shows them is drawn, and the frame is
// written out. At 30 frames a second, 3.3 ms a frame are 10 % of a core.
func BenchmarkRedraw(b *testing.B) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			story := tuitest.Story()
			stream := trace.NewStream(0)
			h := view.NewHistory(stream)
			m, err := New(context.Background(), Config{History: h, Theme: "dark"}, safe.NewGroup(nil))
			if err != nil {
				b.Fatal(err)
			}
			m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			n, lap := uint64(0), 0
			var drawing time.Duration
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				for j := 0; j < 333; j++ {
					e := *story.Stream.Get(n)
					e.ID.Seq += uint64(lap) * 1000
					stream.Append(&e)
					if n++; n == story.Stream.Len() {
						n, lap = 0, lap+1
					}
				}
				h.CatchUp(0)
				start := time.Now()
				m.Update(tickMsg{})
				if len(m.View().Content) == 0 {
					b.Fatal("an empty frame")
				}
				drawing += time.Since(start)
			}
			b.ReportMetric(float64(drawing.Microseconds())/float64(b.N), "µs-drawing/frame")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)*30/10, "%-of-a-core-at-30fps")
		})
	}
}

// BenchmarkIdle is a look at the trace when nothing happened.
func BenchmarkIdle(b *testing.B) {
	d := drive(b, 200, 60, -1)
	d.m.View()
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		d.m.Update(tickMsg{})
		d.m.View()
	}
}
