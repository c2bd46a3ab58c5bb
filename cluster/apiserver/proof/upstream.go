package proof

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
)

// startUpstream runs the real kube-apiserver in this process, with the flags
// that say what kviz is by itself, on a store behind etcd's API. stop ends it.
func startUpstream(dir string) (s *side, stop func() error, err error) {
	klog.LogToStderr(false)
	klog.SetOutput(discard{})
	store := raftstore.OpenBare()
	served, err := etcdapi.Serve(store, etcdapi.Config{})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	stop = func() error {
		cancel()
		return errors.Join(<-ended, served.Close(), store.Close())
	}
	run, url, err := Upstream(ctx, dir, served.Addr)
	if err != nil {
		ended <- nil
		return nil, nil, errors.Join(err, stop())
	}
	go func() { ended <- run() }() // the real one: it listens, and runs by the machine's clock
	s = newSide("kube-apiserver", url, UpstreamToken)
	for ; ; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- nil
			return nil, nil, errors.Join(fmt.Errorf("kube-apiserver ended: %w", err), stop())
		default:
		}
		if code, err := s.code("/readyz"); err == nil && code == http.StatusOK {
			return s, stop, nil
		}
	}
}

// UpstreamToken is the administrator's token for the real kube-apiserver.
const UpstreamToken = "the-administrators-token"

// Upstream is the real kube-apiserver over the etcd at this address, with its files in dir: ready to run,
// and where it will listen.
func Upstream(ctx context.Context, dir, etcd string) (run func() error, url string, err error) {
	tokens, key := filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "service-account.key")
	if err := os.WriteFile(tokens, []byte(UpstreamToken+",kubernetes-admin,,system:masters\n"), 0o600); err != nil {
		return nil, "", err
	}
	if err := writeKey(key); err != nil {
		return nil, "", err
	}
	o := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, set := range o.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse([]string{
		"--etcd-servers=http://" + etcd,
		"--cert-dir=" + dir,
		"--token-auth-file=" + tokens,
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--advertise-address=192.168.0.10",
		"--endpoint-reconciler-type=none",
	}); err != nil {
		return nil, "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	o.SecureServing.Listener, o.SecureServing.BindPort = l, l.Addr().(*net.TCPAddr).Port
	completed, err := o.Complete(ctx)
	if err == nil {
		err = utilerrors.NewAggregate(completed.Validate())
	}
	if err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	return func() error { return app.Run(ctx, completed) }, "https://" + l.Addr().String(), nil
}

func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// insecure talks to servers whose certificates were made a moment ago.
func insecure() *http.Client {
	return &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 4},
		// What a server says is compared, not followed.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
