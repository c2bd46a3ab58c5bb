package languages

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"kviz/raftstore/host"
)

// Bounds of one use of a program, far above what any exercise needs.
const (
	MostMemory    = 512 << 20 // bytes
	MostProcessor = 10 * time.Second
	mostStack     = 128 << 20
)

var errMemory = fmt.Errorf("stopped: it took more than %d MiB of memory", MostMemory>>20)

// look is how long the two watches wait between two looks: real time, for a process beside the
// simulation.
const look = 5 * time.Millisecond

// tooLarge stops a process once it takes too much memory, and reports whether it did. The process
// cannot watch itself: where its collector waits for the end of a long copy, nothing else in it
// runs, and the copies double.
func tooLarge(pid int, over <-chan struct{}, stop func()) bool {
	for {
		select {
		case <-over:
			return false
		case <-time.After(look):
		}
		if m, err := host.MemoryOf(pid); err == nil && m.Own > MostMemory {
			stop()
			return true
		}
	}
}

// watch ends this process once it has worked too long: a program that goes on for ever ends whatever it
// does, and where it stands then does not matter. And it shows what the program has printed.
func watch(name string, out *flushed) {
	debug.SetMemoryLimit(MostMemory / 2)
	debug.SetMaxStack(mostStack)
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		time.Sleep(4 * look)
		_ = out.Flush()
		if metrics.Read(heap); heap[0].Value.Uint64() > MostMemory { // where nobody else can tell
			stop(name, strings.TrimPrefix(errMemory.Error(), "stopped: "))
		}
		if spent, err := host.ProcessorTime(os.Getpid()); err == nil && spent > MostProcessor {
			stop(name, fmt.Sprintf("it took more than %v of processor time", MostProcessor))
		}
	}
}

func stop(name, why string) {
	fmt.Fprintf(os.Stderr, "%s: stopped: %s\n", name, why)
	os.Exit(2)
}

// flushed is a buffered output that several may flush.
type flushed struct {
	mu sync.Mutex
	w  *bufio.Writer
}

func newFlushed(w io.Writer) *flushed { return &flushed{w: bufio.NewWriterSize(w, 1<<16)} }

// Write is [io.Writer].
func (f *flushed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.w.Write(p)
}

// Flush writes what is in the buffer.
func (f *flushed) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.w.Flush()
}

// flushing is an input before which the output is flushed each time: what was made of a line
// is seen before the next one comes, as of kubectl get -w.
type flushing struct {
	r   io.Reader
	out *flushed
}

// Read is [io.Reader].
func (f *flushing) Read(p []byte) (int, error) {
	if f.out.Flush() != nil {
		os.Exit(141) // nobody reads
	}
	return f.r.Read(p)
}
