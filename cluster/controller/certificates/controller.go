// Package certificates is what kube-controller-manager does with
// CertificateSigningRequests: how somebody who has only a key gets a certificate that
// the API server trusts.
//
// The worked idea. Jane makes a key, writes a request for a certificate with it (her
// name as CN, her groups as O, signed with the key, so that nobody asks in the name
// of another's key) and puts it into an object. Nothing happens yet: somebody with
// the permission has to approve it. Then the signer that spec.signerName names issues
// the certificate and puts it into status.certificate, where Jane fetches it.
//
//	approving   approves what kubelets ask for, after asking the API server
//	            whether the requester may have it: the rest is a person's to
//	            approve (kubectl certificate approve)
//	signing     signs what is approved, for the signers kubernetes.io/…, each with
//	            its own idea of which requests are proper
//	cleaner     deletes requests that are old: an hour after they were approved,
//	            denied or have failed, a day after nobody cared
//	pod cleaner deletes PodCertificateRequests after 15 minutes (podrequests.go)
//
// Nobody can revoke a certificate; it is good until it expires.
//
// Mirrors pkg/controller/certificates/{approver,signer,cleaner}. Simplified: one
// queue for the four signers, which upstream runs as four controllers with one key
// each; the cleaner's errors are not logged. The cluster's certificate authority
// signs, see [Sign]. Nothing is watched before the first request. Start reading at
// [Controller.Start].
package certificates

import (
	"crypto"
	"crypto/x509"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "one queue serves the four certificate signers, which upstream runs as four controllers; nothing is watched before the first request",
})

// The controllers' names.
const (
	Approving = "certificatesigningrequest-approving-controller"
	Signing   = "certificatesigningrequest-signing-controller"
	Cleaner   = "certificatesigningrequest-cleaner-controller"
)

// Sign makes a certificate of a template for a public key with the key of the
// cluster's authority, in PEM. It sets the serial number, and lets no certificate
// outlive the authority.
type Sign func(template *x509.Certificate, public crypto.PublicKey) ([]byte, error)

// baseDelay is the first back-off of a request that failed
// (certificate_controller.go NewCertificateController).
const baseDelay = 200 * time.Millisecond

// Controller is one of the three.
type Controller struct {
	*reconcile.Env
	requests *informer.Informer // from the first request on
	begin    func()
	handle   func(*reconcile.Run, *certificatesv1.CertificateSigningRequest) error
	sign     Sign
	loop     *reconcile.Loop
}

// NewApproving makes the approving controller; Start starts it.
func NewApproving(env *reconcile.Env) *Controller {
	c := &Controller{Env: env}
	c.begin, c.handle = c.watch, c.approve
	return c
}

// NewSigning makes the signing controller; Start starts it.
func NewSigning(env *reconcile.Env, sign Sign) *Controller {
	c := &Controller{Env: env, sign: sign}
	c.begin, c.handle = c.watch, c.issue
	return c
}

// NewCleaner makes the cleaner; Start starts it.
func NewCleaner(env *reconcile.Env) *Controller {
	c := &Controller{Env: env}
	c.begin = func() { env.Process.Go("cleaner", c.clean) }
	return c
}

// Start waits for the first CertificateSigningRequest and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.CertificateSigningRequests)
		c.requests = c.Informers.For(client.CertificateSigningRequests)
		c.begin()
	})
}

// watch has every change of a request looked at.
func (c *Controller) watch() {
	c.loop = reconcile.NewLoop(c.Env, "certificate", client.CertificateSigningRequests, c.sync)
	c.loop.SetBaseDelay(baseDelay)
	add := func(t *sim.Task, obj runtime.Object) { c.loop.Add(t, informer.KeyOf(obj)) }
	c.requests.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { add(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { add(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { add(t, obj) },
	})
	c.loop.Start(c.requests)
}

// sync looks at one request (syncFunc).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.requests.Get(run.Key)
	if !ok {
		return nil
	}
	csr := obj.(*certificatesv1.CertificateSigningRequest)
	if len(csr.Status.Certificate) > 0 {
		return nil
	}
	return c.handle(run, csr.DeepCopy())
}

// decision says whether a request has been approved, and whether denied
// (GetCertApprovalCondition).
func decision(csr *certificatesv1.CertificateSigningRequest) (approved, denied bool) {
	has := func(kind certificatesv1.RequestConditionType) bool {
		return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == kind })
	}
	return has(certificatesv1.CertificateApproved), has(certificatesv1.CertificateDenied)
}
