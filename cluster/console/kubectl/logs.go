package kubectl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TheConsole, How: simulated.Simplified,
	What: "kubectl logs -f of several containers fetches their logs again every second",
})

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
	var said []byte
	w, err := k.inv.Kernel.Changes(ctx, k.inv.Cause, k.inv.LimitOf(limit), command.ChangeOf("pods"))
	if err != nil {
		fmt.Fprintf(k.inv.Err, "error: %v\n", err)
		return 1
	}
	defer w.Close()
	for {
		r := k.once(once)
		if r.exit != 0 {
			return k.print(r)
		}
		fresh := r.out
		if bytes.HasPrefix(r.out, said) {
			fresh = r.out[len(said):]
		}
		said = r.out
		if _, err := k.inv.Out.Write(fresh); err != nil {
			return 0
		}
		switch err := w.Sleep(ctx, time.Second); {
		case errors.Is(err, command.ErrLimit):
			return 0
		case err != nil:
			return 130
		}
	}
}
