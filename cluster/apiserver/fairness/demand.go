package fairness

import (
	"math"
	"time"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
)

// demand is how many seats a level's requests want, those that sit and those that
// wait, over time (apiserver pkg/util/flowcontrol/fairqueuing/integrator.go).
type demand struct {
	since    time.Duration // up to when the moments are summed
	seats    float64
	moments  fq.Moments
	min, max float64
}

func (d *demand) set(now time.Duration, seats int) {
	d.sum(now)
	d.seats = float64(seats)
	d.min, d.max = math.Min(d.min, d.seats), math.Max(d.max, d.seats)
}

func (d *demand) sum(now time.Duration) {
	d.moments = d.moments.Add(fq.ConstantMoments((now - d.since).Seconds(), d.seats))
	d.since = now
}

// period ends a time of observation, and begins the next.
func (d *demand) period(now time.Duration) fq.IntegratorResults {
	d.sum(now)
	r := fq.IntegratorResults{Duration: d.moments.ElapsedSeconds, Min: d.min, Max: d.max}
	r.Average, r.Deviation = d.moments.AvgAndStdDev()
	d.moments, d.min, d.max = fq.Moments{}, d.seats, d.seats
	return r
}

// Demand is how many seats a level's requests have wanted in the newest period of
// ten seconds (apf_controller.go seatDemandStats).
type Demand struct {
	Average, Deviation float64
	High               int
	// Smoothed falls by half in five minutes, and rises at once.
	Smoothed float64
}

// smoothing is seatDemandSmoothingCoefficient.
const smoothing = 0.977

func (s *Demand) update(r fq.IntegratorResults) {
	s.High = int(math.Round(r.Max))
	if r.Duration <= 0 {
		return
	}
	if math.IsNaN(r.Deviation) {
		r.Deviation = 0
	}
	s.Average, s.Deviation = r.Average, r.Deviation
	envelope := r.Average + r.Deviation
	s.Smoothed = math.Max(envelope, smoothing*s.Smoothed+(1-smoothing)*envelope)
}
