package words

import (
	"testing"
	"time"
)

func TestDur(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 80 * time.Microsecond: "80µs", 1200 * time.Microsecond: "1.2ms", 340 * time.Millisecond: "340ms",
		4500 * time.Millisecond: "4.5s", 125 * time.Second: "2m05s", 192 * time.Minute: "3h12m", 102 * time.Hour: "4d06h", -time.Second: "-1s",
	} {
		if got := Dur(d); got != want {
			t.Errorf("Dur(%d) = %s, want %s", d, got, want)
		}
	}
}

func TestSpeedAndClock(t *testing.T) {
	for x, want := range map[float64]string{0: "max", 1: "1x", 10: "10x", 0.02: "1/50x", 0.001: "1/1000x"} {
		if got := Speed(x); got != want {
			t.Errorf("Speed(%v) = %s, want %s", x, got, want)
		}
	}
	if got := Clock(3723*time.Second + 4*time.Millisecond); got != "1:02:03.004" {
		t.Error(got)
	}
}

func TestAWrittenTimeIsRead(t *testing.T) {
	for _, d := range []time.Duration{0, 8220 * time.Millisecond, 61 * time.Second, 3723*time.Second + 4*time.Millisecond} {
		if got, err := ParseClock(Clock(d)); err != nil || got != d {
			t.Errorf("%s is read as %s (%v)", Clock(d), got, err)
		}
	}
	for text, want := range map[string]time.Duration{"": 0, "8.2s": 8200 * time.Millisecond, "12": 12 * time.Second, "1m": time.Minute} {
		if got, err := ParseClock(text); err != nil || got != want {
			t.Errorf("%q is read as %s (%v)", text, got, err)
		}
	}
	for _, text := range []string{"late", "-3s", "0:61", "1:2:3:4", "1e300", "NaN", ":"} {
		if got, err := ParseClock(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
