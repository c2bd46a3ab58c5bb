// Package words writes durations, sizes and lists the way the panes show them:
// short, of even precision, the same everywhere.
//
// Start reading at [Dur].
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Dur is a duration in at most about six columns: "80µs", "1.2ms", "340ms",
// "4.5s", "2m05s", "3h12m", "4d06h".
func Dur(d time.Duration) string {
	switch neg := ""; {
	case d < 0:
		neg = "-"
		return neg + Dur(-d)
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return strconv.Itoa(int(d/time.Microsecond)) + "µs"
	case d < 10*time.Millisecond:
		return trim(float64(d)/1e6) + "ms"
	case d < time.Second:
		return strconv.Itoa(int(d/time.Millisecond)) + "ms"
	case d < time.Minute:
		return trim(float64(d)/1e9) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d/time.Minute), int(d/time.Second)%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d/time.Hour), int(d/time.Minute)%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d/(24*time.Hour)), int(d/time.Hour)%24)
}

func trim(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// Clock is a virtual time since the epoch with milliseconds: "0:12.345",
// "1:02:03.004".
func Clock(d time.Duration) string {
	ms := int(d / time.Millisecond)
	s := ms / 1000
	if s < 3600 {
		return fmt.Sprintf("%d:%02d.%03d", s/60, s%60, ms%1000)
	}
	return fmt.Sprintf("%d:%02d:%02d.%03d", s/3600, s/60%60, s%60, ms%1000)
}

// ParseClock reads a time as [Clock] writes it, or as Go writes a span: "0:08.22", "1:02:03", "8.2s". Nothing is 0.
func ParseClock(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	seconds := 0.0
	parts := strings.Split(text, ":")
	for i, part := range parts {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || len(parts) > 3 || math.IsNaN(n) || n < 0 || n > 1e6 || i > 0 && n >= 60 {
			return 0, fmt.Errorf("%q is no time: want 0:08.220 or 8.2s", text)
		}
		seconds = seconds*60 + n
	}
	return time.Duration(math.Round(seconds*1000)) * time.Millisecond, nil
}

// Speed is the clock's speed: "1x", "1/50x", "max".
func Speed(x float64) string {
	switch {
	case x <= 0:
		return "max"
	case x >= 1:
		return strconv.FormatFloat(x, 'f', -1, 64) + "x"
	}
	return "1/" + strconv.FormatFloat(1/x, 'f', 0, 64) + "x"
}

// Bytes is a size: "812B", "1.4K", "12M".
func Bytes(n int) string {
	switch {
	case n < 1024:
		return strconv.Itoa(n) + "B"
	case n < 10*1024:
		return trim(float64(n)/1024) + "K"
	case n < 1024*1024:
		return strconv.Itoa(n/1024) + "K"
	}
	return trim(float64(n)/1024/1024) + "M"
}

// Count is "1 pod", "3 pods".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// Cores is an amount of CPU in cores: "0.25", "2".
func Cores(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(n, 'f', 2, 64), "0"), ".")
}

// Memory is an amount of memory as Kubernetes writes it: "64Mi", "1.5Gi".
func Memory(bytes float64) string {
	switch {
	case bytes == 0:
		return "0"
	case bytes >= 1<<30:
		return trim(bytes/(1<<30)) + "Gi"
	case bytes >= 1<<20:
		return trim(bytes/(1<<20)) + "Mi"
	}
	return trim(bytes/(1<<10)) + "Ki"
}
