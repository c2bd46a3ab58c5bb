package verbs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/trace"
)

// schedulerVerb is kviz scheduler config: the file that kube-scheduler is started with (--config).
func schedulerVerb(_ context.Context, inv *use, args []string) int {
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
	up := false
	if err := inv.Kernel.Do(func() { told, up = plane.Scheduler.Configured() }); err != nil {
		return inv.did(err)
	}
	tellScheduler(inv.Out, told)
	if !up {
		fmt.Fprintln(inv.Out, "the scheduler is down; it reads the file when it starts: kviz fault start scheduler")
	}
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
