package verbs

import (
	"context"
	"fmt"
	"io"

	"kviz/cluster/apiserver/configfile"
	"kviz/cluster/sim"
)

// configVerb is kviz apiserver NAME for the files that the server tells of as lines.
func configVerb(ctx context.Context, inv *use, name string, args []string) int {
	var st configfile.State
	return serverFile(ctx, inv, args, name,
		func(t *sim.Task, s APIServer, file []byte) error { return s.Config.Write(t, name, file) },
		func(s APIServer) { st = s.Config.State(name) },
		func(server string) { tellConfig(inv.Out, server, st) })
}

// tellConfig says what a file comes to, and what of it is in force.
func tellConfig(w io.Writer, server string, st configfile.State) {
	tell := func(where, hash string, lines []string, none string) {
		if hash == "" {
			fmt.Fprintf(w, "%s: %s\n", where, none)
			return
		}
		fmt.Fprintf(w, "%s:\n", where)
		for _, line := range lines {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	tell(st.File, st.FileHash, st.FileLines, "there is none")
	if st.FileHash == st.LoadedHash {
		fmt.Fprintln(w, "in force: the same")
	} else {
		tell("in force", st.LoadedHash, st.LoadedLines, "without "+st.Flag)
		if st.Reloads && st.Refused == "" && st.FileHash != "" {
			fmt.Fprintln(w, "the API server takes the file up by itself")
		} else {
			fmt.Fprintln(w, "the API server reads the file when it starts: kviz fault restart "+server)
		}
	}
	if st.Refused != "" {
		fmt.Fprintln(w, "the API server has not taken the file up: "+st.Refused)
	}
}
