package cluster

import (
	"time"

	"kviz/cluster/csi"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// driverTarget is the storage driver with its disk service.
type driverTarget struct{ driver *csi.Service }

func (t driverTarget) Fail(call string, _ []trace.ID) error {
	t.driver.Fail(call)
	return nil
}

func (t driverTarget) Run(yes bool, _ []trace.ID) error {
	t.driver.SetDown(!yes)
	return nil
}

func (t driverTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.driver.Slow(d)
	return nil
}

func (t driverTarget) Full(yes bool, _ []trace.ID) error {
	t.driver.SetFull(yes)
	return nil
}

func (t driverTarget) Heal([]trace.ID) error {
	t.driver.Heal()
	t.driver.Slow(0)
	t.driver.SetFull(false)
	t.driver.SetDown(false)
	return nil
}

// sidecarTarget is one sidecar of the driver.
type sidecarTarget struct {
	process
	lag *sim.Delay
}

func (t sidecarTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.lag.Set(d)
	return nil
}
