package door

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// triesPerMinute is how many codes may be tried from one address, over all of its connections.
	triesPerMinute = 10
	// watchedAddresses is how many addresses are kept apart; the guesses of all others are counted together.
	watchedAddresses = 4096
)

// guesses counts the codes that were tried.
type guesses struct {
	mu    sync.Mutex
	tried map[string][]time.Time // within the last minute, oldest first
	swept time.Time              // when all addresses were looked through, which costs
}

func newGuesses() *guesses { return &guesses{tried: map[string][]time.Time{}} }

// try counts one attempt before it is looked at, so that many connections at once get no more of them; left is how
// many remain after it, negative if this one is too many.
func (g *guesses) try(addr string) (left int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	at := g.place(addr, now)
	if len(g.tried[at]) >= triesPerMinute {
		return -1
	}
	g.tried[at] = append(g.tried[at], now)
	return triesPerMinute - len(g.tried[at])
}

// right takes an attempt back that was no guess.
func (g *guesses) right(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.place(addr, time.Now())
	if n := len(g.tried[at]); n > 1 {
		g.tried[at] = g.tried[at][:n-1]
	} else {
		delete(g.tried, at)
	}
}

// place is where the attempts of an address are counted, without those that are a minute old.
func (g *guesses) place(addr string, now time.Time) string {
	at := network(addr)
	if _, known := g.tried[at]; !known && len(g.tried) >= watchedAddresses {
		if now.Sub(g.swept) >= time.Second {
			g.swept = now
			for a := range g.tried {
				g.forget(a, now)
			}
		}
		if len(g.tried) >= watchedAddresses {
			at = ""
		}
	}
	g.forget(at, now)
	return at
}

func (g *guesses) forget(at string, now time.Time) {
	times := g.tried[at]
	for len(times) > 0 && now.Sub(times[0]) >= time.Minute {
		times = times[1:]
	}
	if g.tried[at] = times; len(times) == 0 {
		delete(g.tried, at)
	}
}

// network is the address, or the /64 of an IPv6 address: one machine has all of it.
func network(addr string) string {
	a, err := netip.ParseAddr(addr)
	if err != nil || a.Unmap().Is4() {
		return addr
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return addr
	}
	return p.String()
}
