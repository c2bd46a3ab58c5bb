package cluster

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/controller"
	"kviz/cluster/nearest"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// A component whose place is free: kviz starts none of its own, and a program from outside can
// take the place, as a kube-scheduler takes the scheduler's.

// replaceable are the components that a cluster can be without, as faults name them, and the user
// that each is known by.
var replaceable = map[string]string{
	trace.CompScheduler: "kube-scheduler",
	trace.CompKCM:       "kube-controller-manager",
	trace.CompCCM:       controller.CloudLease,
}

// Replaceable are the names that Config.Without may have.
func Replaceable() []string { return []string{trace.CompCCM, trace.CompKCM, trace.CompScheduler} }

// CheckWithout says why a cluster cannot be without these components.
func CheckWithout(names []string) error {
	known := Replaceable()
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		text := fmt.Sprintf("%q is nothing that kviz can leave out; it can leave out %s and %s", name, strings.Join(known[:len(known)-1], ", "), known[len(known)-1])
		if near := nearest.To(strings.TrimPrefix(name, "kube-"), known); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		return errors.New(text)
	}
	return nil
}

// without reports whether a component is left out.
func (cfg Config) without(name string) bool { return slices.Contains(cfg.Without, name) }

// errWithout is what is refused with that concerns a component that is left out.
func errWithout(name string) error {
	return fmt.Errorf("no %s of kviz' own runs (--without %s)", strings.ReplaceAll(name, "-", " "), name)
}

// inputCredential is a certificate that was signed for a program that takes a component's place (see
// [sim.Kernel.Enter]).
const inputCredential = "credential"

// signed is that input: the program has the key, the run only what can be shown.
type signed struct {
	User   string
	Public []byte // PKIX
}

// credentialLife is how long such a certificate is valid, as those that kubeadm makes.
const credentialLife = 365 * 24 * time.Hour

// outsiders gives the programs that take components' places their credentials.
type outsiders struct {
	k       *sim.Kernel
	servers *apiServers
}

// credential signs a client certificate, in PEM, with which a program has the rights of a component
// (see Config.Without), and says which user that is. The key stays with the caller.
func (o *outsiders) credential(component string, public crypto.PublicKey) (user string, cert []byte, err error) {
	name := replaceable[component]
	if name == "" {
		return "", nil, CheckWithout([]string{component})
	}
	c := signed{User: authn.Component(name).Name}
	if c.Public, err = x509.MarshalPKIXPublicKey(public); err != nil {
		return "", nil, fmt.Errorf("the key of %s: %w", c.User, err)
	}
	if stopped := o.k.Do(func() { cert, err = o.sign(c, c) }); stopped != nil {
		return "", nil, stopped
	}
	return c.User, cert, err
}

// sign runs on the kernel's goroutine; in is what enters.
func (o *outsiders) sign(c signed, in any) ([]byte, error) {
	if o.servers.first == nil {
		return nil, errNoServer
	}
	public, err := x509.ParsePKIXPublicKey(c.Public)
	if err != nil {
		return nil, fmt.Errorf("the key of %s: %w", c.User, err)
	}
	o.k.Enter(inputCredential, in)
	return o.servers.first.Authenticators().Authority.SignClient(c.User, nil, public, o.k.Now(), credentialLife)
}

// again signs one that was signed then, on the kernel's goroutine: with the same key it is the same
// certificate, so that the requests that show it are answered as they were.
func (o *outsiders) again(in *trace.Input) (bool, error) {
	var c signed
	if err := in.Decode(&c); err != nil {
		return false, err
	}
	_, err := o.sign(c, in)
	return true, err
}
