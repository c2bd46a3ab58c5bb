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
	"sync"
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
	"kviz/cluster/sim"
)

// evictRetry is how long kubectl drain waits before it asks again for an
// eviction that a disruption budget forbids (kubectl pkg/drain evictPods).
const evictRetry = 5 * time.Second

// goneInterval is how often it looks whether a pod has gone (evictPods and deletePods).
const goneInterval = time.Second

// heldRetries is how often its client asks again by itself, without a word, where the
// answer says after how long it may (client-go rest maxRetries).
const heldRetries = 10

// drainCommand is kubectl drain (kubectl pkg/cmd/drain NewCmdDrain). The real one waits by
// the machine's clock, in one goroutine a pod; here its helper says which pods are to go,
// and why some may not, and the evictions are asked for in virtual time, each pod's in a
// turn of its own.
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
	sender http.RoundTripper // of what is asked about single pods
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
	sender, err := rest.HTTPWrappersForConfig(c, aside{k.transport})
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

// victims are the pods that are to go, by namespace and name.
func (d *drainer) victims(list *drain.PodDeleteList) (all []*corev1.Pod) {
	if list == nil {
		return nil
	}
	pods := list.Pods()
	for i := range pods {
		if !d.lingers(&pods[i]) {
			all = append(all, &pods[i])
		}
	}
	slices.SortFunc(all, func(a, b *corev1.Pod) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return all
}

func nameOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// removeAll has the pods of a node go, and waits until they are gone (DeleteOrEvictPods).
func (d *drainer) removeAll(ctx context.Context, pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	r := &removal{drainer: d, limit: d.inv.LimitOf(d.helper.Timeout)} // of each node by itself
	if d.helper.DisableEviction {
		return r.deleteAll(ctx, pods)
	}
	return r.evictAll(ctx, pods)
}

// removal is a drainer that removes the pods of one node.
type removal struct {
	*drainer
	limit, until time.Duration // how long, and until when, virtual; 0 for ever

	mu sync.Mutex // of what is printed, as evictPods has one
}

func (r *removal) begin() {
	if r.limit > 0 {
		r.until = r.inv.Kernel.Time() + r.limit
	}
}

func (r *removal) late() bool { return r.until > 0 && r.inv.Kernel.Time() >= r.until }

// say prints a line.
func (r *removal) say(to io.Writer, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(to, format, args...)
}

// deleteAll deletes the pods one after the other, then looks once a second whether they have all gone (deletePods).
func (r *removal) deleteAll(ctx context.Context, pods []*corev1.Pod) error {
	for _, p := range pods {
		if err := r.remove(ctx, p); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	r.begin()
	return r.untilGone(ctx, pods)
}

// evictAll evicts the pods at the same time (evictPods, which has a goroutine for each of them). Each has a turn of its
// own, so that their requests enter the cluster in the order of their names, and all at the same instant. The errors come
// in the order in which the pods end.
func (r *removal) evictAll(ctx context.Context, pods []*corev1.Pod) error {
	r.begin()
	k := r.inv.Kernel
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	turns := make([]*sim.Turn, len(pods))
	for i := range turns {
		turns[i] = k.NewTurn(nil)
		if turns[i].Begin() != nil {
			return command.ErrStopped
		}
	}
	var failed []error
	var ends sync.WaitGroup
	var over sim.Cond // kernel's goroutine, as what is left
	left := len(pods)
	for i, p := range pods {
		ends.Add(1)
		k.Beside("kubectl drain of "+nameOf(p), func() {
			defer ends.Done()
			defer func() {
				_ = turns[i].End(func() { // else the cluster has stopped
					left--
					over.Broadcast()
				})
			}()
			turns[i].Await()
			if err := r.evict(sim.WithTurn(within, turns[i]), p); err != nil {
				r.mu.Lock()
				failed = append(failed, err)
				r.mu.Unlock()
			}
		})
	}
	err := k.Wait(ctx, r.inv.Cause, "drain", func(t *sim.Task) {
		for left > 0 {
			over.Wait(t)
		}
	})
	if err != nil { // interrupted: none of them asks for more
		cancel()
		for _, t := range turns {
			_ = k.Do(t.Rouse)
			_ = t.End(nil)
		}
	}
	ends.Wait()
	if err != nil {
		return err
	}
	return utilerrors.NewAggregate(failed)
}

// evict evicts a pod and waits until it is gone: a goroutine of evictPods.
func (r *removal) evict(ctx context.Context, pod *corev1.Pod) error {
	active := pod
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.say(r.helper.Out, "evicting pod %s\n", nameOf(active))
		if r.late() {
			return fmt.Errorf("error when evicting pods/%q -n %q: global timeout reached: %v", active.Name, active.Namespace, r.limit)
		}
		err := r.ask(ctx, active)
		ending := apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case errors.Is(err, command.ErrLimit):
			return err
		case apierrors.IsTooManyRequests(err):
			r.say(r.helper.ErrOut, "error when evicting pods/%q -n %q (will retry after %v): %v\n", active.Name, active.Namespace, evictRetry, err)
		case ending && active.DeletionTimestamp == nil:
			r.say(r.helper.ErrOut, "error when evicting pod %q from terminating namespace %q (will retry after %v): %v\n", active.Name, active.Namespace, evictRetry, err)
		case err != nil && !ending:
			return fmt.Errorf("error when evicting pods/%q -n %q: %w", active.Name, active.Namespace, err)
		default:
			err := r.untilGone(ctx, []*corev1.Pod{active})
			if err == nil || errors.Is(err, command.ErrLimit) {
				return err
			}
			return fmt.Errorf("error when waiting for pod %q in namespace %q to terminate: %w", pod.Name, pod.Namespace, err)
		}
		if err := r.sleep(ctx, r.inv.Kernel.Time()+evictRetry); err != nil {
			return err
		}
		if fresh, err := r.get(ctx, active); err == nil {
			active = fresh
		}
	}
}

// ask asks for an eviction, and by itself once more where the refusal says after how long it may (client-go rest
// retries).
func (r *removal) ask(ctx context.Context, p *corev1.Pod) error {
	for held := 0; ; held++ {
		err := r.remove(ctx, p)
		after, again := apierrors.SuggestsClientDelay(err)
		if !again || after <= 0 || held >= heldRetries {
			return err
		}
		if err := r.sleep(ctx, r.inv.Kernel.Time()+time.Duration(after)*time.Second); err != nil {
			return err
		}
	}
}

// untilGone looks once a second whether pods have gone (waitForDelete).
func (r *removal) untilGone(ctx context.Context, pods []*corev1.Pod) error {
	done, verb := "evicted", "eviction"
	if r.helper.DisableEviction {
		done, verb = "deleted", "deletion"
	}
	for tick := r.inv.Kernel.Time(); ; {
		tick += goneInterval
		var left []*corev1.Pod
		for _, p := range pods {
			switch current, err := r.get(ctx, p); {
			case apierrors.IsNotFound(err), err == nil && current.UID != p.UID: // another pod may have got its name
				r.say(r.helper.Out, "pod/%s %s\n", p.Name, done)
			case err != nil && ctx.Err() != nil:
				return err
			case err != nil:
				r.say(r.helper.Out, "pod/%s %s failed\n", p.Name, verb)
				return err
			case r.lingers(current):
				r.say(r.helper.Out, "pod %q has DeletionTimestamp older than %v seconds, skipping\n", p.Name, r.skip)
			default:
				left = append(left, p)
			}
		}
		if pods = left; len(pods) == 0 {
			return nil
		}
		if r.until > 0 {
			tick = min(tick, r.until)
		}
		if err := r.sleep(ctx, tick); err != nil {
			return err
		}
		if r.late() {
			return context.DeadlineExceeded
		}
	}
}

// sleep lets virtual time pass until an instant; that at which a timeout command ends comes first.
func (r *removal) sleep(ctx context.Context, until time.Duration) error {
	end, ends := command.Deadline(ctx)
	over := ends && end <= until
	if over {
		until = end
	}
	err := r.inv.Kernel.Wait(ctx, r.inv.Cause, "sleep", func(t *sim.Task) { t.Sleep(max(until-t.Elapsed(), 0)) })
	if err == nil && over {
		return command.ErrLimit
	}
	return err
}

// get is the pod of a name as it is now.
func (r *removal) get(ctx context.Context, p *corev1.Pod) (*corev1.Pod, error) {
	var now corev1.Pod
	if err := r.send(ctx, http.MethodGet, pathOf(p), nil, &now); err != nil {
		return nil, err
	}
	return &now, nil
}

func pathOf(p *corev1.Pod) string { return "/api/v1/namespaces/" + p.Namespace + "/pods/" + p.Name }

// remove asks for an eviction, or for the deletion with --disable-eviction. It does not ask
// by the helper, whose client waits by the machine's clock for as long as the refusal of an
// eviction says.
func (d *drainer) remove(ctx context.Context, p *corev1.Pod) error {
	grace := map[string]any{}
	if d.helper.GracePeriodSeconds >= 0 {
		grace["gracePeriodSeconds"] = d.helper.GracePeriodSeconds
	}
	if d.helper.DisableEviction {
		return d.send(ctx, http.MethodDelete, pathOf(p), grace, nil)
	}
	body := map[string]any{"apiVersion": "policy/v1", "kind": drain.EvictionKind, "metadata": map[string]any{"name": p.Name, "namespace": p.Namespace}}
	if len(grace) > 0 {
		body["deleteOptions"] = grace
	}
	return d.send(ctx, http.MethodPost, pathOf(p)+"/eviction", body, nil)
}

// send sends a request to the API server and reads its answer.
func (d *drainer) send(ctx context.Context, method, path string, body, answer any) error {
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://kviz"+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json")
	resp, err := d.sender.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusBadRequest {
		if answer != nil {
			return json.NewDecoder(resp.Body).Decode(answer)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	var status metav1.Status
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	return &apierrors.StatusError{ErrStatus: status}
}
