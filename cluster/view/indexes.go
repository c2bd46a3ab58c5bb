package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// Range is the indexes From to To of a Job.
type Range struct{ From, To int }

// Ranges are indexes in order, as a Job's status has them: "1,3-5,7".
type Ranges []Range

// maxRanges is how many are read of one text: it may have one for every second index of a hundred thousand.
const maxRanges = 2048

// ParseRanges reads the indexes below n of a status; more reports whether there are further ones that were not read.
func ParseRanges(text string, n int) (all Ranges, more bool) {
	for text != "" {
		if len(all) == maxRanges {
			return all, true
		}
		var part string
		part, text, _ = strings.Cut(text, ",")
		first, last, pair := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil || from < 0 {
			continue
		}
		to := from
		if pair {
			if to, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		if to = min(to, n-1); from <= to {
			all = append(all, Range{from, to})
		}
	}
	return all, false
}

// Count is how many indexes there are.
func (r Ranges) Count() (n int) {
	for _, x := range r {
		n += x.To - x.From + 1
	}
	return n
}

// has finds an index in ranges that are in order.
func (r Ranges) has(i int) bool {
	at, _ := slices.BinarySearchFunc(r, i, func(x Range, i int) int { return x.To - i })
	return at < len(r) && r[at].From <= i
}

// String writes them as a status does.
func (r Ranges) String() string { return r.Brief(len(r)) }

// Brief writes the first n of them as a status does, and "…" if there are more.
func (r Ranges) Brief(n int) string {
	var b strings.Builder
	for i, x := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		if i == n {
			b.WriteString("…")
			break
		}
		switch {
		case x.To == x.From:
			fmt.Fprint(&b, x.From)
		case x.To == x.From+1:
			fmt.Fprintf(&b, "%d,%d", x.From, x.To)
		default:
			fmt.Fprintf(&b, "%d-%d", x.From, x.To)
		}
	}
	return b.String()
}

// rangesOf are some indexes in order, as ranges.
func rangesOf(list []int) (all Ranges) {
	slices.Sort(list)
	for _, i := range slices.Compact(list) {
		if n := len(all); n > 0 && all[n-1].To == i-1 {
			all[n-1].To = i
		} else {
			all = append(all, Range{i, i})
		}
	}
	return all
}

// without are the indexes below n that none of some ranges has, the first few of them.
func without(n int, all ...Ranges) (rest Ranges) {
	var taken Ranges
	for _, r := range all {
		taken = append(taken, r...)
	}
	slices.SortFunc(taken, func(a, b Range) int { return a.From - b.From })
	next := 0
	for _, r := range taken {
		if r.From > next {
			rest = append(rest, Range{next, r.From - 1})
		}
		next = max(next, r.To+1)
	}
	if next < n {
		rest = append(rest, Range{next, n - 1})
	}
	return rest
}

// JobRun is how far a Job is.
type JobRun struct {
	Of          trace.Ref
	Indexed     bool
	Completions int // -1: any success ends it (a work queue)
	Parallelism int
	Limit       int // backoffLimit, or per index
	PerIndex    bool
	MaxFailed   int // maxFailedIndexes; -1 for any number

	Succeeded, Failed, Active, Ready, Terminating int // pods

	// Of an indexed Job, which indexes; at most the first 2048 ranges of each are read.
	Done, Lost, Running, Again, NotBegun Ranges // Again: a pod of it failed, and there is none now
	More                                 bool   // of those that are done or lost there are further ranges

	retries map[int]int

	Suspended bool
	Over      string // "Complete", "Failed", or what it is about to be: "FailureTarget"; "" while it runs
	Why       string // reason and message of that
}

// jobsLooked is how many running pods of a Job are looked at for their indexes.
const jobsLooked = 1024

// failures is the annotation in which a Job counts how often an index has failed (JobIndexFailureCountAnnotation).
const failures = "batch.kubernetes.io/job-index-failure-count"

// JobRun is how far a Job is; nil for every other object.
func (s *State) JobRun(o *Object) *JobRun {
	if o == nil || o.Deleted {
		return nil
	}
	j, ok := o.Value.(*batchv1.Job)
	if !ok {
		return nil
	}
	f := s.Family(o.UID, "pods")
	r := &JobRun{
		Of: o.Ref, Completions: -1, Parallelism: int(orOne(j.Spec.Parallelism)), Limit: 6, MaxFailed: -1,
		Indexed:   j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion,
		Succeeded: int(j.Status.Succeeded), Failed: int(j.Status.Failed), Active: f.Active(), Ready: f.In(Ready), Terminating: f.In(Terminating),
		Suspended: j.Spec.Suspend != nil && *j.Spec.Suspend,
	}
	if j.Spec.Completions != nil {
		r.Completions = int(*j.Spec.Completions)
	}
	switch {
	case j.Spec.BackoffLimitPerIndex != nil:
		r.Limit, r.PerIndex = int(*j.Spec.BackoffLimitPerIndex), true
	case j.Spec.BackoffLimit != nil:
		r.Limit = int(*j.Spec.BackoffLimit)
	}
	if j.Spec.MaxFailedIndexes != nil {
		r.MaxFailed = int(*j.Spec.MaxFailedIndexes)
	}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Type == batchv1.JobSuspended {
			continue
		}
		if r.Over == "" || c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
			r.Over, r.Why = string(c.Type), strings.Trim(c.Reason+": "+c.Message, ": ")
		}
	}
	if r.Indexed {
		s.indexes(r, o, j)
	}
	return r
}

// indexes fills in which index is how far.
func (s *State) indexes(r *JobRun, o *Object, j *batchv1.Job) {
	var cut bool
	r.Done, r.More = ParseRanges(j.Status.CompletedIndexes, r.Completions)
	if j.Status.FailedIndexes != nil {
		r.Lost, cut = ParseRanges(*j.Status.FailedIndexes, r.Completions)
		r.More = r.More || cut
	}
	r.retries = map[int]int{}
	var running []int
	for _, in := range []Stage{Ready, Unready, Starting, Waiting} {
		for _, p := range s.UnsettledIn(o.UID, "pods", in, jobsLooked) {
			m := p.Meta()
			i, err := strconv.Atoi(m.GetAnnotations()[batchv1.JobCompletionIndexAnnotation])
			if err != nil {
				continue
			}
			running = append(running, i)
			if n, err := strconv.Atoi(m.GetAnnotations()[failures]); err == nil && n > 0 {
				r.retries[i] = n
			}
		}
	}
	r.Running = rangesOf(running)
	var again []int
	for _, p := range s.UnsettledIn(o.UID, "pods", Failed, jobsLooked) {
		i, err := strconv.Atoi(p.Meta().GetAnnotations()[batchv1.JobCompletionIndexAnnotation])
		if err == nil && !r.Lost.has(i) && !r.Running.has(i) && !r.Done.has(i) {
			again = append(again, i)
		}
	}
	r.Again = rangesOf(again)
	r.NotBegun = without(r.Completions, r.Done, r.Lost, r.Running, r.Again)
}

// Retry is an index that runs again, and how often it has failed.
type Retry struct{ Index, Failures int }

// Retried are the indexes that run again after failures, in order.
func (r *JobRun) Retried() (list []Retry) {
	for i, n := range r.retries {
		list = append(list, Retry{i, n})
	}
	slices.SortFunc(list, func(a, b Retry) int { return a.Index - b.Index })
	return list
}

// The cells of a bar of indexes.
const (
	CellNotBegun  = '·'
	CellSucceeded = '■'
	CellSome      = '▪' // some of its indexes have succeeded
	CellRunning   = '●'
	CellAgain     = '↻' // failed, and is tried again
	CellFailed    = '✗'
)

// Bar draws the indexes in at most w cells, each of which stands for per of them and shows the most urgent: one that failed, else one that is
// tried again or runs, else whether all, some or none have succeeded.
func (r *JobRun) Bar(w int) (cells []rune, per int) {
	if r.Completions <= 0 || w <= 0 {
		return nil, 0
	}
	per = (r.Completions + w - 1) / w
	n := (r.Completions + per - 1) / per
	done := make([]int, n)
	cells = slices.Repeat([]rune{CellNotBegun}, n)
	for _, x := range r.Done {
		for c := x.From / per; c <= x.To/per; c++ {
			done[c] += min(x.To, (c+1)*per-1) - max(x.From, c*per) + 1
		}
	}
	for c := range cells {
		switch {
		case done[c] == min(per, r.Completions-c*per):
			cells[c] = CellSucceeded
		case done[c] > 0:
			cells[c] = CellSome
		}
	}
	mark := func(list Ranges, as rune) {
		for _, x := range list {
			for c := x.From / per; c <= x.To/per && c < n; c++ {
				cells[c] = as
			}
		}
	}
	mark(r.Running, CellRunning)
	mark(r.Again, CellAgain)
	mark(r.Lost, CellFailed)
	return cells, per
}
