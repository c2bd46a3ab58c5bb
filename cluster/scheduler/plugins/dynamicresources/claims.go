package dynamicresources

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tidwall/btree"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"

	"kviz/cluster/sim"
)

// Claims is all ResourceClaims: as the API server last answered, which may be newer than what the informer
// has seen, with the allocations that are decided and not written yet, and the devices that all of them take.
// There is one for all profiles.
//
// Mirrors dra_manager.go claimTracker, allocateddevices.go, and pkg/scheduler/util/assumecache.
type Claims struct {
	stored  func(key string) *resourcev1.ResourceClaim
	changed func(t *sim.Task, old, new *resourcev1.ResourceClaim)

	latest   btree.Map[string, *resourcev1.ResourceClaim]
	inFlight map[types.UID]*resourcev1.ResourceClaim
	// taken is by the claims of latest; those in flight come on top.
	taken structured.AllocatedState
}

// NewClaims knows of no claim yet. stored gives what the informer has, nil if nothing; changed is called after
// each change, with nil for what was not or is no more.
func NewClaims(stored func(key string) *resourcev1.ResourceClaim, changed func(t *sim.Task, old, new *resourcev1.ResourceClaim)) *Claims {
	return &Claims{stored: stored, changed: changed, inFlight: map[types.UID]*resourcev1.ResourceClaim{}, taken: structured.AllocatedState{
		AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity: structured.NewConsumedCapacityCollection(),
	}}
}

func keyOf(c *resourcev1.ResourceClaim) string { return c.Namespace + "/" + c.Name }

func versionOf(c *resourcev1.ResourceClaim) int64 {
	n, _ := strconv.ParseInt(c.ResourceVersion, 10, 64)
	return n
}

// Seen takes in what the informer has seen. An answer of the API server may have been newer.
func (c *Claims) Seen(t *sim.Task, claim *resourcev1.ResourceClaim) {
	old, known := c.latest.Get(keyOf(claim))
	if !known || versionOf(claim) > versionOf(old) {
		c.set(t, old, claim)
	}
}

// Gone forgets a claim.
func (c *Claims) Gone(t *sim.Task, claim *resourcev1.ResourceClaim) {
	if old, known := c.latest.Delete(keyOf(claim)); known {
		c.count(old, nil)
		c.changed(t, old, nil)
	}
}

func (c *Claims) set(t *sim.Task, old, claim *resourcev1.ResourceClaim) {
	c.latest.Set(keyOf(claim), claim)
	c.count(old, claim)
	c.changed(t, old, claim)
}

// notFound is the error of a claim that is not there (assumecache.NotFoundError).
type notFound string

func (key notFound) Error() string {
	return fmt.Sprintf("could not find ResourceClaim %q", string(key))
}

// get is the claim of a name, or a notFound.
func (c *Claims) get(namespace, name string) (*resourcev1.ResourceClaim, error) {
	key := namespace + "/" + name
	if claim, ok := c.latest.Get(key); ok {
		return claim, nil
	}
	return nil, notFound(key)
}

// assume takes in an answer of the API server.
func (c *Claims) assume(t *sim.Task, claim *resourcev1.ResourceClaim) error {
	old, err := c.get(claim.Namespace, claim.Name)
	if err != nil {
		return err
	}
	if versionOf(claim) < versionOf(old) {
		return fmt.Errorf("ResourceClaim %q is out of sync (stored: %d, assume: %d)", keyOf(claim), versionOf(old), versionOf(claim))
	}
	c.set(t, old, claim)
	return nil
}

// restore goes back to what the informer has seen.
func (c *Claims) restore(t *sim.Task, namespace, name string) {
	key := namespace + "/" + name
	is := c.stored(key)
	if old, known := c.latest.Get(key); known && is != nil && old != is {
		c.set(t, old, is)
	}
}

// pending is the allocation of a claim that is decided and not written yet, nil if there is none.
func (c *Claims) pending(uid types.UID) *resourcev1.AllocationResult {
	if claim := c.inFlight[uid]; claim != nil {
		return claim.Status.Allocation
	}
	return nil
}

// depart has a claim be in flight, until land. One that has got an allocation since is not.
func (c *Claims) depart(uid types.UID, claim *resourcev1.ResourceClaim) error {
	if claim.Name != specialClaimInMemName {
		is, err := c.get(claim.Namespace, claim.Name)
		if err != nil {
			return fmt.Errorf("look up assumed claim %s/%s, UID=%s: %w", claim.Namespace, claim.Name, uid, err)
		}
		if is.UID == uid && is.Status.Allocation != nil {
			return nil
		}
	}
	c.inFlight[uid] = claim
	return nil
}

// land reports whether the claim was in flight.
func (c *Claims) land(uid types.UID) bool {
	_, was := c.inFlight[uid]
	delete(c.inFlight, uid)
	return was
}

// count keeps the devices that are taken. An allocation cannot be changed, only made and taken back.
func (c *Claims) count(old, claim *resourcev1.ResourceClaim) {
	switch had, has := old != nil && old.Status.Allocation != nil, claim != nil && claim.Status.Allocation != nil; {
	case has && !had:
		each(claim, taking{
			func(id structured.DeviceID) { c.taken.AllocatedDevices.Insert(id) },
			func(id structured.SharedDeviceID) { c.taken.AllocatedSharedDeviceIDs.Insert(id) }, c.taken.AggregatedCapacity.Insert,
		})
	case had && !has:
		each(old, taking{
			func(id structured.DeviceID) { c.taken.AllocatedDevices.Delete(id) },
			func(id structured.SharedDeviceID) { c.taken.AllocatedSharedDeviceIDs.Delete(id) }, c.taken.AggregatedCapacity.Remove,
		})
	}
}

// allocated is all devices that are taken, by claims in flight too.
func (c *Claims) allocated() structured.AllocatedState {
	all := structured.AllocatedState{
		AllocatedDevices: c.taken.AllocatedDevices.Clone(), AllocatedSharedDeviceIDs: c.taken.AllocatedSharedDeviceIDs.Clone(),
		AggregatedCapacity: c.taken.AggregatedCapacity.Clone(),
	}
	for _, uid := range slices.Sorted(maps.Keys(c.inFlight)) {
		each(c.inFlight[uid], taking{
			func(id structured.DeviceID) { all.AllocatedDevices.Insert(id) },
			func(id structured.SharedDeviceID) { all.AllocatedSharedDeviceIDs.Insert(id) }, all.AggregatedCapacity.Insert,
		})
	}
	return all
}

// taking is called for each part of an allocation.
type taking struct {
	device   func(structured.DeviceID)
	share    func(structured.SharedDeviceID)
	capacity func(structured.DeviceConsumedCapacity)
}

// each looks at what a claim has been given. Admin access takes nothing.
//
// Mirrors allocateddevices.go foreachAllocatedDevice.
func each(claim *resourcev1.ResourceClaim, do taking) {
	if claim.Status.Allocation == nil {
		return
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if result.ShareID == nil {
			do.device(id)
			continue
		}
		do.share(structured.MakeSharedDeviceID(id, result.ShareID))
		if result.ConsumedCapacity != nil {
			do.capacity(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	}
}
