package apiserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/plugin/pkg/admission/eventratelimit"
	eventratelimitapi "k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/apis/eventratelimit"
	"k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/apis/eventratelimit/validation"
	"k8s.io/utils/lru"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The EventRateLimit plugin (plugin/pkg/admission/eventratelimit): Events that come
// faster than a bucket of tokens fills are refused with 429. It is off unless an
// AdmissionConfiguration names it. The buckets are those of client-go, by virtual
// time; upstream's plugin cannot be used as it is, because it takes the time from
// the machine's clock.

// eventLimit is one limit and its buckets (limitEnforcer).
type eventLimit struct {
	eventratelimitapi.Limit
	fresh  func() flowcontrol.PassiveRateLimiter
	server flowcontrol.PassiveRateLimiter // the one bucket of limit type Server
	by     *lru.Cache                     // the buckets of the other types, by key
}

// manyBuckets is how many buckets of a limit are remembered where its configuration
// does not say (defaultCacheSize).
const manyBuckets = 4096

// readEventRateLimit reads the plugin's Configuration.
func readEventRateLimit(raw []byte) (*pluginConfig, error) {
	var in io.Reader
	if raw != nil {
		in = bytes.NewReader(raw)
	}
	cfg, err := eventratelimit.LoadConfiguration(in)
	if err != nil {
		return nil, err
	}
	for i, l := range cfg.Limits {
		if !slices.Contains(eventLimitTypes, l.Type) { // upstream tells what there is in a random order
			return nil, fmt.Errorf("limits[%d].type: Unsupported value: %q: supported values: %q", i, l.Type, eventLimitTypes)
		}
	}
	if errs := validation.ValidateConfiguration(cfg); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	var says []string
	for _, l := range cfg.Limits {
		says = append(says, fmt.Sprintf("%s %d a second, %d at once", l.Type, l.QPS, l.Burst))
	}
	return &pluginConfig{says: strings.Join(says, "; "), make: func(s *Server) any { return newEventLimits(s.k, cfg.Limits) }}, nil
}

var eventLimitTypes = []eventratelimitapi.LimitType{
	eventratelimitapi.NamespaceLimitType, eventratelimitapi.ServerLimitType, eventratelimitapi.SourceAndObjectLimitType, eventratelimitapi.UserLimitType,
}

func newEventLimits(k *sim.Kernel, limits []eventratelimitapi.Limit) []*eventLimit {
	var out []*eventLimit
	for _, l := range limits {
		e := &eventLimit{Limit: l, fresh: func() flowcontrol.PassiveRateLimiter {
			return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(l.QPS), int(l.Burst), virtualClock{k})
		}}
		if l.Type == eventratelimitapi.ServerLimitType {
			e.server = e.fresh()
		} else {
			size := int(l.CacheSize)
			if size == 0 {
				size = manyBuckets
			}
			e.by = lru.New(size)
		}
		out = append(out, e)
	}
	return out
}

// virtualClock is the kernel's time as Kubernetes' clocks have it.
type virtualClock struct{ k *sim.Kernel }

// Now is clock.PassiveClock.
func (c virtualClock) Now() time.Time { return c.k.Now() }

// Since is clock.PassiveClock.
func (c virtualClock) Since(t time.Time) time.Duration { return c.k.Now().Sub(t) }

// bucket is the one an Event of this key is counted in.
func (l *eventLimit) bucket(key string) flowcontrol.PassiveRateLimiter {
	if l.server != nil {
		return l.server
	}
	if b, ok := l.by.Get(key); ok {
		return b.(flowcontrol.PassiveRateLimiter)
	}
	b := l.fresh()
	l.by.Add(key, b)
	return b
}

// key is what a limit counts an Event by.
func (l *eventLimit) key(c *call) string {
	switch l.Type {
	case eventratelimitapi.NamespaceLimitType:
		return c.Ref.Namespace
	case eventratelimitapi.UserLimitType:
		return c.user.Name
	case eventratelimitapi.SourceAndObjectLimitType:
		if e, ok := c.obj.(*corev1.Event); ok {
			o := &e.InvolvedObject
			return e.Source.Component + e.Source.Host + o.Kind + o.Namespace + o.Name + string(o.UID) + o.APIVersion
		}
	}
	return ""
}

// checkEventRate is the plugin's Validate: every limit counts the Event, and each
// that is reached is told.
func checkEventRate(c *call, op operation) (string, []trace.FieldDiff, error) {
	limits := configured[[]*eventLimit](c.s, "EventRateLimit")
	if len(limits) == 0 || op == opDelete || !c.kind.Is("Event") || c.kind.Group != "" || c.req.DryRun {
		return "", nil, nil
	}
	var errs []error
	for _, l := range limits {
		if key := l.key(c); !l.bucket(key).TryAccept() {
			errs = append(errs, errors.New("limit reached on type "+string(l.Type)+" for key "+key))
		}
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return "", nil, apierrors.NewTooManyRequestsError(err.Error())
	}
	return "the Event is within the limits.", nil, nil
}
