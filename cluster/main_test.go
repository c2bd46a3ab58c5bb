package cluster_test

import (
	"os"
	"os/signal"
	"runtime/debug"
	"testing"
)

// These tests boot and close many clusters, and spend less time on garbage when the heap may
// grow between collections. What listens to signals for the whole process begins outside any
// bubble. Each kubectl looks for plugins in every folder of PATH, which took a seventh of the
// time: here there are none.
func TestMain(m *testing.M) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
	os.Unsetenv("PATH")
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
