package tui

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/host"
	"kviz/tui/safe"
	"kviz/tui/tuitest"
)

// painter is what Bubble Tea does with a frame: read it into cells, compare
// them with the last ones, and write what changed.
type painter struct {
	out  bytes.Buffer
	scr  *uv.TerminalRenderer
	buf  uv.ScreenBuffer
	sent int
}

func newPainter(w, h int) *painter {
	t := &painter{}
	t.scr = uv.NewTerminalRenderer(&t.out, []string{"TERM=xterm-256color"})
	t.scr.SetColorProfile(colorprofile.TrueColor)
	t.scr.SetFullscreen(true)
	t.scr.SetRelativeCursor(false)
	t.buf = uv.NewScreenBuffer(w, h)
	return t
}

func (t *painter) show(content string) {
	t.buf.Clear()
	uv.NewStyledString(content).Draw(t.buf, t.buf.Bounds())
	t.scr.Render(t.buf.RenderBuffer)
	_ = t.scr.Flush()
	t.sent += t.out.Len()
	t.out.Reset()
}

// busy is an explorer whose story goes on and on.
type busy struct {
	m      *Explorer
	h      *view.History
	story  *tuitest.Tape
	stream *trace.Stream
	n      uint64
	lap    int
}

func newBusy(b *testing.B, w, h int) *busy {
	x := &busy{story: tuitest.Story(), stream: trace.NewStream(0)}
	x.h = view.NewHistory(x.stream)
	m, err := New(context.Background(), Config{History: x.h, Theme: "dark", Preset: "overview"}, safe.NewGroup(nil))
	if err != nil {
		b.Fatal(err)
	}
	x.m = m
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return x
}

// happen lets some events happen and folds them.
func (x *busy) happen(events int) {
	for range events {
		e := *x.story.Stream.Get(x.n)
		e.ID.Seq += uint64(x.lap) * 1000
		x.stream.Append(&e)
		if x.n++; x.n == x.story.Stream.Len() {
			x.n, x.lap = 0, x.lap+1
		}
	}
	x.h.CatchUp(0)
}

// processor is the processor time this process has used.
func processor() time.Duration {
	took, err := host.ProcessorTime(os.Getpid())
	if err != nil {
		panic(err)
	}
	return took
}

// BenchmarkRedraw is one frame at 10,000 events a second and 30 frames: 333
// events are folded, every pane that shows them is drawn, and the frame is
// written to a terminal as Bubble Tea writes it. Processor time is counted (so a
// busy machine does not matter), garbage collection with it; at 30 frames a
// second, 3.3 ms a frame are 10 % of a core.
func BenchmarkRedraw(b *testing.B) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			x, t := newBusy(b, size[0], size[1]), newPainter(size[0], size[1])
			b.ResetTimer()
			start := processor()
			for b.Loop() {
				x.happen(333)
				x.m.Update(tickMsg{})
				v := x.m.View()
				if len(v.Content) == 0 {
					b.Fatal("an empty frame")
				}
				t.show(v.Content)
			}
			used := float64(processor()-start) / float64(b.N)
			b.ReportMetric(used/1e3, "µs-cpu/frame")
			b.ReportMetric(used*30/1e9*100, "%-of-a-core-at-30fps")
			b.ReportMetric(float64(t.sent)/float64(b.N)*30/1024, "KiB/s-written")
		})
	}
}

// BenchmarkKey is the way from a key to the frame that answers it, while 333
// events are waiting to be folded: the next pane gets the focus and everything
// is drawn anew. Bubble Tea writes at the next tick of its 60 a second, so up
// to 17 ms come on top; the budget is 35 ms.
func BenchmarkKey(b *testing.B) {
	x, t := newBusy(b, 120, 40), newPainter(120, 40)
	x.happen(2000)
	b.ResetTimer()
	for b.Loop() {
		x.happen(333)
		x.m.Update(tuitest.Press("tab"))
		t.show(x.m.View().Content)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1e3, "ms-to-the-frame")
}

// BenchmarkIdle is a look at the trace when nothing happened.
func BenchmarkIdle(b *testing.B) {
	d := explore(b, 200, 60, -1)
	d.m.View()
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		d.m.Update(tickMsg{})
		d.m.View()
	}
}
