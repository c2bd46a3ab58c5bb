package motion

import (
	"slices"
	"time"

	"kviz/cluster/trace"
)

// Way is which way a key of a work queue goes.
type Way uint8

// The ways.
const (
	In    Way = iota // into the queue
	Onto             // onto itself: it waits there already
	Taken            // from the queue to the worker
	Done             // away from the worker
	Again            // from the worker to the queue's end
	Later            // to those that wait for their time
)

// Key is a key of a work queue on its way.
type Key struct {
	Event *trace.Event // that it shows; of several the newest
	Queue string
	Key   string
	Way   Way
	Share float64 // how far it has come
	Count int     // how many moves it stands for
	Whole bool    // it does not travel: its way is lit
	Waits bool    // it sets out later

	begin, take time.Duration
}

func (k *Key) end() time.Duration { return k.begin + k.take }

// keyOf is the move of a key that an event is.
func keyOf(e *trace.Event) (Key, bool) {
	p, ok := e.Payload.(*trace.QueueItem)
	if !ok || p == nil {
		return Key{}, false
	}
	k := Key{Event: e, Queue: p.Queue, Key: p.Key, Count: 1}
	switch e.Kind {
	case trace.QueueAdd:
		if p.Merged {
			k.Way = Onto
		}
	case trace.QueueGet:
		k.Way = Taken
	case trace.QueueDone:
		if k.Way = Done; p.Requeued {
			k.Way = Again
		}
	case trace.QueueDelay:
		k.Way = Later
	default:
		return Key{}, false
	}
	return k, true
}

// move sets a key going. A key is in one place at a time, so what it did in the same moment
// it does one after another here.
func (p *Player) move(k Key, begin time.Duration, t Tempo) {
	k.begin, k.take = begin, t.Take
	switch {
	case p.still():
		k.begin, k.take, k.Whole, p.keys = p.now, lamp, true, p.keys[:0]
	case k.Way == Onto:
		k.take = max(k.take, lamp)
	}
	for i := range p.keys {
		q := &p.keys[i]
		if q.Queue != k.Queue || q.Key != k.Key {
			continue
		}
		if t.Merge && q.Way == k.Way && p.now < q.end() {
			q.Count++
			q.Event = k.Event
			return
		}
		k.begin = max(k.begin, q.end())
	}
	if k.begin > p.now+max(within, 2*k.take) { // what is that late nobody connects with what happened
		return
	}
	p.keys = append(p.keys, k)
	if most := p.most(t); len(p.keys) > most {
		p.keys = slices.Delete(p.keys, 0, len(p.keys)-most)
	}
}

// flow lights the ways of keys that are too many, or too fast, to be seen one by one.
func (p *Player) flow(lights []Pulse) {
	for _, l := range lights {
		k, ok := keyOf(l.Event)
		if !ok || l.Class == Undecided {
			continue
		}
		k.begin, k.take, k.Whole = p.now, window, true
		p.keys = append(slices.DeleteFunc(p.keys, func(q Key) bool { return q.Queue == k.Queue && q.Way == k.Way }), k)
	}
}

// keysNow are the keys to be drawn: those on their way, or the one that stands.
func (p *Player) keysNow() []Key {
	var all []Key
	for _, k := range p.keys {
		switch {
		case k.Whole:
			k.Share = 1
		case p.now < k.begin:
			k.Waits = true
		case k.take > 0:
			k.Share = smooth(float64(p.now-k.begin) / float64(k.take))
		}
		all = append(all, k)
	}
	if p.stand != nil && len(p.pulses)+len(p.keys) == 0 {
		if k, ok := keyOf(p.stand.Event); ok {
			k.Share, k.Whole = 1, true
			all = append(all, k)
		}
	}
	return all
}
