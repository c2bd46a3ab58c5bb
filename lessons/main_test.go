package lessons_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// Every trial of a lesson boots a cluster of its own: less time goes to garbage when the heap
// may grow between collections.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
