package storage

import (
	"fmt"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Reset says, from any goroutine, that what the store told is not its history
// any more. Nothing more is shown until [Client.Restored] takes over what it
// holds: revisions may be given again, and would be taken for those already
// shown.
func (c *Client) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset = true
}

func (c *Client) isReset() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reset
}

// restoredTries is how often the content is requested: until it is known, nothing
// becomes visible and every write fails.
const restoredTries = 5

// Restored takes over a store that was given another content (etcdutl snapshot
// restore) or has lost some (etcd --force-new-cluster): what was visible is not
// any more, every watch ends, and after the event that says so, one store.commit
// event tells all there is now. It fills in told's revisions and keys. The API
// server, whose watches these are, must not run.
func (c *Client) Restored(t *sim.Task, told *trace.Restore) error {
	for len(c.watches) > 0 {
		c.watches[0].Stop(t.Causes()...)
	}
	c.mu.Lock()
	c.arrived = nil // of the store that was
	c.mu.Unlock()
	clear(c.own)
	clear(c.leases)
	c.givenUp, c.compacted = 0, 0
	r, err := c.everything(t)
	for try := 1; err != nil; try++ {
		if try == restoredTries {
			return fmt.Errorf("the store holds the new content, but it could not be read: %w; nothing is shown until kviz restore or kviz fault recover is done again", err)
		}
		t.Sleep(time.Second) // a leader that was just elected may be gone again
		r, err = c.everything(t)
	}
	told.Shown = c.revision
	c.mu.Lock()
	c.reset = false
	c.mu.Unlock()
	c.revision = r.Revision
	told.Revision, told.Keys = c.revision, len(r.Events)
	t.SetCauses(t.Emit(trace.Event{Lane: lane, Kind: trace.StoreRestored, Payload: told}))
	c.tell(t, r)
	return nil
}
