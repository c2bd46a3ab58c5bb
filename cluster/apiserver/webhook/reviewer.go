package webhook

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	simulated "kviz/cluster/webhook"
)

// Reviewer is a server that the API server itself asks with a review: an
// authenticator, an authorizer, the backend of ImagePolicyWebhook. A kubeconfig says
// where it is (apiserver pkg/util/webhook GenericWebhook).
type Reviewer struct {
	Client  *Client
	Codec   runtime.Codec // of the reviews
	Address string
	Timeout time.Duration // of one request
	Pause   time.Duration // before the second try; longer before each further one
}

// Of requests to reviewers (pkg/util/webhook defaultRequestTimeout,
// DefaultRetryBackoffWithInitialDelay; client-go's maxRetries of one request, where
// the server says when to come again).
const (
	ReviewTimeout = 30 * time.Second
	ReviewPause   = 500 * time.Millisecond
	reviewTries   = 5
	reviewFactor  = 1.5
	reviewJitter  = 0.2
	reviewRepeats = 10
)

// ReadKubeconfig gives the server's address that a kubeconfig names
// (pkg/util/webhook LoadKubeconfig).
func ReadKubeconfig(file []byte) (address string, err error) {
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

// Ask posts a review and reads the answer, which is of the kind of into, again if the
// server asks to be asked later or has an error of its own, until a moment of virtual time
// (pkg/util/webhook WithExponentialBackoff). It gives the event of the newest answer,
// zero if there was none.
func (r *Reviewer) Ask(t *sim.Task, review, into runtime.Object, until time.Duration) (result runtime.Object, answered trace.ID, err error) {
	body, err := runtime.Encode(r.Codec, review)
	if err != nil {
		return nil, trace.ID{}, err
	}
	pause := r.Pause
	for try := 1; ; try++ {
		var a reply
		a, err = r.post(t, body, until)
		if !a.event.IsZero() {
			answered = a.event
		}
		if err == nil {
			result = into.DeepCopyObject()
			err = a.into(r.Codec, result)
		}
		if try == reviewTries || !webhookutil.DefaultShouldRetry(err) {
			return result, answered, err
		}
		wait := pause + time.Duration(float64(pause)*reviewJitter*r.Client.rand.Float64())
		if t.Elapsed()+wait >= until {
			t.Sleep(until - t.Elapsed())
			return result, answered, err
		}
		t.Sleep(wait)
		pause = time.Duration(float64(pause) * reviewFactor)
	}
}

// post sends a review, and again where the server is too busy and says when to come
// again, all within the time of one request (client-go rest.Request, withRetry).
func (r *Reviewer) post(t *sim.Task, body []byte, until time.Duration) (reply, error) {
	deadline := min(t.Elapsed()+r.Timeout, until)
	to, host, path, unknown := r.Client.resolve(&registrationv1.WebhookClientConfig{URL: &r.Address})
	address := host + path + "?timeout=" + r.Timeout.String()
	for try := 0; ; try++ {
		var sent *remote.Call
		err := unknown
		if err == nil {
			sent, err = r.Client.send(t, to, path, body)
		}
		a, err := hear(t, sent, err, deadline, address)
		wait, again := a.retryAfter()
		if err != nil || !again || try == reviewRepeats || a.code != http.StatusTooManyRequests && a.code < http.StatusInternalServerError {
			return a, err
		}
		if left := deadline - t.Elapsed(); wait >= left {
			t.Sleep(left)
			return a, &url.Error{Op: "Post", URL: address, Err: context.DeadlineExceeded}
		}
		t.Sleep(wait)
	}
}

// reply is an HTTP answer.
type reply struct {
	code   int
	header http.Header
	body   []byte
	event  trace.ID // that tells of it; zero if there was none
}

// hear waits for an HTTP answer, or says why there is none in the words of Go's HTTP
// client.
func hear(t *sim.Task, sent *remote.Call, refused error, deadline time.Duration, address string) (a reply, err error) {
	if err = refused; err == nil {
		a.body, a.code, err = sent.Wait(t, deadline)
		a.header, a.event = sent.Header(), sent.Answered()
	}
	if err != nil {
		err = &url.Error{Op: "Post", URL: address, Err: err}
	}
	return a, err
}

// retryAfter is when the server says to come again.
func (a *reply) retryAfter() (wait time.Duration, ok bool) {
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, err == nil
}

// mostText is how much of an answer that is text is told (client-go rest
// maxUnstructuredResponseTextBytes).
const mostText = 2048

// into reads the answer into an object, or says what is wrong with it: it is no
// success, which a Status in it may explain, or no such object (client-go rest
// Request.transformResponse, Result.Into).
func (a *reply) into(codec runtime.Codec, obj runtime.Object) error {
	kind := a.header.Get("Content-Type")
	media, text := kind, kind == ""
	if !text {
		var err error
		if media, _, err = mime.ParseMediaType(kind); err != nil {
			return apierrors.NewInternalError(err)
		}
		text = strings.HasPrefix(media, "text/")
	}
	if a.code < http.StatusOK || a.code > http.StatusPartialContent {
		said := "unknown"
		if text {
			said = strings.TrimSpace(string(a.body[:min(len(a.body), mostText)]))
		}
		wait, _ := a.retryAfter()
		err := apierrors.NewGenericServerResponse(a.code, http.MethodPost, schema.GroupResource{}, "", said, int(wait/time.Second), true)
		out, _, bad := codec.Decode(a.body, &schema.GroupVersionKind{Version: "v1"}, nil)
		if st, ok := out.(*metav1.Status); bad == nil && ok && st.Status == metav1.StatusFailure {
			return apierrors.FromObject(st)
		}
		return err
	}
	if len(a.body) == 0 {
		if kind == "" {
			kind = runtime.ContentTypeJSON
		}
		return fmt.Errorf("0-length response with status code: %d and content type: %s", a.code, kind)
	}
	out, _, err := codec.Decode(a.body, nil, obj)
	if st, ok := out.(*metav1.Status); err == nil && ok && st.Status != metav1.StatusSuccess {
		return apierrors.FromObject(st)
	}
	return err
}

// File is what a file on the server's machine holds that comes with the
// simulation: the kubeconfigs that lead to the simulated reviewers.
func File(name string) []byte {
	for _, v := range simulated.Reviewers() {
		if name == simulated.KubeconfigPath(v) {
			return simulated.Kubeconfig(v)
		}
	}
	return nil
}

// Files are the names of their files.
func Files() (names []string) {
	for _, v := range simulated.Reviewers() {
		names = append(names, simulated.KubeconfigPath(v))
	}
	return names
}
