package reconcile

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/sim"
)

// How long to wait between tries of a write that meets a conflict
// (client-go/util/retry DefaultRetry and DefaultBackoff, without their jitter).
var (
	Retry   = []time.Duration{10 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond}
	Backoff = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 250 * time.Millisecond}
)

// OnConflict tries a write again as long as it meets a conflict (retry.RetryOnConflict).
func OnConflict(t *sim.Task, waits []time.Duration, write func() error) error {
	for try := 0; ; try++ {
		err := write()
		if !apierrors.IsConflict(err) || try == len(waits) {
			return err
		}
		t.Sleep(waits[try])
	}
}
