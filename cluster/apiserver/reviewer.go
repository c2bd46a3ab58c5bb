package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/webhook"
)

// reviewer is a server that the API server itself asks with a review: an
// authenticator, an authorizer, the backend of ImagePolicyWebhook. A kubeconfig says
// where it is (apiserver pkg/util/webhook GenericWebhook).
type reviewer struct {
	s       *Server
	address string
	timeout time.Duration // of one request
	pause   time.Duration // before the second try; longer before each further one
}

// Of requests to reviewers (pkg/util/webhook defaultRequestTimeout,
// DefaultRetryBackoffWithInitialDelay).
const (
	reviewTimeout = 30 * time.Second
	reviewPause   = 500 * time.Millisecond
	reviewTries   = 5
	reviewFactor  = 1.5
	reviewJitter  = 0.2
)

// readKubeconfig gives the server's address that a kubeconfig names
// (pkg/util/webhook LoadKubeconfig).
func readKubeconfig(file []byte) (address string, err error) {
	cfg, err := clientcmd.Load(file)
	if err != nil {
		return "", err
	}
	for _, c := range cfg.Clusters {
		if c.CertificateAuthority != "" {
			return "", fmt.Errorf("there is no file %s on the API server's machine", c.CertificateAuthority)
		}
	}
	for _, u := range cfg.AuthInfos {
		if u.ClientCertificate != "" || u.ClientKey != "" || u.TokenFile != "" || u.Exec != nil {
			return "", errors.New("there are no files and programs on the API server's machine that a user of a kubeconfig could name")
		}
	}
	rest, err := clientcmd.NewDefaultClientConfig(*cfg, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return "", err
	}
	u, err := url.Parse(rest.Host)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("the server %q is no https URL", rest.Host)
	}
	return rest.Host, nil
}

// kubeconfigAt reads a kubeconfig on the server's machine.
func (s *Server) kubeconfigAt(path string) (address string, err error) {
	file, err := s.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("stat %s: no such file or directory", path)
	}
	return readKubeconfig(file)
}

// ask posts a review and reads the answer into it, again if the server asks for
// patience or has an error of its own (pkg/util/webhook WithExponentialBackoff). It
// gives the event of the answer, zero if there was none.
func (r *reviewer) ask(t *sim.Task, review any) (answered trace.ID, err error) {
	body, err := json.Marshal(review)
	if err != nil {
		return trace.ID{}, fmt.Errorf("encoding a review: %w", err)
	}
	pause := r.pause
	for try := 1; ; try++ {
		var answer []byte
		answer, answered, err = r.post(t, body)
		if err == nil {
			err = json.Unmarshal(answer, review)
		}
		if try == reviewTries || !webhookutil.DefaultShouldRetry(err) {
			return answered, err
		}
		t.Sleep(pause + time.Duration(float64(pause)*reviewJitter*r.s.hooks.rand.Float64()))
		pause = time.Duration(float64(pause) * reviewFactor)
	}
}

func (r *reviewer) post(t *sim.Task, body []byte) (answer []byte, answered trace.ID, err error) {
	deadline := t.Elapsed() + r.timeout
	to, host, path, err := r.s.hooks.resolve(&registrationv1.WebhookClientConfig{URL: &r.address})
	var sent *remote.Call
	if err == nil {
		sent, err = to.send(t, r.s, path, body)
	}
	return hear(t, sent, err, deadline, host+path+"?timeout="+r.timeout.String())
}

// hear waits for the body of an HTTP answer, or says why there is none in the words
// of Go's HTTP client.
func hear(t *sim.Task, sent *remote.Call, refused error, deadline time.Duration, address string) (body []byte, answered trace.ID, err error) {
	if err = refused; err == nil {
		var code int
		body, code, err = sent.Wait(t, deadline)
		answered = sent.Answered()
		switch {
		case err != nil:
		case code != http.StatusOK:
			return nil, answered, apierrors.NewGenericServerResponse(code, http.MethodPost, schema.GroupResource{}, "", string(body), 0, true)
		case len(body) == 0:
			return nil, answered, fmt.Errorf("0-length response with status code: %d and content type: %s", code, "application/json")
		default:
			return body, answered, nil
		}
	}
	return nil, answered, &url.Error{Op: "Post", URL: address, Err: err}
}

// reviewFile is what a file on the server's machine holds that comes with the
// simulation: the kubeconfigs that lead to the simulated reviewers.
func reviewFile(name string) []byte {
	for _, v := range webhook.Reviewers() {
		if name == webhook.KubeconfigPath(v) {
			return webhook.Kubeconfig(v)
		}
	}
	return nil
}

// reviewFiles are the names of their files.
func reviewFiles() (names []string) {
	for _, v := range webhook.Reviewers() {
		names = append(names, webhook.KubeconfigPath(v))
	}
	return names
}

// answers are what a reviewer has said, until each is too old (apimachinery
// pkg/util/cache LRUExpireCache).
type answers[T any] struct {
	most int
	by   map[string]answered[T]
}

type answered[T any] struct {
	what  T
	until time.Duration // in virtual time
}

func newAnswers[T any](most int) *answers[T] {
	return &answers[T]{most: most, by: map[string]answered[T]{}}
}

func (a *answers[T]) get(key string, now time.Duration) (T, bool) {
	e, ok := a.by[key]
	if !ok || now >= e.until {
		delete(a.by, key)
		return *new(T), false
	}
	return e.what, true
}

// add keeps an answer. If there are too many, the one goes that ends first.
func (a *answers[T]) add(key string, what T, now, ttl time.Duration) {
	if ttl <= 0 {
		return
	}
	a.by[key] = answered[T]{what, now + ttl}
	if len(a.by) <= a.most {
		return
	}
	first := key
	for k, e := range a.by {
		if f := a.by[first]; e.until < f.until || e.until == f.until && k < first {
			first = k
		}
	}
	delete(a.by, first)
}
