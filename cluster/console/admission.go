package console

import (
	"context"
	"fmt"
	"io"

	"kviz/cluster/apiserver"
)

// admissionVerb is kviz apiserver admission.
func admissionVerb(ctx context.Context, inv *Invocation, args []string) int {
	var st apiserver.AdmissionState
	return serverFile(ctx, inv, args, "admission", ControlPlane.WriteAdmission,
		func(p ControlPlane) { st = p.Admission() },
		func() {
			tellFile(inv.Out, apiserver.AdmissionFile, st.FileHash, st.FileSays, st.LoadedHash, st.LoadedSays, "every admission plugin is as it is by default", false)
		})
}

// tellFile tells what a file says that the API server is configured with, and what
// it has read of it; takesUp if it will read it without being started again.
func tellFile(w io.Writer, file, fileHash string, fileSays []string, loadedHash string, loadedSays []string, byDefault string, takesUp bool) {
	tell := func(where, hash string, says []string, none string) {
		if hash == "" {
			fmt.Fprintf(w, "%s: %s\n", where, none)
			return
		}
		fmt.Fprintf(w, "%s:\n", where)
		for _, line := range says {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	tell(file, fileHash, fileSays, "there is none")
	if fileHash == loadedHash {
		fmt.Fprintln(w, "in force: the same")
		return
	}
	tell("in force", loadedHash, loadedSays, byDefault)
	if takesUp {
		fmt.Fprintln(w, "the API server takes the file up by itself")
		return
	}
	fmt.Fprintln(w, "the API server reads the file when it starts: kviz fault restart apiserver")
}
