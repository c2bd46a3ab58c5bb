package admission

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/plugin/pkg/admission/eventratelimit"
	eventratelimitapi "k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/apis/eventratelimit"
	"k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/apis/eventratelimit/validation"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"kviz/cluster/apiserver/request"
)

// EventRateLimit is the plugin of that name (plugin/pkg/admission/eventratelimit):
// Events that come faster than a bucket of tokens fills are refused with 429. It is off
// unless an AdmissionConfiguration names it. The buckets are those of client-go, by
// virtual time; upstream's plugin cannot be used as it is, because it takes the time
// from the machine's clock.
type EventRateLimit struct{ limits []*eventLimit }

// Name is [Plugin].
func (*EventRateLimit) Name() string { return "EventRateLimit" }

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
func readEventRateLimit(raw []byte) (*Configuration, error) {
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
	return &Configuration{Says: strings.Join(says, "; "), value: cfg}, nil
}

var eventLimitTypes = []eventratelimitapi.LimitType{
	eventratelimitapi.NamespaceLimitType, eventratelimitapi.ServerLimitType, eventratelimitapi.SourceAndObjectLimitType, eventratelimitapi.UserLimitType,
}

// NewEventRateLimit makes the plugin as it is configured: without a configuration it
// lets everything through.
func NewEventRateLimit(cfg Configurations, now clock.PassiveClock) *EventRateLimit {
	p := &EventRateLimit{}
	c := configured[*eventratelimitapi.Configuration](cfg, p)
	if c == nil {
		return p
	}
	for _, l := range c.Limits {
		e := &eventLimit{Limit: l, fresh: func() flowcontrol.PassiveRateLimiter {
			return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(l.QPS), int(l.Burst), now)
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
		p.limits = append(p.limits, e)
	}
	return p
}

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
func (l *eventLimit) key(a *Attributes) string {
	switch l.Type {
	case eventratelimitapi.NamespaceLimitType:
		return a.Namespace
	case eventratelimitapi.UserLimitType:
		return a.User.Name
	case eventratelimitapi.SourceAndObjectLimitType:
		if e, ok := a.Object.(*corev1.Event); ok {
			o := &e.InvolvedObject
			return e.Source.Component + e.Source.Host + o.Kind + o.Namespace + o.Name + string(o.UID) + o.APIVersion
		}
	}
	return ""
}

// Validate is [Validating]: every limit counts the Event, and each that is reached is
// told.
func (p *EventRateLimit) Validate(_ *request.Scope, a *Attributes) (Result, error) {
	if len(p.limits) == 0 || a.Operation == Delete || !a.Is("Event") || a.Kind.Group != "" || a.DryRun {
		return Result{}, nil
	}
	var errs []error
	for _, l := range p.limits {
		if key := l.key(a); !l.bucket(key).TryAccept() {
			errs = append(errs, errors.New("limit reached on type "+string(l.Type)+" for key "+key))
		}
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return Result{}, apierrors.NewTooManyRequestsError(err.Error())
	}
	return Result{Note: "the Event is within the limits."}, nil
}
