package record

import (
	"fmt"
	"hash/fnv"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
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
	similar  *lru.Cache // aggregate key -> *similarEvents
	observed *lru.Cache // event key -> *observation
	spam     *lru.Cache // source and object -> *bucket
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
type key [16]byte

func keyOf(parts ...string) (k key) {
	h := fnv.New128a()
	for _, p := range parts {
		io.WriteString(h, p)
		h.Write([]byte{0})
	}
	h.Sum(k[:0])
	return k
}

func newCorrelator() *correlator {
	return &correlator{similar: lru.New(cacheEntries), observed: lru.New(cacheEntries), spam: lru.New(cacheEntries)}
}

// correlate gives the event to write; known is true when it is one that was
// written before and only counts up. ok is false for spam.
func (c *correlator) correlate(e *corev1.Event) (out *corev1.Event, known, ok bool) {
	now := e.LastTimestamp.Time
	key := c.aggregate(e, now)
	o, _ := c.observed.Get(key)
	seen, _ := o.(*observation)
	if seen == nil {
		seen = &observation{name: e.Name, first: e.FirstTimestamp}
		c.observed.Add(key, seen)
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
	s, _ := c.similar.Get(about)
	group, _ := s.(*similarEvents)
	if group == nil || now.Sub(group.last) > aggregateInterval {
		group = &similarEvents{}
		c.similar.Add(about, group)
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
		return keyOf(string(about[:]), e.Message)
	}
	group.messages = group.messages[1:]
	e.Message = fmt.Sprintf("(combined from similar events): %s", e.Message)
	return about
}

// accept takes a token of the source's budget for the object.
func (c *correlator) accept(e *corev1.Event, now time.Time) bool {
	key := keyOf(e.Source.Component, e.Source.Host, e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name,
		string(e.InvolvedObject.UID), e.InvolvedObject.APIVersion, e.Type)
	v, _ := c.spam.Get(key)
	b, _ := v.(*bucket)
	if b == nil {
		b = &bucket{tokens: spamBurst, last: now}
		c.spam.Add(key, b)
	}
	b.tokens = min(spamBurst, b.tokens+now.Sub(b.last).Seconds()/spamRefill.Seconds())
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
