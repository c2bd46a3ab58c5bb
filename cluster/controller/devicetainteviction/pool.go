package devicetainteviction

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

type poolID struct{ driver, name string }

// poolOf is the pool of a slice, in the form that is there.
func poolOf(old, slice *resourcev1.ResourceSlice) poolID {
	if slice == nil {
		slice = old
	}
	return poolID{slice.Spec.Driver, slice.Spec.Pool.Name}
}

// pool is a driver's pool of devices: its slices, by name. Those of an old generation of the pool
// do not count; their driver is about to replace them. A nil pool has none.
type pool struct{ slices []*resourcev1.ResourceSlice }

// replace takes a slice's new form for its old one; nil is none.
func (j *judge) replace(of poolID, old, slice *resourcev1.ResourceSlice) {
	p := j.pools[of]
	if p == nil {
		p = &pool{}
		j.pools[of] = p
	}
	byName := func(s *resourcev1.ResourceSlice, name string) int { return strings.Compare(s.Name, name) }
	if old != nil {
		if i, ok := slices.BinarySearchFunc(p.slices, old.Name, byName); ok {
			p.slices = slices.Delete(p.slices, i, i+1)
		}
	}
	if slice != nil {
		i, ok := slices.BinarySearchFunc(p.slices, slice.Name, byName)
		if ok {
			p.slices[i] = slice
		} else {
			p.slices = slices.Insert(p.slices, i, slice)
		}
	}
	if len(p.slices) == 0 {
		delete(j.pools, of)
	}
}

// current are the slices of the newest generation.
func (p *pool) current() (newest []*resourcev1.ResourceSlice) {
	if p == nil {
		return nil
	}
	for _, s := range p.slices {
		if len(newest) > 0 && s.Spec.Pool.Generation > newest[0].Spec.Pool.Generation {
			newest = nil
		}
		if len(newest) == 0 || s.Spec.Pool.Generation == newest[0].Spec.Pool.Generation {
			newest = append(newest, s)
		}
	}
	return newest
}

// device is a device by its name, and its slice (getDevice).
func (p *pool) device(name string) (*resourcev1.ResourceSlice, *resourcev1.Device) {
	for _, s := range p.current() {
		for i := range s.Spec.Devices {
			if s.Spec.Devices[i].Name == name {
				return s, &s.Spec.Devices[i]
			}
		}
	}
	return nil, nil
}

// tainted are the NoExecute taints of the pool's devices, by the devices' names (getTaintedDevices).
func (p *pool) tainted() map[string][]resourcev1.DeviceTaint {
	var all map[string][]resourcev1.DeviceTaint
	for _, s := range p.current() {
		for _, d := range s.Spec.Devices {
			for _, t := range d.Taints {
				if t.Effect != resourcev1.DeviceTaintEffectNoExecute {
					continue
				}
				if all == nil {
					all = map[string][]resourcev1.DeviceTaint{}
				}
				all[d.Name] = append(all[d.Name], t)
			}
		}
	}
	return all
}

// differ are the devices whose taints are others now.
func differ(was, is map[string][]resourcev1.DeviceTaint) map[string]bool {
	changed := map[string]bool{}
	for name, taints := range is {
		if !equality.Semantic.DeepEqual(was[name], taints) {
			changed[name] = true
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			changed[name] = true
		}
	}
	return changed
}
