package tools

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"
)

// date prints the cluster's time, or with -d another one, in UTC.
func date(u *Use) int {
	set, args, err := grammar{flags: "uR", valued: "dI", long: map[string]byte{
		"utc": 'u', "universal": 'u', "date": 'd', "rfc-email": 'R', "iso-8601": 1,
	}}.parse(withISO(u))
	if err != nil {
		return usage(u, err)
	}
	at := u.Now().UTC()
	if text, given := set.last('d'); given {
		if at, err = timeOf(text, at); err != nil {
			return usage(u, err)
		}
	}
	format := "%a %b %e %H:%M:%S UTC %Y"
	switch {
	case len(args) > 1:
		return usage(u, fmt.Errorf("extra operand '%s'", args[1]))
	case len(args) == 1 && !strings.HasPrefix(args[0], "+"):
		return usage(u, fmt.Errorf("cannot set date: the cluster's time is kviz' to set (kviz help time): '%s'", args[0]))
	case len(args) == 1:
		format = args[0][1:]
	case set.has("R"):
		format = "%a, %d %b %Y %H:%M:%S +0000"
	case set.has("\x01"):
		format = "%Y-%m-%d"
	case set.has("I"):
		how, _ := set.last('I')
		known := false
		if format, known = map[string]string{
			"date": "%Y-%m-%d", "hours": "%Y-%m-%dT%H+00:00", "minutes": "%Y-%m-%dT%H:%M+00:00", "seconds": "%Y-%m-%dT%H:%M:%S+00:00", "ns": "%Y-%m-%dT%H:%M:%S,%N+00:00",
		}[how]; !known {
			return usage(u, fmt.Errorf("invalid argument '%s' for '--iso-8601'", how))
		}
	}
	if len(format) > 4096 {
		return usage(u, errors.New("the format is too long"))
	}
	format = strings.NewReplacer("%%", "%%", "%N", fmt.Sprintf("%09d", at.Nanosecond()), "%:z", "+00:00", "%P", strings.ToLower(at.Format("PM")), "%3N", fmt.Sprintf("%03d", at.Nanosecond()/1e6)).Replace(format)
	fmt.Fprintln(u.Out, timefmt.Format(at, format))
	return 0
}

// withISO gives -I, whose value is in the same word or not there, one that is.
func withISO(u *Use) *Use {
	use := *u
	use.Args = nil
	for _, a := range u.Args {
		if a == "-I" {
			a = "--iso-8601"
		} else if how, is := strings.CutPrefix(a, "--iso-8601="); is {
			a = "-I" + how
		}
		use.Args = append(use.Args, a)
	}
	return &use
}

// timeOf reads @SECONDS, a date as Kubernetes writes it, or now with a difference: "5 minutes ago",
// "+2 hours", "yesterday".
func timeOf(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if seconds, is := strings.CutPrefix(text, "@"); is {
		n, err := strconv.ParseInt(seconds, 10, 40)
		if err != nil {
			return now, fmt.Errorf("invalid date '%s'", text)
		}
		return time.Unix(n, 0).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", time.UnixDate, time.RFC1123Z, time.RFC1123} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	words := strings.Fields(strings.ToLower(text))
	sign := 1
	if n := len(words); n > 0 && words[n-1] == "ago" {
		words, sign = words[:n-1], -1
	}
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "now", "today":
			continue
		case "yesterday":
			now = now.AddDate(0, 0, -1)
			continue
		case "tomorrow":
			now = now.AddDate(0, 0, 1)
			continue
		}
		n, err := strconv.Atoi(words[i])
		if err != nil || i+1 == len(words) || n > 1_000_000 || n < -1_000_000 {
			return now, fmt.Errorf("invalid date '%s'", text)
		}
		i++
		n *= sign
		switch strings.TrimSuffix(words[i], "s") {
		case "second", "sec":
			now = now.Add(time.Duration(n) * time.Second)
		case "minute", "min":
			now = now.Add(time.Duration(n) * time.Minute)
		case "hour":
			now = now.Add(time.Duration(n) * time.Hour)
		case "day":
			now = now.AddDate(0, 0, n)
		case "week":
			now = now.AddDate(0, 0, 7*n)
		case "month":
			now = now.AddDate(0, n, 0)
		case "year":
			now = now.AddDate(n, 0, 0)
		default:
			return now, fmt.Errorf("invalid date '%s'", text)
		}
	}
	if len(words) == 0 {
		return now, fmt.Errorf("invalid date '%s'", text)
	}
	return now, nil
}
