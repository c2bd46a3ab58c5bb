package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"time"
)

// evictRetry is how long kubectl drain waits before it asks again for an
// eviction that a disruption budget forbids (kubectl pkg/drain evictPods).
const evictRetry = 5 * time.Second

// drain is kubectl drain. The real one waits by the machine's clock, in one
// goroutine a pod; here its own dry run says which pods are to go (and refuses
// what it would refuse), and the evictions are asked for one after another, in
// virtual time.
func (k *kubectlRun) drain(ctx context.Context, args []string, flags *parsed) int {
	plan := k.once(with(args, "--dry-run=client"))
	if plan.exit != 0 {
		return k.print(plan)
	}
	cordon := k.once(append([]string{"cordon"}, flags.args...))
	_, _ = k.inv.Out.Write(cordon.out)
	_, _ = k.inv.Err.Write(cordon.errOut)
	if cordon.exit != 0 {
		return cordon.exit
	}
	pods := evictions(plan)
	for _, line := range strings.Split(string(plan.errOut), "\n") {
		if strings.HasPrefix(line, "Warning:") {
			fmt.Fprintln(k.inv.Err, line)
		}
	}
	limit := flags.timeout("timeout")
	w, err := k.c.watchChanges(ctx, k.inv.Cause, k.inv.limitOf(limit), changeOf("pods"))
	if err != nil {
		fmt.Fprintf(k.inv.Err, "error: %v\n", err)
		return 1
	}
	defer w.close()
	for _, p := range pods {
		fmt.Fprintf(k.inv.Out, "evicting pod %s\n", p)
		if err := k.evict(ctx, w, p, flags); err != nil {
			fmt.Fprintf(k.inv.Err, "error: when evicting pods/%q: %v\n", p.name, err)
			return 1
		}
	}
	for _, p := range pods {
		for {
			gone, err := k.transport.gone(deletion{path: p.path(), uid: p.uid})
			if err == nil && !gone {
				if err = w.next(ctx); err == nil {
					continue
				}
			}
			if err != nil {
				if errors.Is(err, errLimit) {
					err = fmt.Errorf("global timeout reached: %v", limit)
				}
				fmt.Fprintf(k.inv.Err, "error: error when waiting for pod %q in namespace %q to terminate: %v\n", p.name, p.namespace, err)
				return 1
			}
			break
		}
		fmt.Fprintf(k.inv.Out, "pod/%s evicted\n", p.name)
	}
	for _, n := range flags.args {
		fmt.Fprintf(k.inv.Out, "node/%s drained\n", strings.TrimPrefix(n, "node/"))
	}
	return 0
}

// victim is a pod to be evicted.
type victim struct{ namespace, name, uid string }

func (v victim) String() string { return v.namespace + "/" + v.name }
func (v victim) path() string {
	return "/api/v1/namespaces/" + v.namespace + "/pods/" + v.name
}

// evictions reads the pods out of what a dry run says: "evicting pod NS/NAME
// (dry run)".
func evictions(plan result) []victim {
	var pods []victim
	for _, line := range strings.Split(string(plan.out)+"\n"+string(plan.errOut), "\n") {
		rest, ok := strings.CutPrefix(line, "evicting pod ")
		if !ok {
			continue
		}
		namespace, name, ok := strings.Cut(strings.Fields(rest)[0], "/")
		if ok {
			pods = append(pods, victim{namespace: namespace, name: name})
		}
	}
	sort.Slice(pods, func(i, j int) bool { return pods[i].String() < pods[j].String() })
	return pods
}

// evict asks for one eviction until it is granted.
func (k *kubectlRun) evict(ctx context.Context, w *changes, p victim, flags *parsed) error {
	body := map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": p.name, "namespace": p.namespace}}
	if grace := flags.value("grace-period"); grace != "" && grace != "-1" {
		body["deleteOptions"] = map[string]any{"gracePeriodSeconds": json.Number(grace)}
	}
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://kviz"+p.path()+"/eviction", bytes.NewReader(content))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json")
		resp, err := k.transport.RoundTrip(r)
		if err != nil {
			return err
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		var status struct{ Message string }
		_ = json.Unmarshal(answer, &status)
		switch {
		case resp.StatusCode < 300 || resp.StatusCode == http.StatusNotFound:
			return nil
		case resp.StatusCode != http.StatusTooManyRequests:
			return errors.New(status.Message)
		}
		fmt.Fprintf(k.inv.Err, "error when evicting pods/%q -n %q (will retry after 5s): %s\n", p.name, p.namespace, status.Message)
		for range int(evictRetry / time.Second) {
			if err := k.pause(ctx, w); errors.Is(err, errLimit) {
				return errors.New("global timeout reached")
			} else if err != nil {
				return err
			}
		}
	}
}
