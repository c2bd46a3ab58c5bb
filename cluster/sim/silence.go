package sim

import "kviz/cluster/trace"

// Silence notes the event that silenced a lane: its process ended, or it was
// cut off. The zero ID ends it.
func (k *Kernel) Silence(l trace.Lane, id trace.ID) {
	if id.IsZero() {
		delete(k.silenced, l)
		return
	}
	if k.silenced == nil {
		k.silenced = map[trace.Lane]trace.ID{}
	}
	k.silenced[l] = id
}

// Silenced is the event that silenced a lane, zero if it is not. Nobody in the
// cluster can know it: it may be named as a cause of what somebody concluded
// from the silence, and decide nothing.
func (k *Kernel) Silenced(l trace.Lane) trace.ID { return k.silenced[l] }
