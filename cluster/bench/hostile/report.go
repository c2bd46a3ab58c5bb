package hostile

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Head prints the table's head.
func Head(w io.Writer) {
	fmt.Fprintf(w, "%-16s %8s %8s %10s %10s %10s %12s %12s\n", "another waits", "requests", "waits", "median", "99.9 %", "longest", "memory", "at its peak")
}

// Print prints the report of one server as a row.
func (r *Report) Print(w io.Writer, name string) {
	most := time.Duration(0)
	if len(r.Longest) > 0 {
		most = r.Longest[0].Took
	}
	memory, peak := "-", "-"
	if r.Peak > 0 {
		memory, peak = fmt.Sprintf("%.0f MiB", r.Ready), fmt.Sprintf("%.0f MiB", r.Peak)
	}
	fmt.Fprintf(w, "%-16s %8d %8d %10s %10s %10s %12s %12s\n", name, r.Sent, r.Waits, short(r.Median), short(r.P999), short(most), memory, peak)
}

// Explain prints which requests were behind the longest waits and the peak of memory, and how
// the requests were answered.
func (r *Report) Explain(w io.Writer, name string) {
	fmt.Fprintf(w, "\n%s\n  answers:", name)
	for _, code := range slices.Sorted(maps.Keys(r.Answered)) {
		what := fmt.Sprint(code)
		if code == 0 {
			what = "none in time"
		}
		fmt.Fprintf(w, "  %s ×%d", what, r.Answered[code])
	}
	fmt.Fprintln(w)
	for _, wait := range r.Longest {
		fmt.Fprintf(w, "  %s beside\n%s", short(wait.Took), names(wait.Beside))
	}
	if len(r.AtPeak) > 0 {
		fmt.Fprintf(w, "  %.0f MiB beside\n%s", r.Peak, names(r.AtPeak))
	}
}

func names(all []Request) string {
	if len(all) == 0 {
		return "    nothing\n"
	}
	var b strings.Builder
	for _, r := range distinct(all) {
		fmt.Fprintf(&b, "    %s\n", r)
	}
	return b.String()
}

func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
