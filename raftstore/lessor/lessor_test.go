package lessor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
	"kviz/raftstore/transcript"
)

// handClock is a clock that a test moves.
type handClock struct {
	now    time.Duration
	timers []*handTimer
}

type handTimer struct {
	at time.Duration
	fn func()
}

func (c *handClock) Now() time.Duration { return c.now }

func (c *handClock) AfterFunc(d time.Duration, fn func()) func() {
	t := &handTimer{c.now + d, fn}
	c.timers = append(c.timers, t)
	return func() { t.fn = nil }
}

// wait moves the clock on, from timer to timer.
func (c *handClock) wait(d time.Duration) {
	end := c.now + d
	for {
		c.timers = slices.DeleteFunc(c.timers, func(t *handTimer) bool { return t.fn == nil })
		slices.SortStableFunc(c.timers, func(a, b *handTimer) int { return int(a.at - b.at) })
		if len(c.timers) == 0 || c.timers[0].at > end {
			c.now = end
			return
		}
		t := c.timers[0]
		c.now = max(c.now, t.at)
		fn := t.fn
		t.fn = nil
		fn()
	}
}

// TestTranscripts runs the stories in testdata: "# comment" lines, commands,
// "----", and what the lessor answered. KVIZ_REWRITE=1 writes the answers anew.
func TestTranscripts(t *testing.T) { transcript.Run(t, replay) }

// story is a lessor, its clock, and a log that takes revocations or loses them.
type story struct {
	clock handClock
	le    *Lessor
	lost  bool
	out   strings.Builder
}

func replay(_ testing.TB, text string) string {
	s := &story{}
	s.le = New(&s.clock, func(id int64) {
		fmt.Fprintf(&s.out, "%v: asks to revoke lease %d\n", s.clock.now, id)
		if !s.lost {
			s.le.Revoked(id)
		}
	})
	var out strings.Builder
	answering := false
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case line == "----":
			out.WriteString("----\n" + s.out.String())
			s.out.Reset()
			answering = true
		case answering && line == "":
			answering = false
			out.WriteString("\n")
		case answering: // the old answer
		default:
			out.WriteString(line + "\n")
			if line != "" && !strings.HasPrefix(line, "#") {
				s.run(strings.Fields(line))
			}
		}
	}
	return out.String()
}

func (s *story) run(f []string) {
	number := func(i int) int64 {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	duration := func(i int) time.Duration {
		d, err := time.ParseDuration(f[i])
		if err != nil {
			panic(err)
		}
		return d
	}
	switch f[0] {
	case "promote":
		s.le.Promote(nil, duration(1))
	case "demote":
		s.le.Demote()
	case "grant":
		s.le.Granted(Grant{number(1), number(2)})
	case "revoke":
		s.le.Revoked(number(1))
	case "log":
		s.lost = f[1] == "stuck"
	case "wait":
		s.clock.wait(duration(1))
	case "renew":
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // do not wait
		if ttl, err := s.le.Renew(ctx, number(1)); err != nil {
			fmt.Fprintf(&s.out, "%v: lease %d: %s\n", s.clock.now, number(1), status.Convert(err).Message())
		} else {
			fmt.Fprintf(&s.out, "%v: lease %d has %d s again\n", s.clock.now, number(1), ttl)
		}
	case "left":
		left, ok := s.le.Remaining(number(1))
		switch {
		case !ok:
			fmt.Fprintf(&s.out, "%v: there is no lease %d\n", s.clock.now, number(1))
		case left == Forever:
			fmt.Fprintf(&s.out, "%v: nobody watches the clock for lease %d\n", s.clock.now, number(1))
		default:
			fmt.Fprintf(&s.out, "%v: lease %d has %v left\n", s.clock.now, number(1), left)
		}
	default:
		panic(strings.Join(f, " "))
	}
}

// TestNoMoreThanTheRate lets 2,600 leases run out at the same moment: 500 go
// every half second, in order of ID.
func TestNoMoreThanTheRate(t *testing.T) {
	var c handClock
	var asked []int64
	at := map[time.Duration]int{}
	var le *Lessor
	le = New(&c, func(id int64) {
		asked = append(asked, id)
		at[c.now]++
		le.Revoked(id)
	})
	le.Promote(nil, 0)
	for id := range int64(2600) {
		le.Granted(Grant{2600 - id, 5})
	}
	c.wait(time.Minute)
	want := map[time.Duration]int{5e9: 500, 5.5e9: 500, 6e9: 500, 6.5e9: 500, 7e9: 500, 7.5e9: 100}
	if fmt.Sprint(at) != fmt.Sprint(want) {
		t.Errorf("revocations %v, want %v", at, want)
	}
	if !slices.IsSorted(asked) || len(asked) != 2600 {
		t.Errorf("%d asked, in order %v", len(asked), slices.IsSorted(asked))
	}
}

// TestPromoteSpreadsAPile: a new leader that finds 10,000 leases of the same
// length lets them run out over a while, as etcd does.
func TestPromoteSpreadsAPile(t *testing.T) {
	var c handClock
	perSecond := map[time.Duration]int{}
	var le *Lessor
	le = New(&c, func(id int64) {
		perSecond[c.now.Truncate(time.Second)]++
		le.Revoked(id)
	})
	var grants []Grant
	for id := range int64(10_000) {
		grants = append(grants, Grant{id + 1, 30})
	}
	le.Promote(grants, 0)
	c.wait(29 * time.Second)
	if len(perSecond) > 0 {
		t.Fatalf("a lease of 30 s ran out after less: %v", perSecond)
	}
	c.wait(30 * time.Second)
	sum := 0
	for second, n := range perSecond {
		sum += n
		if n > RevokeRate {
			t.Errorf("%d leases ran out in the second from %v on", n, second)
		}
	}
	if sum != 10_000 || len(perSecond) < 13 {
		t.Errorf("%d leases ran out within %d seconds: %v", sum, len(perSecond), perSecond)
	}
}

// TestLessorModel plays random grants, renewals, revocations, changes of leader
// and time against a lessor that looks at every lease at every moment.
func TestLessorModel(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		var c handClock
		expiry := map[int64]time.Duration{} // of the model
		ttls := map[int64]int64{}
		primary := false
		var le *Lessor
		le = New(&c, func(id int64) {
			if e, ok := expiry[id]; !ok || !primary || e > c.now {
				t.Fatalf("at %v lease %d is to be revoked; it has until %v", c.now, id, e)
			}
			delete(expiry, id)
			delete(ttls, id)
			le.Revoked(id)
		})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := rapid.Int64Range(1, 6).Draw(t, "lease")
			switch rapid.SampledFrom([]string{"grant", "renew", "revoke", "promote", "demote", "wait", "wait"}).Draw(t, "step") {
			case "grant":
				if _, ok := ttls[id]; ok {
					continue
				}
				ttls[id] = rapid.Int64Range(2, 9).Draw(t, "ttl")
				expiry[id] = c.now + time.Duration(ttls[id])*time.Second
				le.Granted(Grant{id, ttls[id]})
			case "renew":
				ttl, err := le.Renew(context.Background(), id)
				if _, ok := ttls[id]; ok != (err == nil) && primary || primary && err == nil && ttl != ttls[id] || !primary && err == nil {
					t.Fatalf("renewing lease %d of %d s: %d, %v", id, ttls[id], ttl, err)
				}
				if err == nil {
					expiry[id] = c.now + time.Duration(ttl)*time.Second
				}
			case "revoke":
				delete(ttls, id)
				delete(expiry, id)
				le.Revoked(id)
			case "promote":
				primary = true
				for id, ttl := range ttls {
					expiry[id] = c.now + time.Second + time.Duration(ttl)*time.Second
				}
				le.Promote(nil, time.Second)
			case "demote":
				primary = false
				le.Demote()
			case "wait":
				c.wait(time.Duration(rapid.IntRange(1, 4000).Draw(t, "ms")) * time.Millisecond)
			}
			for id, e := range expiry {
				left, ok := le.Remaining(id)
				if !ok || primary && (left != e-c.now || left <= 0) || !primary && left != Forever {
					t.Fatalf("at %v lease %d has %v (%v), want until %v", c.now, id, left, ok, e)
				}
			}
		}
	})
}
