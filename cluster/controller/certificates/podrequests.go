package certificates

import (
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
)

// PodCleaner is the cleaner of PodCertificateRequests, by which kubelets ask for pods'
// certificates; its account is another's name.
const (
	PodCleaner        = "podcertificaterequest-cleaner-controller"
	PodCleanerAccount = "podcertificaterequestcleaner"
)

// How often it looks, and how old a request may become, whatever has become of it: the answer
// takes less (pkg/controller/certificates/cleaner/pcrcleaner.go).
const (
	cleanPodsEvery = 5 * time.Minute
	oldPodRequest  = 15 * time.Minute
)

// PodRequests deletes PodCertificateRequests that are old.
type PodRequests struct {
	*reconcile.Env
	requests *informer.Informer
}

// NewPodCleaner makes the controller; Start starts it.
func NewPodCleaner(env *reconcile.Env) *PodRequests { return &PodRequests{Env: env} }

// Start waits for the first request and then begins to look.
func (c *PodRequests) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.PodCertificateRequests)
		c.requests = c.Informers.For(client.PodCertificateRequests)
		c.requests.WaitForSync(t)
		for {
			c.Linger(t)
			for _, obj := range c.requests.List() {
				c.Attempt(t, client.RefOf(obj), "a look at the request", func() { c.discard(t, obj.(*certificatesv1.PodCertificateRequest)) })
			}
			t.SetCauses()
			t.Sleep(cleanPodsEvery)
		}
	})
}

// discard deletes a request that is old (handle).
func (c *PodRequests) discard(t *sim.Task, r *certificatesv1.PodCertificateRequest) {
	age := t.Now().Sub(r.CreationTimestamp.Time)
	if age < oldPodRequest {
		return
	}
	t.SetCauses()
	c.Act(t, informer.KeyOf(r), client.RefOf(r), "delete", client.RefOf(r), nil, nil,
		fmt.Sprintf("the request is %s old, and the kubelet has its answer after %s or never: delete it", age.Truncate(time.Second), oldPodRequest))
	_ = c.Client.Delete(t, client.PodCertificateRequests, r.Namespace, r.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(r.UID))}) // else in five minutes
}
