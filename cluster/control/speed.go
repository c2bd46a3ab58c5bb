package control

import (
	"fmt"
	"strconv"
	"strings"
)

// The slowest speed, at which a virtual second takes a quarter of an hour, and the highest,
// above which as fast as possible is meant.
const (
	Slowest = 0.001
	Fastest = 1_000_000
)

// CheckSpeed is an error for what is no speed: virtual seconds in a real one, or 0 for as fast
// as possible.
func CheckSpeed(x float64) error {
	if x == 0 || x >= Slowest && x <= Fastest { // which NaN is not
		return nil
	}
	return fmt.Errorf("speed %g: want 0 (as fast as possible), or %g to %d", x, Slowest, Fastest)
}

// ParseSpeed reads a speed: "0.02", "10x", or "max" for as fast as possible.
func ParseSpeed(text string) (float64, error) {
	if text == "max" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || x == 0 || CheckSpeed(x) != nil {
		return 0, fmt.Errorf("%q is no speed: want virtual seconds in a real one (0.02, 1, 10), or max", text)
	}
	return x, nil
}
