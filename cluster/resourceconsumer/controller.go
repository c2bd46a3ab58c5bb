package resourceconsumer

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// controller splits what a request asks for into many, which the Service of the consumers
// spreads over their pods.
//
// Mirrors test/images/agnhost/resource-consumer-controller.
type controller struct {
	in   runtime.Instance
	host string
	port int
}

// StartController begins the controller in a container.
func StartController(in runtime.Instance) runtime.Program {
	c := &controller{in: in}
	var service, namespace string
	flags := pflag.NewFlagSet("resource-consumer-controller", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.IntVar(&c.port, "consumer-port", 8080, "")
	flags.StringVar(&service, "consumer-service-name", "resource-consumer", "")
	flags.StringVar(&namespace, "consumer-service-namespace", "default", "")
	if err := flags.Parse(in.Command); err != nil {
		in.Process.Go("main", func(t *sim.Task) {
			in.Log("Error: " + err.Error())
			in.Exit(1, t.Causes()...)
		})
	}
	c.host = service + "." + namespace + ".svc.cluster.local"
	return c
}

// Insecure says that it speaks HTTP.
func (*controller) Insecure() {}

// split is how a request is split: what it is called, and the parameters that say how much all of
// it is and how much a part.
type split struct {
	call, unit, size, word string
	most                   int64
	done                   string // the line about a part that was sent
}

var splits = []split{
	{consumeCPU, millicores, "requestSizeMillicores", "millicores", maxMillicores, "Consumed %d millicores\n"},
	{consumeMem, megabytes, "requestSizeMegabytes", "MB", maxMegabytes, "Consumed %d megabytes\n"},
	{bumpMetric, delta, "requestSizeMetrics", "", maxMillicores, "Bumped metric by %d\n"},
}

// maxParts are the requests that one is split into at most.
const maxParts = 1000

// Serve sends the parts, and answers when they have been answered.
func (c *controller) Serve(t *sim.Task, r *remote.Request) (remote.Answer, error) {
	if r.Method != http.MethodPost {
		return text(http.StatusBadRequest, notPost+"\n"), nil
	}
	form, err := formOf(r)
	if err != nil {
		return text(http.StatusBadRequest, err.Error()+"\n"), nil
	}
	for _, s := range splits {
		if r.Path == s.call {
			return c.send(t, s, form), nil
		}
	}
	return text(http.StatusNotFound, unknown+"\n"), nil
}

func (c *controller) send(t *sim.Task, s split, form url.Values) remote.Answer {
	given := []string{duration, s.unit, s.size}
	if s.call == bumpMetric {
		given = append(given, metric)
	}
	for _, name := range given {
		if form.Get(name) == "" {
			return text(http.StatusBadRequest, notGiven+"\n")
		}
	}
	seconds, whole, size := number(form, duration, maxSeconds), number(form, s.unit, s.most), number(form, s.size, s.most)
	if seconds < 0 || whole < 0 || size <= 0 || whole/size > maxParts {
		return text(http.StatusBadRequest, incorrect+"\n")
	}
	count, rest := whole/size, whole%size
	var said strings.Builder
	if s.call == bumpMetric {
		fmt.Fprintf(&said, "RC manager: sending %d requests to bump custom metric by %d each and 1 request to bump by %d\n", count, size, rest)
	} else {
		fmt.Fprintf(&said, "RC manager: sending %d requests to consume %d %s each and 1 request to consume %d %[3]s\n", count, size, s.word, rest)
	}
	for left := whole; left > 0; left -= size {
		n := min(left, size)
		one := url.Values{s.unit: {strconv.FormatInt(n, 10)}, duration: {strconv.FormatInt(seconds, 10)}}
		if s.call == bumpMetric {
			one.Set(metric, form.Get(metric))
		}
		if err := c.post(t, s.call, one); err != nil {
			fmt.Fprintf(&said, "Failed to connect to consumer: %v\n", err)
			continue
		}
		fmt.Fprintf(&said, s.done, n)
	}
	return text(http.StatusOK, said.String())
}

// post is one request over a connection of its own, which kube-proxy leads to some consumer.
func (c *controller) post(t *sim.Task, call string, form url.Values) error {
	to, err := c.in.Dial(t, c.host, c.port)
	if err != nil {
		return err
	}
	_, err = to.Serve(t, &remote.Request{
		Method: http.MethodPost, Path: call, Body: []byte(form.Encode()),
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
	})
	return err
}
