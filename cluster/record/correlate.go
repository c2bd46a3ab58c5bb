package record

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Upstream's numbers (tools/record/events_cache.go).
const (
	cacheEntries      = 4096
	aggregateMax      = 10               // similar events (other message) before they are combined
	aggregateInterval = 10 * time.Minute // … within this time
	spamBurst         = 25               // events of a source about one object at once
	spamRefill        = 5 * time.Minute  // … and one more each
)

// correlator keeps a flood of Events from reaching the API server
// (tools/record EventCorrelator): the same Event again counts up, ten that
// differ only in their message become one "(combined from similar events)", and
// a source that goes on about one object is cut off.
type correlator struct {
	similar  lru[similarEvents] // by what is alike except for the message
	observed lru[observation]   // by that and the message
	spam     lru[bucket]        // by source and object
}

type similarEvents struct {
	messages []string
	last     time.Time
}

type observation struct {
	name  string
	count int32
	first metav1.Time
}

type bucket struct {
	tokens float64
	last   time.Time
}

// key stands for what events have in common: the hash of its parts, which a
// thousand kubelets remember more of than the parts themselves are worth.
type key uint64

// keyOf is the 64-bit FNV-1a hash of the parts, each ended by a zero byte.
func keyOf(parts ...string) key { return noKey.and(parts...) }

const noKey key = 14695981039346656037

// and is the key of what k is of, and more parts.
func (k key) and(parts ...string) key {
	const prime = 1099511628211
	for _, p := range parts {
		for i := range len(p) {
			k = (k ^ key(p[i])) * prime
		}
		k *= prime
	}
	return k
}

func newCorrelator() *correlator {
	return &correlator{similar: lru[similarEvents]{limit: cacheEntries}, observed: lru[observation]{limit: cacheEntries}, spam: lru[bucket]{limit: cacheEntries}}
}

// correlate gives the event to write; known is true when it is one that was
// written before and only counts up. ok is false for spam.
func (c *correlator) correlate(e *corev1.Event) (out *corev1.Event, known, ok bool) {
	now := e.LastTimestamp.Time
	key := c.aggregate(e, now)
	seen, had := c.observed.get(key)
	if !had {
		*seen = observation{name: e.Name, first: e.FirstTimestamp}
	}
	known = seen.count > 0
	seen.count++
	e.Name, e.Count, e.FirstTimestamp = seen.name, seen.count, seen.first
	return e, known, c.accept(e, now)
}

// aggregate combines the event with those that differ only in their message,
// where there are too many of them, and gives the key to count it under.
func (c *correlator) aggregate(e *corev1.Event, now time.Time) key {
	about := keyOf(e.Source.Component, e.Source.Host, e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name,
		e.InvolvedObject.FieldPath, string(e.InvolvedObject.UID), e.InvolvedObject.APIVersion, e.Type, e.Reason)
	group, had := c.similar.get(about)
	if had && now.Sub(group.last) > aggregateInterval {
		*group = similarEvents{}
	}
	group.last = now
	present := false
	for _, m := range group.messages {
		present = present || m == e.Message
	}
	if !present {
		group.messages = append(group.messages, e.Message)
	}
	if len(group.messages) < aggregateMax {
		return about.and(e.Message)
	}
	group.messages = group.messages[1:]
	e.Message = fmt.Sprintf("(combined from similar events): %s", e.Message)
	return about
}

// accept takes a token of the source's budget for the object.
func (c *correlator) accept(e *corev1.Event, now time.Time) bool {
	key := keyOf(e.Source.Component, e.Source.Host, e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name,
		string(e.InvolvedObject.UID), e.InvolvedObject.APIVersion, e.Type)
	b, had := c.spam.get(key)
	if !had {
		*b = bucket{tokens: spamBurst, last: now}
	}
	b.tokens = min(spamBurst, b.tokens+now.Sub(b.last).Seconds()/spamRefill.Seconds())
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
