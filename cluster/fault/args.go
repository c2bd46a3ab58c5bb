package fault

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// The largest amounts that a fault takes: more than anybody waits for, and so little that times
// can still be added up.
const (
	longest    = 1000 * time.Hour
	mostFactor = 1_000_000
)

// longer reads how much longer something takes; each is of what: "write", "request".
func longer(each, example string) func(control.Fault) (time.Duration, error) {
	want := "slow wants how much longer each " + each + " takes, such as " + example
	return func(f control.Fault) (time.Duration, error) { return duration(f.Args, 0, want) }
}

func duration(args []string, i int, want string) (time.Duration, error) {
	if len(args) <= i {
		return 0, fmt.Errorf("%s", want)
	}
	d, err := time.ParseDuration(args[i])
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration: %s", args[i], want)
	}
	if d > longest {
		return 0, fmt.Errorf("%q is longer than %v: %s", args[i], longest, want)
	}
	return d, nil
}

func fraction(args []string, i int, want string) (float64, error) {
	if len(args) <= i {
		return 0, fmt.Errorf("%s", want)
	}
	p, err := strconv.ParseFloat(args[i], 64)
	if err != nil || !(p >= 0 && p <= 1) { // so that it is not NaN either
		return 0, fmt.Errorf("%q is no fraction between 0 and 1: %s", args[i], want)
	}
	return p, nil
}

// factor reads by how much something is multiplied.
func factor(f control.Fault) (float64, error) {
	if len(f.Args) == 0 {
		return 0, fmt.Errorf("%s wants a factor, such as 10", f.Name)
	}
	x, err := strconv.ParseFloat(f.Args[0], 64)
	if err != nil || !(x >= 1 && x <= mostFactor) { // so that it is not NaN either
		return 0, noFactor(f)
	}
	return x, nil
}

func noFactor(f control.Fault) error {
	return fmt.Errorf("%q is no factor of at least 1 and at most %d", f.Args[0], mostFactor)
}

// wholeFactor is factor without a fraction.
func wholeFactor(f control.Fault) (int, error) {
	if len(f.Args) > 0 {
		if _, err := strconv.Atoi(f.Args[0]); err != nil {
			return 0, noFactor(f)
		}
	}
	x, err := factor(f)
	return int(x), err
}

// size reads a size: "4MiB", "2GiB", "500000".
func size(f control.Fault) (int64, error) {
	if len(f.Args) == 0 {
		return 0, fmt.Errorf("%s wants a size, such as 4MiB", f.Name)
	}
	n, err := humanize.ParseBytes(f.Args[0])
	if err != nil || n == 0 || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is no size: want bytes, such as 4MiB, 500KiB or 2GiB", f.Args[0])
	}
	return int64(n), nil
}

// word reads one of a list of words; without one it is fallback, where there is one.
func word(fallback, what string, list ...string) func(control.Fault) (string, error) {
	return func(f control.Fault) (string, error) {
		w := fallback
		if len(f.Args) > 0 {
			w = f.Args[0]
		}
		if slices.Contains(list, w) {
			return w, nil
		}
		last := len(list) - 1
		text := strings.Join(list[:last], ", ") + " or " + list[last]
		if w == "" {
			return "", fmt.Errorf("%s wants %s: %s", f.Name, what, text)
		}
		return "", fmt.Errorf("%q is not %s: %s", w, what, text)
	}
}

// peers reads the other members that are named.
func peers(target any, names []string) ([]string, error) {
	ids := make([]string, 0, len(names))
	for _, n := range names {
		id, err := target.(Peers).Peer(strings.TrimPrefix(n, "member/"))
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// withPeers is a fault of a member's links: with those that are named, or with all.
func withPeers(do func(Links, []string, []trace.ID) error) func(any, control.Fault) (Act, error) {
	return func(target any, f control.Fault) (Act, error) {
		if err := target.(Peers).Linked(); err != nil {
			return nil, err
		}
		ids, err := peers(target, f.Args)
		if err != nil {
			row, _ := Find("member", f.Name)
			return nil, fmt.Errorf("%w; usage: %s", err, row.usage(f))
		}
		return func(why []trace.ID) error { return do(target.(Links), ids, why) }, nil
	}
}

// onLink is a fault of a member's link with one other: PEER and a measure. example is
// one of the measure.
func onLink[V any](read func(args []string, i int, want string) (V, error), example string, do func(l Links, peer string, v V, why []trace.ID) error) func(any, control.Fault) (Act, error) {
	return func(target any, f control.Fault) (Act, error) {
		m := target.(Peers)
		if err := m.Linked(); err != nil {
			return nil, err
		}
		row, _ := Find("member", f.Name)
		other := m.Peers()[0]
		usage := fmt.Sprintf("%s, such as: %s %s %s %s", row.usage(f), f.Name, f.Target, other, example)
		ids, err := peers(target, f.Args[:min(1, len(f.Args))])
		if err != nil {
			return nil, fmt.Errorf("%w; usage: %s", err, usage)
		}
		v, err := read(f.Args, 1, "usage: "+usage)
		if err != nil {
			return nil, err
		}
		return func(why []trace.ID) error { return do(target.(Links), ids[0], v, why) }, nil
	}
}
