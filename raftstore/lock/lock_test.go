package lock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kviz/raftstore/lock"
	"kviz/raftstore/steady"
)

func TestOneAtATimeOrReaders(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		var l lock.Lock
		var wg sync.WaitGroup
		began := time.Now()
		for range 5 {
			wg.Go(func() { // takes five seconds, one after the other
				l.Lock()
				defer l.Unlock()
				if l.TryRLock() {
					t.Error("a reader beside one who has the lock")
				}
				time.Sleep(time.Second)
			})
		}
		wg.Wait()
		for range 5 {
			wg.Go(func() { // takes one second, all together
				l.RLock()
				defer l.RUnlock()
				time.Sleep(time.Second)
			})
		}
		wg.Wait()
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// One who wants the lock alone gets it, however many readers come.
func TestReadersLetOneIn(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		var l lock.Lock
		var wg sync.WaitGroup
		l.RLock()
		wg.Go(func() { l.Lock(); time.Sleep(time.Second); l.Unlock() })
		synctest.Wait()
		if l.TryRLock() {
			t.Error("a reader began before one who waited for the lock")
		}
		began := time.Now()
		wg.Go(func() {
			l.RLock()
			defer l.RUnlock()
			if took := time.Since(began); took != time.Second {
				t.Errorf("the reader waited for %s", took)
			}
		})
		synctest.Wait()
		l.RUnlock()
		wg.Wait()
	})
}

func TestWhatIsFreeIsNotGivenBack(t *testing.T) {
	for name, give := range map[string]func(*lock.Lock){"Unlock": (*lock.Lock).Unlock, "RUnlock": (*lock.Lock).RUnlock} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a free lock went well", name)
				}
			}()
			give(new(lock.Lock))
		}()
	}
}
