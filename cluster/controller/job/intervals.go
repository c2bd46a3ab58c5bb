package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// interval is the indexes from First to Last.
type interval struct{ First, Last int }

// intervals are completion indexes as the status has them, "1,3-5,7": in order, and none
// of them touches the next (orderedIntervals).
type intervals []interval

// parseIndexes reads them from a status or a rule; what is no number is passed over, and
// what is not below completions cut off (parseIndexesFromString).
func parseIndexes(s string, completions int) intervals {
	var out intervals
	if s == "" {
		return nil
	}
	for _, part := range strings.Split(s, ",") {
		limits := strings.Split(part, "-")
		first, err := strconv.Atoi(limits[0])
		if err != nil {
			continue
		}
		if first >= completions {
			break
		}
		last := first
		if len(limits) > 1 {
			if last, err = strconv.Atoi(limits[1]); err != nil {
				continue
			}
			last = min(last, completions-1)
		}
		if n := len(out); n > 0 && out[n-1].Last == first-1 {
			out[n-1].Last = last
		} else {
			out = append(out, interval{first, last})
		}
	}
	return out
}

func (s intervals) String() string {
	var parts []string
	for _, i := range s {
		switch {
		case i.Last <= i.First:
			parts = append(parts, strconv.Itoa(i.First))
		case i.Last == i.First+1:
			parts = append(parts, fmt.Sprintf("%d,%d", i.First, i.Last))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", i.First, i.Last))
		}
	}
	return strings.Join(parts, ",")
}

// total is how many indexes there are.
func (s intervals) total() (n int) {
	for _, i := range s {
		n += i.Last - i.First + 1
	}
	return n
}

func (s intervals) has(index int) bool {
	i, _ := slices.BinarySearchFunc(s, index, func(i interval, index int) int { return cmp.Compare(i.Last, index) })
	return i < len(s) && s[i].First <= index
}

// with adds indexes in increasing order (withOrderedIndexes).
func (s intervals) with(indexes []int) intervals {
	var more intervals
	for _, i := range indexes {
		more = append(more, interval{i, i})
	}
	return s.merge(more)
}

// merge is all indexes of both.
func (s intervals) merge(other intervals) intervals {
	var out intervals
	add := func(i interval) {
		if n := len(out); n == 0 || i.First > out[n-1].Last+1 {
			out = append(out, i)
		} else {
			out[n-1].Last = max(out[n-1].Last, i.Last)
		}
	}
	for len(s) > 0 && len(other) > 0 {
		if s[0].First < other[0].First {
			add(s[0])
			s = s[1:]
		} else {
			add(other[0])
			other = other[1:]
		}
	}
	for _, i := range append(s[:len(s):len(s)], other...) {
		add(i)
	}
	return out
}

// overlap is how many indexes both have.
func (s intervals) overlap(other intervals) (n int) {
	for len(s) > 0 && len(other) > 0 {
		n += max(min(s[0].Last, other[0].Last)-max(s[0].First, other[0].First)+1, 0)
		switch a, b := s[0].Last, other[0].Last; {
		case a < b:
			s = s[1:]
		case a > b:
			other = other[1:]
		default:
			s, other = s[1:], other[1:]
		}
	}
	return n
}
