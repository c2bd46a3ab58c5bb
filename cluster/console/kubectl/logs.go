package kubectl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd/logs"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"kviz/cluster/console/command"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TheConsole, How: simulated.Simplified,
	What: "kubectl logs -f of several containers fetches their logs again every second",
})

// logsCommand is kubectl logs (kubectl pkg/cmd/logs NewCmdLogs). The real one keeps the
// requests for several containers' logs in a map and asks in the order of the map, which
// is another one in each run; here it asks by pod, then by container.
func logsCommand(f cmdutil.Factory, streams genericiooptions.IOStreams, k *run) *cobra.Command {
	c := logs.NewCmdLogs(f, streams)
	o := logs.NewLogsOptions(streams)
	c.ResetFlags()
	o.AddFlags(c)
	c.Run = func(cmd *cobra.Command, args []string) {
		cmdutil.CheckErr(o.Complete(f, cmd, args))
		cmdutil.CheckErr(o.Validate())
		cmdutil.CheckErr(k.logsInOrder(cmd.Context(), *o))
	}
	return c
}

// logsInOrder runs kubectl logs once for each container of several. One that is followed
// is alone: of several, followAllLogs makes runs that do not follow.
func (k *run) logsInOrder(ctx context.Context, o logs.LogsOptions) error {
	find := o.LogsForObject
	if o.AllPods {
		find = func(g genericclioptions.RESTClientGetter, object, options runtime.Object, timeout time.Duration, all bool) (map[corev1.ObjectReference]rest.ResponseWrapper, error) {
			return o.AllPodLogsForObject(g, object, options, timeout, all)
		}
	}
	requests, err := find(o.RESTClientGetter, o.Object, o.Options, o.GetPodTimeout, o.AllContainers)
	if err != nil {
		return err
	}
	if k.heard != nil && len(requests) > o.MaxFollowConcurrency {
		return fmt.Errorf("you are attempting to follow %d log streams, but maximum allowed concurrency is %d, use --max-log-requests to increase the limit",
			len(requests), o.MaxFollowConcurrency)
	}
	o.AllPods = false
	out := o.Out
	for _, ref := range slices.SortedFunc(maps.Keys(requests), byContainer) {
		o.LogsForObject = func(genericclioptions.RESTClientGetter, runtime.Object, runtime.Object, time.Duration, bool) (map[corev1.ObjectReference]rest.ResponseWrapper, error) {
			return map[corev1.ObjectReference]rest.ResponseWrapper{ref: requests[ref]}, nil
		}
		var log bytes.Buffer
		if k.heard != nil {
			o.Out = &log
		}
		if err := o.RunLogsContext(ctx); err != nil {
			return err
		}
		if k.heard == nil {
			continue
		}
		if _, err := out.Write(fresh(log.Bytes(), k.heard[ref])); err != nil {
			return err
		}
		k.heard[ref] = log.Bytes()
	}
	return nil
}

// byContainer orders by pod, then by container. A container's FieldPath is like
// spec.containers{app}.
func byContainer(a, b corev1.ObjectReference) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.FieldPath, b.FieldPath))
}

// followLogs is logs --follow: what is there, then what comes, until the container ends.
func (k *run) followLogs(ctx context.Context, args []string, flags *parsed) int {
	limit := flags.timeout("request-timeout")
	if k.inv.Script && limit <= 0 && !command.Ends(ctx) && !k.inv.Behind {
		fmt.Fprintln(k.inv.Err, "error: kubectl logs --follow may never end, and this is a script: leave -f out, or put timeout 30s before it, or & behind it")
		return 1
	}
	once := without(args, map[string]bool{"-f": false, "--follow": false, "--request-timeout": true})
	if flags.set("selector") || flags.on("all-pods") || flags.on("all-containers") {
		return k.followAllLogs(ctx, once, limit)
	}
	if until, ok := command.Deadline(ctx); ok {
		if left := max(until-k.inv.Kernel.Time(), 1); limit <= 0 || left < limit {
			limit = left
		}
	}
	if k.transport.mostLog = limit; limit <= 0 {
		k.transport.mostLog = endless
	}
	exit := k.execute(with(once, "--follow"), restoring{k.files, k.inv.Out}, restoring{k.files, k.inv.Err})
	if ctx.Err() != nil {
		return 130
	}
	return exit
}

// followAllLogs is logs --follow of several containers, which are asked for their logs
// again every second: in which order several streams arrive would not be
// the same in every run.
func (k *run) followAllLogs(ctx context.Context, once []string, limit time.Duration) int {
	k.heard = map[corev1.ObjectReference][]byte{}
	w, err := k.inv.Kernel.Changes(ctx, k.inv.Cause, k.inv.LimitOf(limit), command.ChangeOf("pods"))
	if err != nil {
		fmt.Fprintf(k.inv.Err, "error: %v\n", err)
		return 1
	}
	defer w.Close()
	for {
		if exit := k.print(k.once(once)); exit != 0 {
			return exit
		}
		switch err := w.Sleep(ctx, time.Second); {
		case errors.Is(err, command.ErrLimit):
			return 0
		case err != nil:
			return 130
		}
	}
}

// fresh is what a log has that was not there a moment ago. With --tail or --since its
// first lines are gone after a while.
func fresh(log, before []byte) []byte {
	if bytes.HasPrefix(log, before) {
		return log[len(before):]
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	known := make([]int, len(lines)) // how many of the first lines end at each line (Knuth, Morris, Pratt)
	match := func(n int, line []byte) int {
		for n > 0 && (n == len(lines) || !bytes.Equal(lines[n], line)) {
			n = known[n-1]
		}
		if bytes.Equal(lines[n], line) {
			n++
		}
		return n
	}
	for i := 1; i < len(lines); i++ {
		known[i] = match(known[i-1], lines[i])
	}
	n := 0
	for line := range bytes.SplitAfterSeq(before, []byte("\n")) {
		if len(line) > 0 { // what comes after the last newline
			n = match(n, line)
		}
	}
	return bytes.Join(lines[n:], nil)
}
