package load

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"kviz/cluster/bound"
)

// Curve is a figure over time, from the moment at which it was set. Its text is
//
//	0.5                       the same all the time
//	0.2..2/5m                 it goes from 0.2 to 2 in five minutes, and stays there
//	0.2~1.5/10m               it swings between the two, once in ten minutes, from the first on
//	0.2, 2m: 1.5, 10m: 0..1/1m    one of these after the other, each from its time on
//
// The same text always has the same values: they are integers, and no floating point is behind
// them, which machines round differently.
type Curve struct {
	unit  Unit
	text  string
	parts []part
}

// Unit is what a curve's figures are.
type Unit uint8

// The units. Values are whole numbers of the small one.
const (
	CPU    Unit = iota // nanocores
	Memory             // bytes
	Metric             // thousandths, as metrics are in the API
)

// Bounds of what may be set: more is a slip of the pen, and sums of them must fit an int64.
const (
	maxParts    = 32
	maxText     = 1024
	maxDuration = 365 * 24 * time.Hour
	minDuration = time.Second
)

var most = map[Unit]resource.Quantity{
	CPU: resource.MustParse("100k"), Memory: resource.MustParse("64Ti"), Metric: resource.MustParse("1e12"),
}

// part is a curve's piece, from its time until the next one's.
type part struct {
	at       time.Duration
	from, to int64 // of a wave the two ends
	over     time.Duration
	wave     bool
}

// ParseCurve reads a curve.
func ParseCurve(unit Unit, text string) (*Curve, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxText {
		return nil, fmt.Errorf("a curve of %d characters: it may have %d", len(text), maxText)
	}
	c := &Curve{unit: unit}
	var said []string
	for i, one := range strings.Split(text, ",") {
		if i == maxParts {
			return nil, fmt.Errorf("a curve of more than %d parts", maxParts)
		}
		p, said1, err := parsePart(unit, strings.TrimSpace(one), i == 0)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		if i > 0 && p.at <= c.parts[i-1].at {
			return nil, fmt.Errorf("%q: the part of %s comes after that of %s: put them in the order of time", text, short(p.at), short(c.parts[i-1].at))
		}
		c.parts, said = append(c.parts, p), append(said, said1)
	}
	c.text = strings.Join(said, ", ")
	return c, nil
}

// parsePart reads one part, and gives its text as it is told.
func parsePart(unit Unit, text string, first bool) (p part, said string, err error) {
	figure := text
	if at, rest, ok := strings.Cut(text, ":"); ok {
		if first {
			return p, "", errors.New("the first part begins at once, so it has no time before it")
		}
		if p.at, err = parseTime(strings.TrimSpace(at)); err != nil {
			return p, "", err
		}
		figure = strings.TrimSpace(rest)
	} else if !first {
		return p, "", fmt.Errorf("say from when on %q holds: 2m: %s", text, text)
	}
	figure, over, slash := strings.Cut(figure, "/")
	from, to, ramp := strings.Cut(figure, "..")
	if !ramp {
		from, to, p.wave = strings.Cut(figure, "~")
	}
	two := ramp || p.wave
	switch {
	case two && !slash:
		return p, "", fmt.Errorf("say how long it takes from one to the other: %s/5m", figure)
	case !two && slash:
		return p, "", fmt.Errorf("only what changes takes time: %s, or 0..%s/%s", figure, figure, over)
	}
	if p.from, said, err = parseFigure(unit, from); err != nil {
		return p, "", err
	}
	p.to = p.from
	if two {
		var second string
		if p.to, second, err = parseFigure(unit, to); err != nil {
			return p, "", err
		}
		if p.over, err = parseTime(strings.TrimSpace(over)); err != nil {
			return p, "", err
		}
		sign := ".."
		if p.wave {
			sign = "~"
		}
		said += sign + second + "/" + short(p.over)
	}
	if p.at > 0 {
		said = short(p.at) + ": " + said
	}
	return p, said, nil
}

func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("want a time such as 30s, 5m or 2h, not %q", text)
	case d < minDuration || d > maxDuration:
		return 0, fmt.Errorf("want a time from %s to %s, not %s", short(minDuration), short(maxDuration), text)
	}
	return d, nil
}

func parseFigure(unit Unit, text string) (v int64, said string, err error) {
	text = strings.TrimSpace(text)
	if err := bound.Quantity(text); err != nil {
		return 0, "", err
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, "", fmt.Errorf("want %s, not %q", unit.like(), text)
	}
	if limit := most[unit]; q.Sign() < 0 || q.Cmp(limit) > 0 {
		return 0, "", fmt.Errorf("want from 0 to %s, not %s", limit.String(), text)
	}
	if one := resource.MustParse("1"); unit == Memory && q.Sign() > 0 && q.Cmp(one) < 0 {
		return 0, "", fmt.Errorf("%s is less than one byte: M and Mi are millions, m is a thousandth", text)
	}
	return unit.of(q), q.String(), nil
}

func (u Unit) like() string {
	switch u {
	case CPU:
		return "cores such as 0.5 or 500m"
	case Memory:
		return "bytes such as 200Mi"
	}
	return "a number such as 120, 1500m or 10k"
}

func (u Unit) of(q resource.Quantity) int64 {
	switch u {
	case CPU:
		return q.ScaledValue(resource.Nano)
	case Memory:
		return q.Value()
	}
	return q.MilliValue()
}

// Quantity is a value in Kubernetes' words.
func (u Unit) Quantity(v int64) *resource.Quantity {
	switch u {
	case CPU:
		return resource.NewScaledQuantity(v, resource.Nano)
	case Memory:
		return resource.NewQuantity(v, resource.BinarySI)
	}
	return resource.NewMilliQuantity(v, resource.DecimalSI)
}

// Text is a value as people read it: 250m, 200Mi, 12500m.
func (u Unit) Text(v int64) string {
	const milli, mebi = 1_000_000, 1 << 20
	switch {
	case u == CPU && v%milli != 0 && v > milli:
		v -= v % milli
	case u == Memory && v > 10*mebi:
		v -= v % mebi
	}
	return u.Quantity(v).String()
}

// String is the curve's text, from which it can be read again.
func (c *Curve) String() string { return c.text }

// Unit is what its figures are.
func (c *Curve) Unit() Unit { return c.unit }

// Changes reports whether its figure ever changes after a time.
func (c *Curve) Changes(after time.Duration) bool {
	last := c.parts[len(c.parts)-1]
	if after < last.at {
		return true
	}
	return last.from != last.to && (last.wave || after < last.at+last.over)
}

// At is the figure at a time after it was set.
func (c *Curve) At(t time.Duration) int64 {
	i := c.part(t)
	return c.parts[i].value(t - c.parts[i].at)
}

// part is the index of the part that holds at a time.
func (c *Curve) part(t time.Duration) int {
	i := 0
	for i+1 < len(c.parts) && c.parts[i+1].at <= t {
		i++
	}
	return i
}

func (p *part) value(t time.Duration) int64 {
	if p.over <= 0 || p.from == p.to {
		return p.from
	}
	t = max(t, 0)
	if !p.wave {
		return between(p.from, p.to, min(t, p.over), p.over)
	}
	t %= p.over
	if half := p.over / 2; t > half { // the way back is the way there
		t = p.over - t
	}
	return between(p.from, p.to, time.Duration(rise(int64(t), int64(p.over/2))), waveScale)
}

// waveScale is what rise goes up to.
const waveScale = 1 << 30

// rise is half a wave, from 0 at 0 to waveScale at half: (1 - cos) / 2, by Bhaskara's
// approximation of the sine, which is within 0.2 % and needs integers only.
func rise(t, half int64) int64 {
	if half <= 0 || t >= half {
		return waveScale
	}
	x := int64(bigRatio(t, 180_000, half)) // thousandths of a degree
	// cos x = sin(90° + x), and for x over 90° it is -sin(x - 90°).
	sine := func(x int64) int64 { // of 0 to 180°, times waveScale
		a := x * (180_000 - x) // up to 8.1e9
		return int64(bigRatio(4*a, waveScale, 40_500_000_000-a))
	}
	if x <= 90_000 {
		return (waveScale - sine(90_000+x)) / 2
	}
	return (waveScale + sine(x-90_000)) / 2
}

// between is from + (to - from) * t / over.
func between(from, to int64, t, over time.Duration) int64 {
	if to >= from {
		return from + int64(bigRatio(to-from, int64(t), int64(over)))
	}
	return from - int64(bigRatio(from-to, int64(t), int64(over)))
}

// bigRatio is v * num / den without overflow on the way; none may be negative. What does not fit
// is the largest number.
func bigRatio(v, num, den int64) uint64 {
	const largest = 1<<63 - 1
	hi, lo := bits.Mul64(uint64(v), uint64(num))
	if den <= 0 || hi >= uint64(den) {
		return largest
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	return min(q, largest)
}

// Above is the first time, from a time on, at which the figure is above v; false if it
// never is.
func (c *Curve) Above(from time.Duration, v int64) (time.Duration, bool) {
	from = max(from, 0)
	for i := c.part(from); i < len(c.parts); i++ {
		p := &c.parts[i]
		begin, end := max(from, p.at)-p.at, time.Duration(1<<63-1)
		if i+1 < len(c.parts) {
			end = c.parts[i+1].at - p.at
		}
		if t, ok := p.above(begin, end, v); ok {
			return p.at + t, true
		}
	}
	return 0, false
}

// above is Above within one part, before its end.
func (p *part) above(begin, end time.Duration, v int64) (time.Duration, bool) {
	switch {
	case p.value(begin) > v:
		return begin, true
	case max(p.from, p.to) <= v || p.from == p.to:
		return 0, false
	}
	// Its greatest value is above v: the way up to it begins at low and ends at high.
	low, high := begin, p.over
	if p.wave {
		half := p.over / 2
		turn := begin / p.over * p.over // when this swing began
		low, high = turn, turn+half
		if p.to < p.from { // it begins at the upper end
			low, high = turn+half, turn+p.over
		}
		if begin >= high {
			low, high = low+p.over, high+p.over
		}
		low = max(low, begin)
	} else if p.to < p.from {
		return 0, false
	}
	if p.value(high) <= v { // the greatest is a moment that the division misses
		return 0, false
	}
	for low+time.Millisecond < high { // value(low) <= v < value(high), and it only grows
		if mid := low + (high-low)/2; p.value(mid) > v {
			high = mid
		} else {
			low = mid
		}
	}
	return high, high < end
}

// short is a duration as people write it: 5m, not 5m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Span is a while in which all of the curve shows: until its last change is over, and of a wave
// once up and down. It is zero for a figure that never changes.
func (c *Curve) Span() time.Duration {
	last := c.parts[len(c.parts)-1]
	return last.at + last.over
}
