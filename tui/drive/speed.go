package drive

// speeds are the steps of the keys that change the speed; 0 is as fast as possible.
var speeds = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 50, 0}

// NextSpeed is the next step above x, or below it.
func NextSpeed(x float64, faster bool) float64 {
	at := len(speeds) - 1
	if x > 0 {
		for i, s := range speeds[:len(speeds)-1] {
			if x <= s*1.0001 {
				at = i
				break
			}
		}
	}
	if faster {
		return speeds[min(at+1, len(speeds)-1)]
	}
	return speeds[max(at-1, 0)]
}
