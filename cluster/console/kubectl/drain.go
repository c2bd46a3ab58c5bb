package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"kviz/cluster/console/command"
)

// evictRetry is how long kubectl drain waits before it asks again for an
// eviction that a disruption budget forbids (kubectl pkg/drain evictPods).
const evictRetry = 5 * time.Second

// drain is kubectl drain (kubectl pkg/cmd/drain RunDrain). The real one waits by the
// machine's clock, in one goroutine a pod; here its own dry run says which pods are to
// go, and why some may not, and the evictions are asked for in virtual time.
func (k *run) drain(ctx context.Context, args []string, flags *parsed) int {
	cordon := append([]string{"cordon"}, flags.args...)
	if flags.set("selector") {
		cordon = append(cordon, "--selector="+flags.value("selector"))
	}
	if exit := k.print(k.once(cordon)); exit != 0 {
		return exit
	}
	dryRun := with(args, "--dry-run=client")
	plan := readPlan(k.once(dryRun))
	if len(plan.nodes) == 0 { // nothing of the kind is to be drained, and it says why
		return k.print(plan.said)
	}
	fmt.Fprint(k.inv.Err, plan.warnings)
	var failed []error
	var pending []string
	for _, node := range plan.nodes {
		err := plan.refused[node]
		if err == nil {
			if err = k.evictAll(ctx, plan.pods[node], flags); err != nil {
				k.tellPending(node, err, readPlan(k.once(dryRun)).pods[node])
			}
		}
		if ctx.Err() != nil {
			return 130
		}
		if err == nil {
			fmt.Fprintf(k.inv.Out, "node/%s drained\n", node)
			continue
		}
		fmt.Fprintf(k.inv.Err, "error: unable to drain node %q due to error: %s, continuing command...\n", node, err)
		failed, pending = append(failed, err), append(pending, " "+node+"\n")
	}
	if len(failed) == 0 {
		return 0
	}
	fmt.Fprintf(k.inv.Err, "There are pending nodes to be drained:\n%s", strings.Join(pending, ""))
	return k.fail(utilerrors.NewAggregate(failed))
}

// tellPending says which pods of a node have not gone.
func (k *run) tellPending(node string, err error, left []victim) {
	if len(left) == 0 {
		return
	}
	fmt.Fprintf(k.inv.Err, "There are pending pods in node %q when an error occurred: %v\n", node, err)
	for _, p := range left {
		fmt.Fprintf(k.inv.Err, "pod/%s\n", p.name)
	}
}

// fail tells of an error as kubectl does before it ends.
func (k *run) fail(err error) (exit int) {
	defer func() {
		if f, ok := recover().(fatal); ok {
			fmt.Fprintln(k.inv.Err, strings.TrimSuffix(f.message, "\n"))
			exit = f.code
		}
	}()
	cmdutil.CheckErr(err)
	return 0
}

// drainPlan is what a dry run of drain says.
type drainPlan struct {
	said     result
	nodes    []string
	pods     map[string][]victim // by node
	refused  map[string]error    // why a node cannot be drained
	warnings string
}

var (
	planCordoned = regexp.MustCompile(`^node/(\S+) (?:already )?cordoned`)
	planEvicted  = regexp.MustCompile(`^evicting pod ([^/\s]+)/(\S+) `)
	planDrained  = regexp.MustCompile(`^node/(\S+) drained`)
	planRefused  = regexp.MustCompile(`^error: unable to drain node "([^"]+)" due to error: (.*), continuing command\.\.\.$`)
)

// readPlan reads it: the pods of a node stand before the line that says it is drained.
func readPlan(said result) drainPlan {
	p := drainPlan{said: said, pods: map[string][]victim{}, refused: map[string]error{}}
	var pods []victim
	for _, line := range strings.Split(string(said.out), "\n") {
		if m := planCordoned.FindStringSubmatch(line); m != nil {
			p.nodes = append(p.nodes, m[1])
		} else if m := planEvicted.FindStringSubmatch(line); m != nil {
			pods = append(pods, victim{namespace: m[1], name: m[2]})
		} else if m := planDrained.FindStringSubmatch(line); m != nil {
			slices.SortFunc(pods, func(a, b victim) int { return strings.Compare(a.namespace+"/"+a.name, b.namespace+"/"+b.name) })
			p.pods[m[1]], pods = pods, nil
		}
	}
	for _, line := range strings.Split(string(said.errOut), "\n") {
		if m := planRefused.FindStringSubmatch(line); m != nil {
			p.refused[m[1]] = errors.New(m[2])
		} else if strings.HasPrefix(line, "Warning:") {
			p.warnings += line + "\n"
		}
	}
	return p
}

// victim is a pod that is to be evicted.
type victim struct {
	namespace, name, uid string

	asked bool          // the eviction was granted
	again time.Duration // virtual: when to ask again
	over  bool
}

func (v *victim) String() string { return v.namespace + "/" + v.name }
func (v *victim) path() string {
	return "/api/v1/namespaces/" + v.namespace + "/pods/" + v.name
}

// evictAll evicts pods side by side, as the goroutines of evictPods do, and waits until
// they are gone.
func (k *run) evictAll(ctx context.Context, pods []victim, flags *parsed) error {
	limit := flags.timeout("timeout") // of each node by itself
	w, err := k.inv.Kernel.Changes(ctx, k.inv.Cause, k.inv.LimitOf(limit), command.ChangeOf("pods"))
	if err != nil {
		return err
	}
	defer w.Close()
	var failed []error
	for left := len(pods); left > 0; {
		now, next := k.inv.Kernel.Time(), time.Duration(0)
		for i := range pods {
			p := &pods[i]
			if p.over {
				continue
			}
			err := k.evictOne(ctx, p, flags, now)
			if err != nil {
				failed = append(failed, err)
				p.over = true
			}
			switch {
			case p.over:
				left--
			case !p.asked && (next == 0 || p.again < next):
				next = p.again
			}
		}
		if left == 0 {
			break
		}
		if err := w.NextBefore(ctx, next); errors.Is(err, command.ErrLimit) {
			return utilerrors.NewAggregate(append(failed, outOfTime(pods, limit)...))
		} else if err != nil {
			return err
		}
	}
	return utilerrors.NewAggregate(failed)
}

// outOfTime is what is said of pods that have not gone when the time is over.
func outOfTime(pods []victim, limit time.Duration) (errs []error) {
	for _, p := range pods {
		switch {
		case p.over:
		case p.asked:
			errs = append(errs, fmt.Errorf("error when waiting for pod %q in namespace %q to terminate: %w", p.name, p.namespace, context.DeadlineExceeded))
		default:
			errs = append(errs, fmt.Errorf("error when evicting pods/%q -n %q: global timeout reached: %v", p.name, p.namespace, limit))
		}
	}
	return errs
}

// evictOne takes a pod one step further, if it is time: its eviction is asked for, or
// it is looked whether it has gone.
func (k *run) evictOne(ctx context.Context, p *victim, flags *parsed, now time.Duration) error {
	if !p.asked {
		if now < p.again {
			return nil
		}
		if p.uid == "" {
			p.uid = k.uidOf(ctx, p)
		}
		if !flags.on("disable-eviction") {
			fmt.Fprintf(k.inv.Out, "evicting pod %s\n", p)
		}
		err := k.evict(ctx, p, flags)
		switch {
		case apierrors.IsNotFound(err):
			p.over = true
			return nil
		case apierrors.IsTooManyRequests(err):
			fmt.Fprintf(k.inv.Err, "error when evicting pods/%q -n %q (will retry after 5s): %v\n", p.name, p.namespace, err)
			p.again = k.inv.Kernel.Time() + evictRetry
			return nil
		case err != nil:
			return fmt.Errorf("error when evicting pods/%q -n %q: %w", p.name, p.namespace, err)
		}
		p.asked = true
	}
	gone, err := k.transport.gone(deletion{path: p.path(), uid: p.uid})
	if err != nil {
		return fmt.Errorf("error when waiting for pod %q in namespace %q to terminate: %w", p.name, p.namespace, err)
	}
	if gone {
		p.over = true
		fmt.Fprintf(k.inv.Out, "pod/%s %s\n", p.name, map[bool]string{true: "deleted", false: "evicted"}[flags.on("disable-eviction")])
	}
	return nil
}

// uidOf is the pod's uid: another pod may get its name.
func (k *run) uidOf(ctx context.Context, p *victim) string {
	var pod metav1.PartialObjectMetadata
	if err := k.ask(ctx, http.MethodGet, p.path(), nil, &pod); err != nil {
		return ""
	}
	return string(pod.UID)
}

// evict asks for an eviction, or for the deletion with --disable-eviction.
func (k *run) evict(ctx context.Context, p *victim, flags *parsed) error {
	grace := map[string]any{}
	if g := flags.value("grace-period"); g != "" && g != "-1" {
		grace["gracePeriodSeconds"] = json.Number(g)
	}
	if flags.on("disable-eviction") {
		return k.ask(ctx, http.MethodDelete, p.path(), grace, nil)
	}
	body := map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": p.name, "namespace": p.namespace}}
	if len(grace) > 0 {
		body["deleteOptions"] = grace
	}
	return k.ask(ctx, http.MethodPost, p.path()+"/eviction", body, nil)
}

// ask sends a request of the console's own to the API server.
func (k *run) ask(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://kviz"+path, content)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	resp, err := k.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		var status metav1.Status
		if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
			return fmt.Errorf("%s: %w", resp.Status, err)
		}
		return &apierrors.StatusError{ErrStatus: status}
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
