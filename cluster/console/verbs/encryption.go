package verbs

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// encryptionVerb is kviz apiserver encryption.
func encryptionVerb(ctx context.Context, inv *use, args []string) int {
	flags := pflag.NewFlagSet("apiserver", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	reload := flags.Bool("automatic-reload", false, "")
	none := flags.Bool("none", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() < 1 || flags.NArg() > 2 || flags.Arg(0) != "encryption" || *none && flags.NArg() > 1 {
		return inv.badUse()
	}
	var file []byte
	if flags.NArg() == 2 {
		var err error
		if file, err = inv.ReadFile(flags.Arg(1)); err != nil {
			return inv.did(err)
		}
	}
	var st encrypt.State
	name := ""
	err := inv.onServer(ctx, "encryption", func(t *sim.Task, s APIServer) (err error) {
		was := s.Encryption.State().Wanted
		if flags.Changed("automatic-reload") {
			s.Encryption.Reload(*reload) // whether a file can be used depends on it
		}
		if flags.NArg() == 2 || *none {
			err = s.Encryption.Write(t, file)
		}
		if err != nil {
			s.Encryption.Reload(was)
		}
		name, st = s.Name, s.Encryption.State()
		return err
	})
	if err == nil {
		tellEncryption(inv.Out, name, st)
	}
	return inv.did(err)
}

func tellEncryption(w io.Writer, server string, st encrypt.State) {
	if st.FileHash == "" {
		fmt.Fprintf(w, "%s: there is none\n", encrypt.File)
	} else {
		fmt.Fprintf(w, "%s: %s\n", encrypt.File, trace.RulesText(st.FileRules))
	}
	if st.LoadedHash == st.FileHash {
		fmt.Fprintln(w, "in force: the same")
	} else {
		fmt.Fprintf(w, "in force: %s\n", trace.RulesText(st.LoadedRules))
	}
	switch {
	case st.LoadedHash != st.FileHash && st.Reload:
		fmt.Fprintln(w, "the API server looks at the file every minute")
	case st.LoadedHash != st.FileHash:
		fmt.Fprintln(w, "the API server reads the file when it starts: kviz fault restart "+server)
	case st.Reload != st.Wanted:
		fmt.Fprintf(w, "automatic reload will be %s when the API server starts again: kviz fault restart %s\n", onOff(st.Wanted), server)
	}
	for _, p := range st.KMS {
		if p.Err != nil {
			fmt.Fprintf(w, "KMS provider %s: %v\n", p.Name, p.Err)
			continue
		}
		fmt.Fprintf(w, "KMS provider %s: ok, key encryption key %s\n", p.Name, p.KeyID)
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
