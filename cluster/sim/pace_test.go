package sim_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// paced runs a kernel at a speed in a bubble whose real time is exact, with a
// component that does something each virtual second, and gives how many virtual
// seconds passed in a real one while outside was at work.
func paced(t *testing.T, cfg sim.Config, speed float64, outside func(k *sim.Kernel, p *sim.Process)) (pace float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := sim.New(cfg)
		k.SetSpeed(speed)
		p := k.NewProcess(trace.Lane{Component: "test"})
		p.Go("component", func(tk *sim.Task) {
			for {
				tk.Sleep(time.Second)
			}
		})
		end := make(chan error, 1)
		go func() { end <- k.Run(context.Background()) }()
		time.Sleep(time.Second)
		var from, to time.Duration
		begun := time.Now()
		_ = k.Do(func() { from = k.Elapsed() })
		outside(k, p)
		_ = k.Do(func() { to = k.Elapsed() })
		pace = (to - from).Seconds() / time.Since(begun).Seconds()
		k.Stop()
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
	return pace
}

// at has fn run every so often for some time.
func at(every, long time.Duration, fn func()) {
	for begun := time.Now(); time.Since(begun) < long; {
		time.Sleep(every)
		fn()
	}
}

// Whatever comes from outside, and however often, virtual time keeps its pace: the
// modelled pauses of that work are counted from the moment it came, not from the last
// timer, and nobody who begins to wait makes the cluster forget the time since then.
func TestTrafficFromOutsideLeavesTheClockItsPace(t *testing.T) {
	traffic := map[string]func(every, long time.Duration) func(*sim.Kernel, *sim.Process){
		"requests": func(every, long time.Duration) func(*sim.Kernel, *sim.Process) {
			return func(k *sim.Kernel, p *sim.Process) {
				at(every, long, func() {
					_ = k.Call(context.Background(), p, "request", func(tk *sim.Task) { tk.Sleep(time.Millisecond); tk.Sleep(time.Millisecond) })
				})
			}
		},
		"held watches": func(every, long time.Duration) func(*sim.Kernel, *sim.Process) {
			return func(k *sim.Kernel, p *sim.Process) {
				at(every, long, func() { k.Post(func() { k.AddDemand(1) }) })
			}
		},
		"news of the store": func(every, long time.Duration) func(*sim.Kernel, *sim.Process) {
			return func(k *sim.Kernel, p *sim.Process) {
				at(every, long, func() { k.Post(func() { k.After(time.Millisecond, func() {}) }) })
			}
		},
		"questions": func(every, long time.Duration) func(*sim.Kernel, *sim.Process) {
			return func(k *sim.Kernel, p *sim.Process) {
				at(every, long, func() { _ = k.Do(func() { k.After(time.Millisecond, func() {}) }) })
			}
		},
		"the speed set again": func(every, long time.Duration) func(*sim.Kernel, *sim.Process) {
			return func(k *sim.Kernel, p *sim.Process) {
				at(every, long, func() { _ = k.Do(func() { k.SetSpeed(k.Speed()) }) })
			}
		},
		"a store that cannot answer and can again": func(every, long time.Duration) func(*sim.Kernel, *sim.Process) {
			return func(k *sim.Kernel, p *sim.Process) {
				at(every, long, func() {
					_ = k.Call(context.Background(), p, "request", func(tk *sim.Task) {
						_ = tk.Await(0, 0, func(done func()) { time.AfterFunc(30*time.Millisecond, done) })
					})
				})
			}
		},
	}
	for name, outside := range traffic {
		for _, speed := range []float64{0.1, 1, 10} {
			for _, every := range []time.Duration{7 * time.Second, 900 * time.Millisecond, 100 * time.Millisecond, 10 * time.Millisecond} {
				t.Run(fmt.Sprintf("%s/%gx/%v", name, speed, every), func(t *testing.T) {
					want, cfg := speed, sim.Config{}
					if name == "a store that cannot answer and can again" {
						if speed > 1 {
							return // virtual time is held to real time meanwhile: the next test
						}
						cfg.Healthy = func() bool { return false }
					}
					got := paced(t, cfg, speed, outside(every, 100*time.Second))
					if math.Abs(got/want-1) > 0.005 {
						t.Errorf("%.3f virtual seconds in a real one, want %g", got, want)
					}
				})
			}
		}
	}
}

// While the store cannot answer, virtual time runs as real time does, and not as
// much faster afterwards as it would have meanwhile.
func TestARecoveredStoreIsNotCaughtUpWith(t *testing.T) {
	var sick atomic.Bool
	got := paced(t, sim.Config{Healthy: func() bool { return !sick.Load() }}, 10, func(k *sim.Kernel, p *sim.Process) {
		time.Sleep(10 * time.Second)
		sick.Store(true)
		_ = k.Call(context.Background(), p, "request", func(tk *sim.Task) {
			_ = tk.Await(0, 0, func(done func()) {
				time.AfterFunc(80*time.Second, func() { sick.Store(false); done() })
			})
		})
		time.Sleep(10 * time.Second)
	})
	if want := (10*10 + 80 + 10*10) / 100.0; math.Abs(got/want-1) > 0.01 {
		t.Errorf("%.3f virtual seconds in a real one, want %g", got, want)
	}
}

// Timers that fall due a little later fire in the same wake-up; a rate that changes meanwhile, as it does
// each time the store cannot answer, must not take the time until then for passed.
func TestChangesOfTheRateWinNoTime(t *testing.T) {
	pace := paced(t, sim.Config{}, 200, func(k *sim.Kernel, _ *sim.Process) {
		at(time.Millisecond, time.Second, func() { _ = k.Do(func() { k.SetSpeed(200) }) })
	})
	if math.Abs(pace-200) > 10 {
		t.Errorf("a second has %.1f virtual ones, want 200", pace)
	}
}

// What has passed until somebody pauses has passed; while the cluster stands nothing does.
func TestPausingTakesNothingFromTheTimeBefore(t *testing.T) {
	got := paced(t, sim.Config{}, 1, func(k *sim.Kernel, p *sim.Process) {
		for range 100 {
			time.Sleep(300 * time.Millisecond)
			_ = k.Do(k.Pause)
			time.Sleep(100 * time.Millisecond)
			_ = k.Do(k.Resume)
		}
	})
	if math.Abs(got/0.75-1) > 0.005 {
		t.Errorf("%.3f virtual seconds in a real one, want 0.75", got)
	}
}

// A script's clock with a speed is not stopped by somebody else's requests while the
// script waits, and stands, to the nanosecond, while it does not.
func TestDemandKeepsItsPaceBesideRequests(t *testing.T) {
	var waited, stood time.Duration
	paced(t, sim.Config{}, 1, func(k *sim.Kernel, p *sim.Process) {
		_ = k.Do(func() { k.SetDemand(true) })
		request := func() {
			_ = k.Call(context.Background(), p, "request", func(tk *sim.Task) { tk.Sleep(time.Millisecond) })
		}
		ended := make(chan struct{})
		begun := time.Now()
		go func() {
			_ = k.Call(context.Background(), p, "wait", func(tk *sim.Task) { tk.Sleep(100 * time.Second) })
			waited = time.Since(begun)
			close(ended)
		}()
		at(400*time.Millisecond, 90*time.Second, request)
		<-ended
		var from, to time.Duration
		_ = k.Do(func() { from = k.Elapsed() })
		at(400*time.Millisecond, 10*time.Second, func() { _ = k.Do(func() {}) })
		_ = k.Do(func() { to = k.Elapsed() })
		stood = to - from
	})
	if waited < 99*time.Second || waited > 101*time.Second {
		t.Errorf("a wait of 100 virtual seconds took %v", waited)
	}
	if stood != 0 {
		t.Errorf("%v passed while nobody waited", stood)
	}
}

// Where the machine or the store takes longer for the cluster's work than the speed
// allows, a notice says how fast virtual time really is, and when it is over.
func TestFallingBehindIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		speed float64
		work  func(tk *sim.Task)
		want  string
	}{
		"nothing to do":              {1, func(tk *sim.Task) { tk.Sleep(300 * time.Millisecond) }, ""},
		"a moment now and then":      {1, func(tk *sim.Task) { time.Sleep(150 * time.Millisecond); tk.Sleep(9 * time.Second) }, ""},
		"work that just fits":        {1, func(tk *sim.Task) { time.Sleep(100 * time.Millisecond); tk.Sleep(100 * time.Millisecond) }, ""},
		"twice the work":             {1, func(tk *sim.Task) { time.Sleep(200 * time.Millisecond); tk.Sleep(100 * time.Millisecond) }, "0.50 of 1"},
		"a little too much for long": {1, func(tk *sim.Task) { time.Sleep(105 * time.Millisecond); tk.Sleep(100 * time.Millisecond) }, "0.95 of 1"},
		"twice the work in a hurry":  {10, func(tk *sim.Task) { time.Sleep(200 * time.Millisecond); tk.Sleep(time.Second) }, "5.00 of 10"},
		"a slow store": {1, func(tk *sim.Task) {
			_ = tk.Await(100*time.Millisecond, 0, func(done func()) { time.AfterFunc(400*time.Millisecond, done) })
		}, "0.25 of 1 (store)"},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			cfg := sim.Config{Pace: func(p sim.Pace) {
				s := fmt.Sprintf("%.2f of %g", p.Actual, p.Speed)
				if p.Store {
					s += " (store)"
				}
				told = append(told, s)
			}}
			paced(t, cfg, tt.speed, func(k *sim.Kernel, p *sim.Process) {
				done := make(chan struct{})
				end := time.Now().Add(60 * time.Second)
				k.Post(func() {
					p.Go("work", func(tk *sim.Task) {
						for time.Now().Before(end) {
							tt.work(tk)
						}
						close(done)
					})
				})
				<-done
				time.Sleep(20 * time.Second)
			})
			// The windows in which it begins and ends are both.
			over := fmt.Sprintf("%.2f of %g", tt.speed, tt.speed)
			switch {
			case tt.want == "" && len(told) == 0:
			case tt.want == "" || !slices.Contains(told, tt.want) || told[len(told)-1] != over || len(told) > 4:
				t.Errorf("told %q, want %q and then %q", told, tt.want, over)
			}
		})
	}
}

// A store that cannot answer changes the rate. Where virtual time is late just then, what it has
// still to catch up with has not passed: it is slow, and does not run backwards.
func TestALateClockThatChangesItsRateRunsForwards(t *testing.T) {
	var told []float64
	cfg := sim.Config{Healthy: func() bool { return false }, Pace: func(p sim.Pace) { told = append(told, p.Actual) }}
	paced(t, cfg, 1, func(k *sim.Kernel, p *sim.Process) {
		over, done := false, make(chan struct{})
		k.Post(func() {
			p.Go("ten times the work", func(tk *sim.Task) {
				for !over {
					time.Sleep(200 * time.Millisecond)
					tk.Sleep(20 * time.Millisecond)
				}
				close(done)
			})
			p.Go("a request now and then", func(tk *sim.Task) {
				for range 20 {
					tk.Sleep(250 * time.Millisecond)
					_ = tk.Await(0, 0, func(done func()) { time.AfterFunc(time.Millisecond, done) })
				}
				over = true
			})
		})
		<-done
	})
	if len(told) == 0 || slices.Min(told) < 0 {
		t.Errorf("told that virtual time runs at %.2fx", told)
	}
}
