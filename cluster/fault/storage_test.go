package fault_test

import (
	"slices"
	"testing"

	"kviz/cluster/csi"
	"kviz/cluster/fault"
)

// The calls that a fault can name are the driver's.
func TestStorageCalls(t *testing.T) {
	if !slices.Equal(fault.StorageCalls, csi.Calls()) {
		t.Errorf("faults know the calls %v, the driver has %v", fault.StorageCalls, csi.Calls())
	}
}
