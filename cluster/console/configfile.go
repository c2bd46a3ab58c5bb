package console

import (
	"context"
	"fmt"
	"io"

	"kviz/cluster/apiserver"
	"kviz/cluster/sim"
)

// configVerb is kviz apiserver NAME for the files that the server tells of as lines.
func configVerb(ctx context.Context, inv *Invocation, name string, args []string) int {
	var st apiserver.ConfigState
	return serverFile(ctx, inv, args, name,
		func(p ControlPlane, t *sim.Task, file []byte) error { return p.WriteConfig(t, name, file) },
		func(p ControlPlane) { st = p.Config(name) },
		func() { tellConfig(inv.Out, st) })
}

// tellConfig says what a file comes to, and what of it is in force.
func tellConfig(w io.Writer, st apiserver.ConfigState) {
	takesUp := st.Reloads && st.Refused == "" && st.FileHash != "" && st.FileHash != st.LoadedHash
	defer func() {
		if st.Refused != "" {
			fmt.Fprintln(w, "the API server has not taken the file up: "+st.Refused)
		}
	}()
	tellFile(w, st.File, st.FileHash, st.FileLines, st.LoadedHash, st.LoadedLines, "without "+st.Flag, takesUp)
}
