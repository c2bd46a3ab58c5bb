package motion_test

import (
	"slices"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/motion"
	"kviz/tui/tuitest"
)

// rounds has keys go through a queue, and gives the events of that.
func rounds(t *testing.T, keys ...string) ([]*trace.Event, *view.State) {
	t.Helper()
	tape := tuitest.NewTape()
	item := func(k trace.Kind, key string, p trace.QueueItem) {
		p.Queue, p.Key = "replicaset", key
		tape.Emit("replicaset-controller", "", k, trace.Ref{}, &p)
	}
	for _, key := range keys {
		item(trace.QueueAdd, key, trace.QueueItem{Ready: 1})
		item(trace.QueueGet, key, trace.QueueItem{Processing: 1})
		item(trace.QueueDone, key, trace.QueueItem{})
	}
	h := tape.History()
	events, _, _ := h.Stream().Read(0, 1<<20)
	return events, h.Latest()
}

// A key goes in, to the worker and away, one after another though all of it happened in one
// moment, and is in one place at a time; then nothing moves any more.
func TestAKeyGoesItsWay(t *testing.T) {
	events, s := rounds(t, "demo/web")
	for _, tempo := range []motion.Tempo{motion.Live(0.05), motion.Live(0.5), motion.Live(1), motion.Stepped, motion.Walked} {
		p := motion.New(motion.Full)
		p.Catch(events, s, tempo)
		var ways []motion.Way
		shares := map[motion.Way][]float64{}
		for range 200 {
			var going []motion.Key
			for _, k := range p.Shot().Keys {
				if !k.Waits && !k.Whole {
					going = append(going, k)
				}
			}
			if len(going) > 1 {
				t.Fatalf("%+v: the key is in %d places at once", tempo, len(going))
			}
			for _, k := range going {
				if !slices.Contains(ways, k.Way) {
					ways = append(ways, k.Way)
				}
				shares[k.Way] = append(shares[k.Way], k.Share)
			}
			p.Tick(tick)
		}
		if want := []motion.Way{motion.In, motion.Taken, motion.Done}; !slices.Equal(ways, want) {
			t.Errorf("%+v: the key went %v, want %v", tempo, ways, want)
		}
		for way, all := range shares {
			if !slices.IsSorted(all) || len(all) < 3 || all[0] > 0.2 || all[len(all)-1] < 0.8 {
				t.Errorf("%+v: way %d has the shares %v", tempo, way, all)
			}
		}
		if p.Busy() {
			t.Errorf("%+v: nothing moves any more, and time is counted", tempo)
		}
	}
}

// Many keys are not more than the tempo allows; without travel one way is lit at a time, and
// in the past and with no motion the move stands that the event is.
func TestKeysFollowTheModes(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, "demo/"+string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	events, s := rounds(t, names...)
	for _, tempo := range []motion.Tempo{motion.Live(0.05), motion.Live(1), motion.Stepped} {
		p := motion.New(motion.Full)
		p.Catch(events, s, tempo)
		if n := len(p.Shot().Keys); n == 0 || n > tempo.Most {
			t.Errorf("%+v: %d keys at once", tempo, n)
		}
		p.Finish()
		if n := len(p.Shot().Keys); n > 1 {
			t.Errorf("%+v: finished, and %d keys are drawn", tempo, n)
		}
	}
	calm := motion.New(motion.Calm)
	calm.Catch(events, s, motion.Live(0.5))
	keys := calm.Shot().Keys
	if len(keys) != 1 || !keys[0].Whole || keys[0].Share != 1 || keys[0].Event != events[len(events)-1] {
		t.Errorf("calm, the keys are %+v, want the newest, lit where it went", keys)
	}
	for i := 0; calm.Busy(); i++ {
		if calm.Tick(tick); i > 60 {
			t.Fatal("calm, and never at rest")
		}
	}
	if len(calm.Shot().Keys) != 0 {
		t.Errorf("calm and at rest, %d keys are drawn", len(calm.Shot().Keys))
	}
	for name, p := range map[string]*motion.Player{"none": motion.New(motion.Off), "the past": motion.New(motion.Full)} {
		if p.Mode() == motion.Off {
			p.Catch(events[:2], s, motion.Live(1))
		} else {
			p.Stand(events[1], s)
		}
		keys := p.Shot().Keys
		if p.Busy() || len(keys) != 1 || keys[0].Way != motion.Taken || !keys[0].Whole {
			t.Errorf("%s: busy %t, keys %+v", name, p.Busy(), keys)
		}
		was := p.Shot()
		if p.Tick(time.Minute) || p.Shot() != was {
			t.Errorf("%s: something changes by itself", name)
		}
	}
	fast := motion.New(motion.Full)
	fast.Catch(events, s, motion.Live(10))
	for _, k := range fast.Shot().Keys {
		if !k.Whole {
			t.Errorf("at 10x a key travels: %+v", k)
		}
	}
	if n := len(fast.Shot().Keys); n != 3 {
		t.Errorf("at 10x %d ways are lit, want in, to the worker and away", n)
	}
}

// One that is added again while it waits counts on the one that is there.
func TestAMergedKeyCounts(t *testing.T) {
	tape := tuitest.NewTape()
	for range 3 {
		tape.Emit("replicaset-controller", "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "replicaset", Key: "demo/web", Merged: true, Ready: 1})
	}
	h := tape.History()
	events, _, _ := h.Stream().Read(0, 1<<20)
	p := motion.New(motion.Full)
	p.Catch(events, h.Latest(), motion.Live(1))
	if keys := p.Shot().Keys; len(keys) != 1 || keys[0].Way != motion.Onto || keys[0].Count != 3 {
		t.Errorf("three adds of a key that waits: %+v", keys)
	}
}
