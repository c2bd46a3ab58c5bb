package lessons

import (
	"errors"
	"testing"
	"time"
)

// A trial that fails is not made again for that alone; and one that fails each time has failed,
// whatever the machine did.
func TestUndisturbedFails(t *testing.T) {
	made := 0
	err := undisturbed(func() error { made++; return errors.New("open: goal") })
	if err == nil || made > tries {
		t.Errorf("%d trials: %v", made, err)
	}
	made = 0
	if err := undisturbed(func() error { made++; return nil }); err != nil || made != 1 {
		t.Errorf("%d trials of one that passes: %v", made, err)
	}
}

func TestThePauseIsTheLongest(t *testing.T) {
	start := time.Unix(0, 0)
	p := pause{last: start}
	for _, ms := range []int{10, 21, 30, 290, 300} {
		p.runs(start.Add(time.Duration(ms) * time.Millisecond))
	}
	if want := 250 * time.Millisecond; p.longest != want {
		t.Errorf("the longest pause is %s, want %s", p.longest, want)
	}
}
