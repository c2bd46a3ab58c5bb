package own

import "time"

// meter compares what a cluster spends with what it may spend in a minute.
type meter struct {
	most  time.Duration
	marks []mark // of the last minute
	slow  bool
}

type mark struct {
	at    time.Time
	spent time.Duration
}

// note takes down what was spent until now, and reports whether it is too much. What has been too much is enough again when it is
// half of it.
func (m *meter) note(now time.Time, spent time.Duration) (slow bool) {
	for len(m.marks) > 1 && now.Sub(m.marks[1].at) >= time.Minute {
		m.marks = m.marks[1:]
	}
	m.marks = append(m.marks, mark{now, spent})
	switch in := spent - m.marks[0].spent; {
	case in > m.most:
		m.slow = true
	case in < m.most/2:
		m.slow = false
	}
	return m.slow
}

// spends looks at what a run spends, slows it or lets it run again, and says so.
func (o *run) spends(now time.Time) (says string) {
	was := o.meter.slow
	slow := o.meter.note(now, o.limited.spent(now))
	if slow == was {
		return ""
	}
	if o.limited.slow(slow) != nil { // it has ended, which its screen says
		return ""
	}
	if slow {
		return "your cluster has spent its processor time for this minute: it runs slowly for a while"
	}
	return "your cluster runs as before"
}
