package control_test

import (
	"math"
	"testing"

	"kviz/cluster/control"
)

// A speed is a number that virtual time can have.
func TestSpeeds(t *testing.T) {
	for text, want := range map[string]float64{"max": 0, "1": 1, "0.02x": 0.02, "1000000": 1e6, "0.001": 0.001} {
		if x, err := control.ParseSpeed(text); err != nil || x != want {
			t.Errorf("%s is %v, %v", text, x, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "0.0009", "nan", "inf", "-inf", "1e7", "1e300", "fast"} {
		if x, err := control.ParseSpeed(text); err == nil {
			t.Errorf("%q is the speed %v", text, x)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e-9, 1e9} {
		if control.CheckSpeed(x) == nil {
			t.Errorf("%v is a speed", x)
		}
	}
}
