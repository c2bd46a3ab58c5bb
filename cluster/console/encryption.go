package console

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/idp"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// ControlPlane is the machine that the API server runs on: its files and flags. Where
// there are several, each has its own.
// The methods are called on the kernel's goroutine, as part of a task.
type ControlPlane interface {
	// WriteEncryption replaces the API server's encryption configuration; nil
	// removes it. A file that it could not start with is refused.
	WriteEncryption(t *sim.Task, file []byte) error
	// ReloadEncryption is --encryption-provider-config-automatic-reload.
	ReloadEncryption(on bool)
	Encryption() encrypt.State
	// IssueCertificate signs a client certificate of a user with the key of the
	// cluster's authority, and gives it and its key in PEM.
	IssueCertificate(t *sim.Task, user string, groups []string, ttl time.Duration) (cert, key []byte, err error)
	// RequestCertificate makes a key, and a certificate request signed with it.
	RequestCertificate(user string, groups []string) (request, key []byte, err error)

	// WriteAuditPolicy replaces the API server's audit policy; nil removes it. A
	// file that it could not start with is refused.
	WriteAuditPolicy(t *sim.Task, file []byte) error
	Audit() audit.State

	// WriteConfig replaces one of the API server's other files: "admission", "tokens",
	// "authentication", "token-webhook", "authorization"; nil removes it. A file that
	// it could not start with is refused.
	WriteConfig(t *sim.Task, name string, file []byte) error
	Config(name string) apiserver.ConfigState

	// SetConcurrency sets how many requests the API server serves at once.
	SetConcurrency(t *sim.Task, total int) error
	Concurrency() (total int, levels []fairness.State)
	// Storm has n clients of a user list pods at once, and tells how many were
	// answered, and how many turned down.
	Storm(t *sim.Task, user string, n int) (answered, rejected int)
	// SetPollers has so many clients list a resource every so often, in place of
	// those that do; 0 ends them.
	SetPollers(t *sim.Task, count int, resource string, every time.Duration) error

	// Login logs somebody in at the simulated identity provider, and gives his token.
	Login(t *sim.Task, l idp.Login) (token string, err error)
	Provider() idp.State

	// SetEtcdServers has the API server's etcd client go through these members of the
	// store, one at a time; none: through the store as a whole.
	SetEtcdServers(t *sim.Task, members []string) error
	// EtcdServers are those it was given, and the one it uses.
	EtcdServers() (all []string, used string)

	// AddServer starts another API server on the same store, behind a load balancer.
	AddServer(t *sim.Task) error
	// RemoveServer takes one out for good, by its name in Servers; not the first.
	RemoveServer(t *sim.Task, name string) error
	Servers() []Server

	// JoinNode powers on another machine, which becomes a node: with the certificate
	// that it asks for as the bearer of a bootstrap token, or, without a token, with one
	// that it brings.
	JoinNode(t *sim.Task, token string) (name string, err error)

	// At is the machine of one API server, by its name in Servers. Without it files and
	// flags are those of the first, and storms are dealt out to all.
	At(server string) ControlPlane
	// Name is the API server's, as faults name it.
	Name() string

	// ReadFile is what a file of the machine holds; Files are the names of those there
	// are.
	ReadFile(name string) ([]byte, error)
	Files() []string
}

// encryptionVerb is kviz apiserver encryption.
func encryptionVerb(ctx context.Context, inv *Invocation, args []string) int {
	flags := pflag.NewFlagSet("apiserver", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	reload := flags.Bool("automatic-reload", false, "")
	none := flags.Bool("none", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() < 1 || flags.NArg() > 2 || flags.Arg(0) != "encryption" || *none && flags.NArg() > 1 {
		return inv.badUse()
	}
	plane := inv.plane()
	if plane == nil {
		return inv.did(fmt.Errorf("this console has no control plane"))
	}
	var file []byte
	if flags.NArg() == 2 {
		var err error
		if file, err = (folders{inv}).read(flags.Arg(1)); err != nil {
			return inv.did(err)
		}
	}
	if !inv.mayWait() {
		return 1
	}
	var st encrypt.State
	var err error
	cerr := inv.Console.call(ctx, inv.Cause, "encryption", func(t *sim.Task) {
		was := plane.Encryption().Wanted
		if flags.Changed("automatic-reload") {
			plane.ReloadEncryption(*reload) // whether a file can be used depends on it
		}
		if flags.NArg() == 2 || *none {
			err = plane.WriteEncryption(t, file)
		}
		if err != nil {
			plane.ReloadEncryption(was)
		}
		st = plane.Encryption()
	})
	if cerr != nil {
		err = cerr
	}
	if err == nil {
		tellEncryption(inv.Out, plane.Name(), st)
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
