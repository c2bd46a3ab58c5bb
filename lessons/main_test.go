package lessons_test

import (
	"os"
	"os/signal"
	"runtime/debug"
	"testing"
)

// Every trial of a lesson boots a cluster of its own: less time goes to garbage when the heap
// may grow between collections. kubectl asks for signals; the goroutine of package
// os/signal that the first who does so starts must not be a bubble's.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
	os.Exit(m.Run())
}
