package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// errNoPlane is what a console says that is connected to no cluster's machines.
var errNoPlane = errors.New("this console has no control plane")

// auditVerb is kviz apiserver audit.
func auditVerb(ctx context.Context, inv *Invocation, args []string) int {
	var st audit.State
	return serverFile(ctx, inv, args, "audit", ControlPlane.WriteAuditPolicy, func(p ControlPlane) { st = p.Audit() }, func() { tellAudit(inv.Out, inv.plane().Name(), st) })
}

// serverFile is a verb about a file that the API server is configured with:
// [FILE|--none]. It writes the file where one is given, or removes it, looks at what
// there is then, and tells of it.
func serverFile(ctx context.Context, inv *Invocation, args []string, what string, write func(ControlPlane, *sim.Task, []byte) error, look func(ControlPlane), tell func()) int {
	flags := pflag.NewFlagSet(what, pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	none := flags.Bool("none", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 1 || *none && flags.NArg() > 0 {
		return inv.badUse()
	}
	plane := inv.plane()
	if plane == nil {
		return inv.did(errNoPlane)
	}
	var file []byte
	if flags.NArg() == 1 {
		var err error
		if file, err = (folders{inv}).read(flags.Arg(0)); err != nil {
			return inv.did(err)
		}
		if file == nil {
			file = []byte{}
		}
	}
	if !inv.mayWait() {
		return 1
	}
	var err error
	cerr := inv.Console.call(ctx, inv.Cause, what, func(t *sim.Task) {
		if flags.NArg() == 1 || *none {
			err = write(plane, t, file)
		}
		look(plane)
	})
	if cerr != nil {
		err = cerr
	}
	if err == nil {
		tell()
	}
	return inv.did(err)
}

func tellAudit(w io.Writer, server string, st audit.State) {
	tellRules := func(where string, hash string, rules []string, none string) {
		if hash == "" {
			fmt.Fprintf(w, "%s: %s\n", where, none)
			return
		}
		fmt.Fprintf(w, "%s:\n", where)
		for i, r := range rules {
			fmt.Fprintf(w, "  rule %d: %s\n", i+1, r)
		}
	}
	tellRules(audit.PolicyFile, st.FileHash, st.FileRules, "there is none")
	if st.FileHash == st.LoadedHash {
		fmt.Fprintln(w, "in force: the same")
	} else {
		tellRules("in force", st.LoadedHash, st.LoadedRules, "nothing is audited")
		fmt.Fprintln(w, "the API server reads the file when it starts: kviz fault restart "+server)
	}
	if st.Events > 0 {
		fmt.Fprintf(w, "events: %d, of which %d could not be written\n", st.Events, st.Errors)
	}
	for _, name := range st.Files {
		fmt.Fprintln(w, name)
	}
	if st.Full {
		fmt.Fprintln(w, "the log's disk is full: kviz fault free audit"+strings.TrimPrefix(server, trace.CompAPIServer))
	}
}
