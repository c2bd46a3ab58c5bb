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
	"k8s.io/apimachinery/pkg/labels"
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

// heldRetries is how often its client asks again by itself, without a word, where the
// answer says after how long it may (client-go rest maxRetries).
const heldRetries = 10

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
		cmdutil.CheckErr(checkDrain(cmd, args))
		nodes, err := nodesToDrain(f, cmd, args)
		cmdutil.CheckErr(err)
		d, err := newDrainer(f, streams, k, cmd)
		cmdutil.CheckErr(err)
		cmdutil.CheckErr(d.drain(nodes))
	}
	return c
}

// checkDrain says what is wrong with the command's flags (DrainCmdOptions.Complete).
func checkDrain(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && !cmd.Flags().Changed("selector"):
		return cmdutil.UsageErrorf(cmd, "USAGE: %s [flags]", cmd.Use)
	case len(args) > 0 && cmdutil.GetFlagString(cmd, "selector") != "":
		return cmdutil.UsageErrorf(cmd, "error: cannot specify both a node name and a --selector option")
	}
	if _, err := labels.Parse(cmdutil.GetFlagString(cmd, "pod-selector")); err != nil {
		return errors.New("--pod-selector=<pod_selector> must be a valid label selector")
	}
	return nil
}

// nodesToDrain are those that the command names or selects.
func nodesToDrain(f cmdutil.Factory, cmd *cobra.Command, args []string) (nodes []*corev1.Node, err error) {
	selector := cmdutil.GetFlagString(cmd, "selector")
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
	skip   int               // --skip-wait-for-delete-timeout, which the helper would measure by the machine's clock
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
	d := &drainer{run: k, sender: sender, skip: cmdutil.GetFlagInt(cmd, "skip-wait-for-delete-timeout")}
	d.helper = &drain.Helper{
		Ctx: k.transport.ctx, Client: client, Out: streams.Out, ErrOut: streams.ErrOut,
		Force: cmdutil.GetFlagBool(cmd, "force"), GracePeriodSeconds: cmdutil.GetFlagInt(cmd, "grace-period"),
		IgnoreAllDaemonSets: cmdutil.GetFlagBool(cmd, "ignore-daemonsets"), DeleteEmptyDirData: cmdutil.GetFlagBool(cmd, "delete-emptydir-data"),
		Timeout: cmdutil.GetFlagDuration(cmd, "timeout"), PodSelector: cmdutil.GetFlagString(cmd, "pod-selector"),
		ChunkSize: cmdutil.GetFlagInt64(cmd, "chunk-size"), DisableEviction: cmdutil.GetFlagBool(cmd, "disable-eviction"),
	}
	return d, nil
}

// lingers reports whether a pod has been going for so long that nobody waits for it
// (shouldSkipPod).
func (d *drainer) lingers(p *corev1.Pod) bool {
	if d.skip <= 0 || p.DeletionTimestamp == nil {
		return false
	}
	now := d.inv.Kernel.Epoch().Add(d.inv.Kernel.Time())
	return int(now.Sub(p.DeletionTimestamp.Time).Seconds()) > d.skip
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
	err := d.removeAll(d.helper.Ctx, d.victims(list))
	if err == nil || d.helper.Ctx.Err() != nil {
		return err
	}
	left, errs := d.podsOf(node)
	if pending := d.victims(left); len(pending) > 0 {
		fmt.Fprintf(d.helper.ErrOut, "There are pending pods in node %q when an error occurred: %v\n", node, err)
		for _, p := range pending {
			fmt.Fprintf(d.helper.ErrOut, "pod/%s\n", p.pod.Name)
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
func (d *drainer) victims(list *drain.PodDeleteList) (all []victim) {
	if list == nil {
		return nil
	}
	pods := list.Pods()
	for i := range pods {
		if !d.lingers(&pods[i]) {
			all = append(all, victim{pod: &pods[i]})
		}
	}
	slices.SortFunc(all, func(a, b victim) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// victim is a pod that is to be evicted.
type victim struct {
	pod   *corev1.Pod
	asked bool          // the eviction was granted
	again time.Duration // virtual: when to ask again
	held  int           // how often the client has asked again by itself
	retry bool          // drain asks again, which it says
	over  bool
}

func (v *victim) String() string { return v.pod.Namespace + "/" + v.pod.Name }

// removeAll has the pods of a node go, and waits until they are gone (DeleteOrEvictPods).
func (d *drainer) removeAll(ctx context.Context, pods []victim) error {
	limit := d.inv.LimitOf(d.helper.Timeout) // of each node by itself
	from := d.inv.Kernel.Time()
	if d.helper.DisableEviction {
		if err := d.deleteAll(pods); err != nil {
			return err
		}
		from = d.inv.Kernel.Time() // deletePods counts from here
	}
	w, err := d.inv.Kernel.Changes(ctx, d.inv.Cause, 0, command.ChangeOf("pods"))
	if err != nil {
		return err
	}
	defer w.Close()
	r := removal{drainer: d, limit: limit}
	if limit > 0 {
		r.until = from + limit
	}
	var failed []error
	for {
		left, next := 0, time.Duration(0)
		for i := range pods {
			p := &pods[i]
			if p.over {
				continue
			}
			if err := r.step(p); err != nil {
				failed = append(failed, err)
				p.over = true
				if d.helper.DisableEviction { // one poll looks at all of them
					return err
				}
			}
			if p.over {
				continue
			}
			left++
			if at := r.wakes(p); at > 0 && (next == 0 || at < next) {
				next = at
			}
		}
		if left == 0 {
			return utilerrors.NewAggregate(failed)
		}
		if err := w.NextBefore(ctx, next); errors.Is(err, command.ErrLimit) { // of a command timeout
			return utilerrors.NewAggregate(append(failed, err))
		} else if err != nil {
			return err
		}
	}
}

// deleteAll deletes the pods one after the other (deletePods).
func (d *drainer) deleteAll(pods []victim) error {
	for i := range pods {
		if err := d.evict(&pods[i]); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		pods[i].asked = true
	}
	return nil
}

// removal is a drainer that removes the pods of one node.
type removal struct {
	*drainer
	limit, until time.Duration // how long, and until when, virtual; 0 for ever
}

func (r *removal) late() bool { return r.until > 0 && r.inv.Kernel.Time() >= r.until }

// wakes is when something has to be done about a pod, if nothing changes before; 0 for
// never. One that is asked about again is not given up in between.
func (r *removal) wakes(p *victim) time.Duration {
	if !p.asked {
		return p.again
	}
	return r.until
}

// step takes a pod one step further, if it is time: its eviction is asked for, or it is
// looked whether it has gone. It is what a goroutine of evictPods does between two sleeps.
func (r *removal) step(p *victim) error {
	if p.asked {
		return r.look(p)
	}
	if r.inv.Kernel.Time() < p.again {
		return nil
	}
	if p.retry {
		p.retry = false
		if fresh, err := r.helper.Client.CoreV1().Pods(p.pod.Namespace).Get(r.helper.Ctx, p.pod.Name, metav1.GetOptions{}); err == nil {
			p.pod = fresh
		}
	}
	if p.held == 0 {
		fmt.Fprintf(r.helper.Out, "evicting pod %s\n", p)
		if r.late() {
			return fmt.Errorf("error when evicting pods/%q -n %q: global timeout reached: %v", p.pod.Name, p.pod.Namespace, r.limit)
		}
	}
	err := r.evict(p)
	if after, ok := apierrors.SuggestsClientDelay(err); ok && after > 0 && p.held < heldRetries {
		p.held++
		p.again = r.inv.Kernel.Time() + time.Duration(after)*time.Second
		return nil
	}
	p.held = 0
	ending := apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	switch {
	case apierrors.IsNotFound(err):
		p.over = true
		return nil
	case apierrors.IsTooManyRequests(err):
		fmt.Fprintf(r.helper.ErrOut, "error when evicting pods/%q -n %q (will retry after %v): %v\n", p.pod.Name, p.pod.Namespace, evictRetry, err)
		p.retry, p.again = true, r.inv.Kernel.Time()+evictRetry
		return nil
	case ending && p.pod.DeletionTimestamp == nil:
		fmt.Fprintf(r.helper.ErrOut, "error when evicting pod %q from terminating namespace %q (will retry after %v): %v\n", p.pod.Name, p.pod.Namespace, evictRetry, err)
		p.retry, p.again = true, r.inv.Kernel.Time()+evictRetry
		return nil
	case err != nil && !ending:
		return fmt.Errorf("error when evicting pods/%q -n %q: %w", p.pod.Name, p.pod.Namespace, err)
	}
	p.asked = true
	return r.look(p)
}

// look looks whether a pod has gone (waitForDelete).
func (r *removal) look(p *victim) error {
	current, err := r.helper.Client.CoreV1().Pods(p.pod.Namespace).Get(r.helper.Ctx, p.pod.Name, metav1.GetOptions{})
	done, verb := "evicted", "eviction"
	if r.helper.DisableEviction {
		done, verb = "deleted", "deletion"
	}
	switch {
	case apierrors.IsNotFound(err), err == nil && current.UID != p.pod.UID: // another pod may have got its name
		p.over = true
		fmt.Fprintf(r.helper.Out, "pod/%s %s\n", p.pod.Name, done)
		return nil
	case err != nil:
		fmt.Fprintf(r.helper.Out, "pod/%s %s failed\n", p.pod.Name, verb)
	case r.lingers(current):
		p.over = true
		fmt.Fprintf(r.helper.Out, "pod %q has DeletionTimestamp older than %v seconds, skipping\n", p.pod.Name, r.skip)
		return nil
	case r.late():
		err = context.DeadlineExceeded
	}
	if err == nil || r.helper.DisableEviction {
		return err
	}
	return fmt.Errorf("error when waiting for pod %q in namespace %q to terminate: %w", p.pod.Name, p.pod.Namespace, err)
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
