package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	cmddrain "k8s.io/kubectl/pkg/cmd/drain"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/drain"
	"k8s.io/kubectl/pkg/scheme"

	"kviz/cluster/console/command"
)

// evictRetry is how long kubectl drain waits before it asks again for an
// eviction that a disruption budget forbids (kubectl pkg/drain evictPods).
const evictRetry = 5 * time.Second

// drainCommand is kubectl drain (kubectl pkg/cmd/drain NewCmdDrain). The real one waits by
// the machine's clock, in one goroutine a pod; here its helper says which pods are to go,
// and why some may not, and the evictions are asked for in virtual time.
func drainCommand(f cmdutil.Factory, streams genericiooptions.IOStreams, k *run) *cobra.Command {
	c := cmddrain.NewCmdDrain(f, streams)
	plain := c.Run
	c.Run = func(cmd *cobra.Command, args []string) {
		strategy, err := cmdutil.GetDryRunStrategy(cmd)
		cmdutil.CheckErr(err)
		if strategy != cmdutil.DryRunNone {
			plain(cmd, args)
			return
		}
		nodes, err := nodesToDrain(f, cmd, args)
		cmdutil.CheckErr(err)
		d, err := newDrainer(f, streams, k, cmd)
		cmdutil.CheckErr(err)
		cmdutil.CheckErr(d.drain(nodes))
	}
	return c
}

// nodesToDrain are those that the command names or selects (DrainCmdOptions.Complete).
func nodesToDrain(f cmdutil.Factory, cmd *cobra.Command, args []string) (nodes []*corev1.Node, err error) {
	selector := cmdutil.GetFlagString(cmd, "selector")
	switch {
	case len(args) == 0 && !cmd.Flags().Changed("selector"):
		return nil, cmdutil.UsageErrorf(cmd, "USAGE: %s [flags]", cmd.Use)
	case len(args) > 0 && selector != "":
		return nil, cmdutil.UsageErrorf(cmd, "error: cannot specify both a node name and a --selector option")
	}
	b := f.NewBuilder().WithScheme(scheme.Scheme, scheme.Scheme.PrioritizedVersionsAllGroups()...).
		NamespaceParam(metav1.NamespaceDefault).DefaultNamespace().
		RequestChunksOf(cmdutil.GetFlagInt64(cmd, "chunk-size")).
		ResourceNames("nodes", args...).SingleResourceType().Flatten()
	if selector != "" {
		b = b.LabelSelectorParam(selector).ResourceTypes("nodes")
	}
	infos, err := b.Do().Infos()
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		node, ok := info.Object.(*corev1.Node)
		if !ok {
			return nil, fmt.Errorf("error: expected resource of type node, got %q", info.Mapping.Resource)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// drainer is one drain.
type drainer struct {
	*run
	helper *drain.Helper
	sender http.RoundTripper // of the evictions
}

func newDrainer(f cmdutil.Factory, streams genericiooptions.IOStreams, k *run, cmd *cobra.Command) (*drainer, error) {
	client, err := f.KubernetesClientSet()
	if err != nil {
		return nil, err
	}
	c, err := f.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	sender, err := rest.HTTPWrappersForConfig(c, k.transport)
	if err != nil {
		return nil, err
	}
	return &drainer{run: k, sender: sender, helper: &drain.Helper{
		Ctx: k.transport.ctx, Client: client, Out: streams.Out, ErrOut: streams.ErrOut,
		Force: cmdutil.GetFlagBool(cmd, "force"), GracePeriodSeconds: cmdutil.GetFlagInt(cmd, "grace-period"),
		IgnoreAllDaemonSets: cmdutil.GetFlagBool(cmd, "ignore-daemonsets"), DeleteEmptyDirData: cmdutil.GetFlagBool(cmd, "delete-emptydir-data"),
		Timeout: cmdutil.GetFlagDuration(cmd, "timeout"), PodSelector: cmdutil.GetFlagString(cmd, "pod-selector"),
		ChunkSize: cmdutil.GetFlagInt64(cmd, "chunk-size"), DisableEviction: cmdutil.GetFlagBool(cmd, "disable-eviction"),
		SkipWaitForDeleteTimeoutSeconds: cmdutil.GetFlagInt(cmd, "skip-wait-for-delete-timeout"),
	}}, nil
}

// drain cordons the nodes, then drains one after the other (DrainCmdOptions.RunDrain).
func (d *drainer) drain(nodes []*corev1.Node) error {
	for _, node := range nodes {
		d.cordon(node)
	}
	var failed []error
	var pending []string
	for _, node := range nodes {
		err := d.drainNode(node.Name)
		if d.helper.Ctx.Err() != nil { // interrupted
			return nil
		}
		if err == nil {
			fmt.Fprintf(d.helper.Out, "node/%s drained\n", node.Name)
			continue
		}
		fmt.Fprintf(d.helper.ErrOut, "error: unable to drain node %q due to error: %s, continuing command...\n", node.Name, err)
		failed, pending = append(failed, err), append(pending, " "+node.Name+"\n")
	}
	if len(failed) > 0 {
		fmt.Fprintf(d.helper.ErrOut, "There are pending nodes to be drained:\n%s", strings.Join(pending, ""))
	}
	return utilerrors.NewAggregate(failed)
}

// cordon has no more pods come to a node. That it could not is said, and no more.
func (d *drainer) cordon(node *corev1.Node) {
	done := "cordoned"
	if c := drain.NewCordonHelper(node); !c.UpdateIfRequired(true) {
		done = "already cordoned"
	} else {
		err, patchErr := c.PatchOrReplaceWithContext(d.helper.Ctx, d.helper.Client, false)
		for _, e := range []error{patchErr, err} {
			if e != nil {
				fmt.Fprintf(d.helper.ErrOut, "error: unable to cordon node %q: %v\n", node.Name, e)
			}
		}
		if err != nil {
			return
		}
	}
	fmt.Fprintf(d.helper.Out, "node/%s %s\n", node.Name, done)
}

// drainNode evicts the pods of a node (deleteOrEvictPodsSimple).
func (d *drainer) drainNode(node string) error {
	list, errs := d.podsOf(node)
	if errs != nil {
		return utilerrors.NewAggregate(errs)
	}
	if warnings := list.Warnings(); warnings != "" {
		fmt.Fprintf(d.helper.ErrOut, "Warning: %s\n", sorted(warnings, "; "))
	}
	err := d.evictAll(d.helper.Ctx, victims(list.Pods()))
	if err == nil || d.helper.Ctx.Err() != nil {
		return err
	}
	left, errs := d.podsOf(node)
	if left != nil && len(left.Pods()) > 0 {
		fmt.Fprintf(d.helper.ErrOut, "There are pending pods in node %q when an error occurred: %v\n", node, err)
		for _, p := range left.Pods() {
			fmt.Fprintf(d.helper.ErrOut, "pod/%s\n", p.Name)
		}
	}
	if errs != nil {
		fmt.Fprintf(d.helper.ErrOut, "Following errors occurred while getting the list of pods to delete:\n%s", utilerrors.NewAggregate(errs))
	}
	return err
}

// podsOf is [drain.Helper.GetPodsForDeletion], whose errors come in the random order of a map.
func (d *drainer) podsOf(node string) (*drain.PodDeleteList, []error) {
	list, errs := d.helper.GetPodsForDeletion(node)
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return list, errs
}

// sorted has the parts of a text in the order of the alphabet.
func sorted(text, between string) string {
	parts := strings.Split(text, between)
	slices.Sort(parts)
	return strings.Join(parts, between)
}

// victims are the pods to evict, by namespace and name.
func victims(pods []corev1.Pod) (all []victim) {
	for i := range pods {
		all = append(all, victim{pod: &pods[i]})
	}
	slices.SortFunc(all, func(a, b victim) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// victim is a pod that is to be evicted.
type victim struct {
	pod   *corev1.Pod
	asked bool          // the eviction was granted
	again time.Duration // virtual: when to ask again
	over  bool
}

func (v *victim) String() string { return v.pod.Namespace + "/" + v.pod.Name }

// evictAll evicts pods side by side, as the goroutines of evictPods do, and waits until
// they are gone.
func (d *drainer) evictAll(ctx context.Context, pods []victim) error {
	limit := d.helper.Timeout // of each node by itself
	w, err := d.inv.Kernel.Changes(ctx, d.inv.Cause, d.inv.LimitOf(limit), command.ChangeOf("pods"))
	if err != nil {
		return err
	}
	defer w.Close()
	var failed []error
	for left := len(pods); left > 0; {
		now, next := d.inv.Kernel.Time(), time.Duration(0)
		for i := range pods {
			p := &pods[i]
			if p.over {
				continue
			}
			err := d.evictOne(p, now)
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
			errs = append(errs, fmt.Errorf("error when waiting for pod %q in namespace %q to terminate: %w", p.pod.Name, p.pod.Namespace, context.DeadlineExceeded))
		default:
			errs = append(errs, fmt.Errorf("error when evicting pods/%q -n %q: global timeout reached: %v", p.pod.Name, p.pod.Namespace, limit))
		}
	}
	return errs
}

// evictOne takes a pod one step further, if it is time: its eviction is asked for, or
// it is looked whether it has gone.
func (d *drainer) evictOne(p *victim, now time.Duration) error {
	if !p.asked {
		if now < p.again {
			return nil
		}
		if !d.helper.DisableEviction {
			fmt.Fprintf(d.helper.Out, "evicting pod %s\n", p)
		}
		err := d.evict(p)
		switch {
		case apierrors.IsNotFound(err):
			p.over = true
			return nil
		case apierrors.IsTooManyRequests(err):
			fmt.Fprintf(d.helper.ErrOut, "error when evicting pods/%q -n %q (will retry after 5s): %v\n", p.pod.Name, p.pod.Namespace, err)
			p.again = d.inv.Kernel.Time() + evictRetry
			return nil
		case err != nil:
			return fmt.Errorf("error when evicting pods/%q -n %q: %w", p.pod.Name, p.pod.Namespace, err)
		}
		p.asked = true
	}
	current, err := d.helper.Client.CoreV1().Pods(p.pod.Namespace).Get(d.helper.Ctx, p.pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && current.UID != p.pod.UID: // another pod may have got its name
		p.over = true
		fmt.Fprintf(d.helper.Out, "pod/%s %s\n", p.pod.Name, map[bool]string{true: "deleted", false: "evicted"}[d.helper.DisableEviction])
	case err != nil:
		return fmt.Errorf("error when waiting for pod %q in namespace %q to terminate: %w", p.pod.Name, p.pod.Namespace, err)
	}
	return nil
}

// evict asks for an eviction, or for the deletion with --disable-eviction. It does not ask
// by the helper, whose client waits by the machine's clock for as long as the refusal of an
// eviction says.
func (d *drainer) evict(p *victim) error {
	grace := map[string]any{}
	if d.helper.GracePeriodSeconds >= 0 {
		grace["gracePeriodSeconds"] = d.helper.GracePeriodSeconds
	}
	path := "/api/v1/namespaces/" + p.pod.Namespace + "/pods/" + p.pod.Name
	if d.helper.DisableEviction {
		return d.send(http.MethodDelete, path, grace)
	}
	body := map[string]any{"apiVersion": "policy/v1", "kind": drain.EvictionKind, "metadata": map[string]any{"name": p.pod.Name, "namespace": p.pod.Namespace}}
	if len(grace) > 0 {
		body["deleteOptions"] = grace
	}
	return d.send(http.MethodPost, path+"/eviction", body)
}

// send sends a request to the API server.
func (d *drainer) send(method, path string, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(d.helper.Ctx, method, "http://kviz"+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	resp, err := d.sender.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusBadRequest {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	var status metav1.Status
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	return &apierrors.StatusError{ErrStatus: status}
}
