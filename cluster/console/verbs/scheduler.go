package verbs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/trace"
)

// schedulerVerb is kviz scheduler: config, allow and reject.
func schedulerVerb(ctx context.Context, inv *use, args []string) int {
	if len(args) > 0 && (args[0] == "allow" || args[0] == "reject") {
		return permitVerb(inv, args[0] == "allow", args[1:])
	}
	return schedulerConfig(ctx, inv, args)
}

// schedulerConfig is the file that kube-scheduler is started with (--config).
func schedulerConfig(_ context.Context, inv *use, args []string) int {
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	none := flags.Bool("none", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() < 1 || flags.NArg() > 2 || flags.Arg(0) != "config" || *none && flags.NArg() > 1 {
		return inv.badUse()
	}
	plane := inv.cfg.ControlPlane
	if plane == nil {
		return inv.did(errNoPlane)
	}
	if flags.NArg() == 2 || *none {
		var file []byte
		if !*none {
			var err error
			if file, err = inv.ReadFile(flags.Arg(1)); err != nil {
				return inv.did(err)
			}
			if file == nil {
				file = []byte{}
			}
		}
		if err := plane.Scheduler.Configure(file, inv.Cause); err != nil {
			return inv.did(err)
		}
	}
	var told *trace.SchedConfiguration
	up, absent := false, error(nil)
	if err := inv.Kernel.Do(func() { told, up, absent = plane.Scheduler.Configured() }); err != nil || absent != nil {
		return inv.did(cmp.Or(err, absent))
	}
	tellScheduler(inv.Out, told)
	if !up {
		fmt.Fprintln(inv.Out, "the scheduler is down; it reads the file when it starts: kviz fault start scheduler")
	}
	return 0
}

// permitVerb answers in place of the plugins for which a pod waits at Permit.
func permitVerb(inv *use, allow bool, args []string) int {
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	namespace := flags.StringP("namespace", "n", orDefault(inv.cfg.Namespace()), "")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		return inv.badUse()
	}
	plane := inv.cfg.ControlPlane
	if plane == nil {
		return inv.did(errNoPlane)
	}
	what := flags.Arg(0)
	if !strings.Contains(what, "/") {
		what = "pod/" + what
	}
	name := parseName(what, *namespace)
	if !slices.Contains(name.could, "pods") {
		return inv.did(fmt.Errorf("only pods wait at Permit, and %s is none: pod/NAME", what))
	}
	pod := name.namespace + "/" + name.name
	if err := plane.Scheduler.Permit(pod, allow, inv.Cause); err != nil {
		return inv.did(err)
	}
	outcome := "rejected; it goes back to the scheduler's queues"
	if allow {
		outcome = "allowed"
	}
	fmt.Fprintf(inv.Out, "pod %s is %s\n", pod, outcome)
	return 0
}

// tellScheduler says what a configuration comes to.
func tellScheduler(w io.Writer, told *trace.SchedConfiguration) {
	if !told.File {
		fmt.Fprintln(w, "without --config: upstream's defaults")
	}
	for _, p := range told.Profiles {
		fmt.Fprintf(w, "profile %s\n", p.Name)
		for _, at := range p.Points {
			fmt.Fprintf(w, "  %-10s  %s\n", at.Point, strings.Join(at.Plugins, ", "))
		}
		if p.Percentage > 0 {
			fmt.Fprintf(w, "  percentageOfNodesToScore: %d\n", p.Percentage)
		}
		for _, arg := range p.Args {
			fmt.Fprintf(w, "  changed: %s\n", arg)
		}
		if len(p.Absent) > 0 {
			fmt.Fprintf(w, "  without effect here: %s\n", strings.Join(p.Absent, ", "))
		}
	}
	for _, setting := range told.Changed {
		fmt.Fprintf(w, "changed: %s\n", setting)
	}
}
