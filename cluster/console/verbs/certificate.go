package verbs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster/sim"
)

// certificate is kviz certificate: a client certificate signed on the control
// plane's machine, as kubeadm kubeconfig user signs one. NAME.crt and NAME.key are
// written to the disk, for kubectl --client-certificate and --client-key, readable
// by their owner only. With --request nothing is signed: NAME.csr is what openssl req
// would make, for a CertificateSigningRequest.
func certificate(ctx context.Context, inv *use, args []string) int {
	flags := pflag.NewFlagSet("certificate", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	user := flags.String("user", "", "")
	groups := flags.StringSlice("group", nil, "")
	ttl := flags.Duration("ttl", 365*24*time.Hour, "")
	request := flags.Bool("request", false, "")
	if err := flags.Parse(args); err != nil || *user == "" || flags.NArg() != 1 || *ttl <= 0 || *request && flags.Changed("ttl") {
		return inv.badUse()
	}
	var (
		made, key []byte
		until     time.Time
	)
	if err := inv.administer(ctx, "certificate", func(t *sim.Task, plane *ControlPlane) (err error) {
		if *request {
			made, key, err = plane.Authority.Request(*user, *groups)
			return err
		}
		until = t.Now().Add(*ttl)
		made, key, err = plane.Authority.Issue(t, *user, *groups, *ttl)
		return err
	}); err != nil {
		return inv.did(err)
	}
	end := ".crt"
	if *request {
		end = ".csr"
	}
	name := flags.Arg(0)
	path, err := inv.Path(name)
	if err != nil {
		return inv.did(err)
	}
	for _, f := range []struct {
		end     string
		content []byte
	}{{".key", key}, {end, made}} {
		if err := writePrivate(path+f.end, f.content); err != nil {
			return inv.did(err)
		}
	}
	if *request {
		fmt.Fprintf(inv.Out, "%s.csr and %s.key: a request for a certificate of %s, to be put into a CertificateSigningRequest\n", name, name, *user)
		return 0
	}
	fmt.Fprintf(inv.Out, "%s.crt and %s.key: %s, until %s of the cluster's time\n", name, name, *user, until.UTC().Format(time.RFC3339))
	return 0
}

// writePrivate writes a file whole or not at all, mode 0600.
func writePrivate(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".kviz-*") // created with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
