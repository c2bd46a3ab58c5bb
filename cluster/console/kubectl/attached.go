package kubectl

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// attachedLimit is how long a command that kubectl run was asked to stay with may take,
// of the cluster's time.
const attachedLimit = 10 * time.Minute

// runAttached is kubectl run -it [--rm] NAME --image=… -- COMMAND: it stays until the
// command has ended, prints what it said, and takes the pod away again. What a person
// would type into the command is left out; a container has no terminal here, so what it
// says comes when it has said all (pkg/cmd/run/run.go Run).
func (k *run) runAttached(ctx context.Context, args []string, flags *parsed) int {
	name, in := flags.args[0], []string{}
	if flags.set("namespace") {
		in = []string{"-n", flags.value("namespace")}
	}
	made := k.once(detached(args))
	_, _ = k.inv.Err.Write(made.errOut)
	if made.exit != 0 {
		return made.exit
	}
	var now, last string // exit codes of the container, once it has ended
	exit, timedOut := k.check(ctx, attachedLimit, []string{"pods"}, func() (bool, int) {
		const ended = `{.status.containerStatuses[0].state.terminated.exitCode}/{.status.containerStatuses[0].lastState.terminated.exitCode}`
		r := k.once(append([]string{"get", "pod", name, "-o", "jsonpath=" + ended}, in...))
		now, last, _ = strings.Cut(string(r.out), "/")
		return r.exit != 0 || now != "" || last != "", r.exit
	})
	if timedOut {
		fmt.Fprintln(k.inv.Err, "error: timed out waiting for the condition")
	} else if exit == 0 {
		exit = k.ended(name, now, last, flags.value("restart") == "Never", in)
	}
	if flags.on("rm") {
		k.print(k.once(append([]string{"delete", "pod", name, "--wait=false"}, in...)))
	}
	return exit
}

// ended prints what the command said, and gives its exit status where the pod has one.
func (k *run) ended(name, now, last string, once bool, in []string) int {
	logs := append([]string{"logs", name}, in...)
	if now == "" && last != "" { // it runs again already
		logs = append(logs, "--previous")
	}
	if exit := k.print(k.once(logs)); exit != 0 {
		return exit
	}
	code, err := strconv.Atoi(now)
	if err != nil || code == 0 || !once {
		return 0
	}
	ns := k.kubectl.Namespace()
	if len(in) > 0 {
		ns = in[1]
	}
	if ns == "" {
		ns = "default"
	}
	fmt.Fprintf(k.inv.Err, "pod %s/%s terminated (Error)\n", ns, name)
	return code
}

// detached is args without what has kubectl run stay with the pod.
func detached(args []string) []string {
	return without(args, map[string]bool{"--stdin": false, "--tty": false, "--attach": false, "--rm": false, "-i": false, "-t": false, "-it": false, "-ti": false})
}
