// Package resourceconsumer is the programs with which Kubernetes' own end-to-end tests put a
// load on a cluster, each a program of a container's image:
//
//   - the resource consumer (registry.k8s.io/e2e-test-images/resource-consumer), which uses as
//     much CPU and memory as a request asks for, for as long as it says ([Start])
//   - its controller (agnhost resource-consumer-controller), which splits a request into
//     smaller ones and sends these to the Service of the consumers ([StartController])
//   - a server of external metrics that a request sets (agnhost external-metrics,
//     [StartExternalMetrics])
//
// Mirrors test/images/resource-consumer and test/images/agnhost of k8s.io/kubernetes v1.37.
// Simplified: nothing computes; what a request asks for is added to what the container uses
// (runtime/usage.go). Start reading at [consumer.Serve].
package resourceconsumer

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simulated,
	What: "the resource consumer of Kubernetes' end-to-end tests (registry.k8s.io/e2e-test-images/resource-consumer) computes nothing: what a request asks for is added to what its container uses",
	Seen: "kubectl top",
})

// Image is the repository of the consumer's image.
const Image = "registry.k8s.io/e2e-test-images/resource-consumer"

// What a request says (test/images/resource-consumer/common).
const (
	consumeCPU = "/ConsumeCPU"
	consumeMem = "/ConsumeMem"
	bumpMetric = "/BumpMetric"
	status     = "/GetCurrentStatus"
	metrics    = "/metrics"

	millicores = "millicores"
	megabytes  = "megabytes"
	metric     = "metric"
	delta      = "delta"
	duration   = "durationSec"

	notPost   = "Bad request. Not a POST request"
	unknown   = "unknown function"
	incorrect = "incorrect function argument"
	notGiven  = "not given function argument"
)

// What one request can ask for at most. There is no machine with more.
const (
	maxMillicores = 1 << 20
	maxMegabytes  = 1 << 20
	maxSeconds    = 24 * 60 * 60
	maxMetrics    = 1000
)

// consumer is the program in one container.
type consumer struct {
	in      runtime.Instance
	metrics map[string]float64
}

// Start begins the consumer in a container.
func Start(in runtime.Instance) runtime.Program {
	return &consumer{in: in, metrics: map[string]float64{}}
}

// Insecure says that it speaks HTTP.
func (*consumer) Insecure() {}

// Serve answers a request at once; what it asks for begins then.
//
// Mirrors test/images/resource-consumer ResourceConsumerHandler.ServeHTTP.
func (c *consumer) Serve(_ *sim.Task, r *remote.Request) (remote.Answer, error) {
	switch form, err := formOf(r); {
	case r.Path == metrics:
		return text(http.StatusOK, c.exposed()), nil
	case r.Method != http.MethodPost:
		return text(http.StatusBadRequest, notPost+"\n"), nil
	case err != nil:
		return text(http.StatusBadRequest, err.Error()+"\n"), nil
	case r.Path == consumeCPU:
		return c.consume(r.Path, form, millicores, maxMillicores, func(n int64) (int64, int64) { return n * nanocores, 0 }), nil
	case r.Path == consumeMem:
		return c.consume(r.Path, form, megabytes, maxMegabytes, func(n int64) (int64, int64) { return 0, n << 20 }), nil
	case r.Path == status:
		return text(http.StatusOK, "Warning: not implemented!\n"+status[1:]), nil
	case r.Path == bumpMetric:
		return c.bump(form), nil
	}
	return text(http.StatusNotFound, unknown+": "+r.Path+"\n"), nil
}

// nanocores are in a millicore.
const nanocores = 1_000_000

// consume uses CPU or memory for a while.
func (c *consumer) consume(call string, form url.Values, unit string, most int64, of func(int64) (cpu, memory int64)) remote.Answer {
	if form.Get(duration) == "" || form.Get(unit) == "" {
		return text(http.StatusBadRequest, notGiven+"\n")
	}
	seconds, n := number(form, duration, maxSeconds), number(form, unit, most)
	if seconds < 0 || n < 0 {
		return text(http.StatusBadRequest, incorrect+"\n")
	}
	c.in.Log(fmt.Sprintf("%s %s: %d, %s: %d", call[1:], unit, n, duration, seconds))
	cpu, memory := of(n)
	c.in.Use(cpu, memory, time.Duration(seconds)*time.Second)
	return text(http.StatusOK, fmt.Sprintf("%s\n%d %s\n%d %s\n", call[1:], n, unit, seconds, duration))
}

// bump raises a metric for a while.
func (c *consumer) bump(form url.Values) remote.Answer {
	name := form.Get(metric)
	if form.Get(duration) == "" || name == "" || form.Get(delta) == "" {
		return text(http.StatusBadRequest, notGiven+"\n")
	}
	seconds := number(form, duration, maxSeconds)
	by, err := strconv.ParseFloat(form.Get(delta), 64)
	if _, there := c.metrics[name]; seconds < 0 || err != nil || !there && len(c.metrics) >= maxMetrics {
		return text(http.StatusBadRequest, incorrect+"\n")
	}
	c.metrics[name] += by
	c.in.Process.Go("bump", func(t *sim.Task) {
		t.Sleep(time.Duration(seconds) * time.Second)
		c.metrics[name] -= by
	})
	return text(http.StatusOK, fmt.Sprintf("%s\n%s %s\n%v %s\n%d %s\n", bumpMetric[1:], name, metric, by, delta, seconds, duration))
}

// exposed are its metrics as Prometheus reads them.
func (c *consumer) exposed() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.metrics)) {
		fmt.Fprintf(&b, "# HELP %[1]s info message.\n# TYPE %[1]s gauge\n%[1]s %[2]f\n", name, c.metrics[name])
	}
	return b.String()
}

// formOf is what a request says, in its query and its body (net/http Request.ParseForm).
func formOf(r *remote.Request) (url.Values, error) {
	form, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.Query {
		form[name] = append(form[name], values...)
	}
	return form, nil
}

// number is a value of a form from 0 to most; -1 for anything else.
func number(form url.Values, name string, most int64) int64 {
	n, err := strconv.ParseInt(form.Get(name), 10, 64)
	if err != nil || n < 0 || n > most {
		return -1
	}
	return n
}

func text(code int, body string) remote.Answer {
	return remote.Answer{Code: code, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: []byte(body)}
}

// The other two programs are subcommands of an image (test/images/agnhost).
const (
	Controller      = agnhost + " resource-consumer-controller"
	ExternalMetrics = agnhost + " external-metrics"

	agnhost = "registry.k8s.io/e2e-test-images/agnhost"
)
