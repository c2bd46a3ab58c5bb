package verbs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// auditVerb is kviz apiserver audit.
func auditVerb(ctx context.Context, inv *use, args []string) int {
	var st audit.State
	return serverFile(ctx, inv, args, "audit",
		func(t *sim.Task, s APIServer, file []byte) error { return s.Audit.Write(t, file) },
		func(s APIServer) { st = s.Audit.State() },
		func(server string) { tellAudit(inv.Out, server, st) })
}

// serverFile is a verb about a file that the API server is configured with:
// [FILE|--none]. It writes the file where one is given, or removes it, looks at what
// there is then, and tells of it.
func serverFile(ctx context.Context, inv *use, args []string, what string, write func(*sim.Task, APIServer, []byte) error, look func(APIServer), tell func(server string)) int {
	flags := pflag.NewFlagSet(what, pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	none := flags.Bool("none", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 1 || *none && flags.NArg() > 0 {
		return inv.badUse()
	}
	var file []byte
	if flags.NArg() == 1 {
		var err error
		if file, err = inv.ReadFile(flags.Arg(0)); err != nil {
			return inv.did(err)
		}
		if file == nil {
			file = []byte{}
		}
	}
	name := ""
	err := inv.onServer(ctx, what, func(t *sim.Task, s APIServer) (err error) {
		if flags.NArg() == 1 || *none {
			err = write(t, s, file)
		}
		name = s.Name
		look(s)
		return err
	})
	if err == nil {
		tell(name)
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
		fmt.Fprintf(w, "events: %d; %d could not be written\n", st.Events, st.Errors)
	}
	for _, name := range st.Files {
		fmt.Fprintln(w, name)
	}
	if st.Full {
		fmt.Fprintln(w, "the log's disk is full: kviz fault free audit"+strings.TrimPrefix(server, trace.CompAPIServer))
	}
}
