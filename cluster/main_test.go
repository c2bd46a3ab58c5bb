package cluster_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// Most of these tests wait for elections, disks and clients, which take real time: more of them
// run at once than there are processors. They boot and close many clusters, and spend less time
// on garbage when the heap may grow between collections.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		f.Value.Set("4")
	}
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
