package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster/serve"
	"kviz/raftstore/steady"
)

// open is an edge behind its listener, for programs outside.
func (e *edge) open(t *testing.T) (*serve.Listener, *rest.Config) {
	t.Helper()
	_ = e.kernel.Do(func() { e.kernel.SetDemand(false); e.kernel.SetSpeed(100) })
	l, err := e.h.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	admin, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return l, admin
}

// Who shows no credentials reads nothing, on any path that discovery names, with
// any method: neither a document, nor an object, nor whether there is one.
func TestNothingWithoutCredentials(t *testing.T) {
	e := newEdge(t)
	l, admin := e.open(t)
	c := kubernetes.NewForConfigOrDie(admin)
	root, err := c.RESTClient().Get().AbsPath("/").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Paths []string }
	if err := json.Unmarshal(root, &all); err != nil {
		t.Fatal(err)
	}
	lists, err := c.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	paths := append(all.Paths, "/", "/openapi/v3/apis/apps/v1", "/logs", "/debug/pprof/", "/api/v1/watch/secrets", "/api/v1/namespaces/kube-system/serviceaccounts/default/token")
	for _, list := range lists {
		prefix := "/apis/" + list.GroupVersion
		if list.GroupVersion == "v1" {
			prefix = "/api/v1"
		}
		for _, r := range list.APIResources {
			paths = append(paths, prefix+"/"+r.Name, prefix+"/"+r.Name+"/x")
			if r.Namespaced {
				paths = append(paths, prefix+"/namespaces/kube-system/"+r.Name, prefix+"/namespaces/kube-system/"+r.Name+"/x/status")
			}
		}
	}
	if len(paths) < 150 {
		t.Fatalf("discovery names only %d paths", len(paths))
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(admin.CAData)
	bare := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: steady.Patience(t)}
	defer bare.CloseIdleConnections()
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			if isOpen(path) {
				continue
			}
			r, err := http.NewRequestWithContext(t.Context(), method, l.URL+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := bare.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			switch resp.StatusCode {
			case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
			default:
				t.Errorf("%s %s without credentials: %d %.200s", method, path, resp.StatusCode, body)
			}
			var said metav1.Status
			if json.Unmarshal(body, &said) == nil && said.Details != nil && said.Reason == metav1.StatusReasonNotFound && said.Details.Name != "" {
				t.Errorf("%s %s without credentials tells that there is no %s: %s", method, path, said.Details.Name, body)
			}
		}
	}
}

// isOpen is what everybody may read: the version and the health.
func isOpen(path string) bool {
	for _, p := range []string{"/version", "/healthz", "/livez", "/readyz"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// The listener is on loopback, and no other address of the machine leads to it.
func TestLoopbackOnly(t *testing.T) {
	e := newEdge(t)
	l, _ := e.open(t)
	u, err := url.Parse(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		t.Errorf("it listens on %s", u.Host)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() || n.IP.IsLinkLocalUnicast() {
			continue
		}
		if c, err := net.DialTimeout("tcp", net.JoinHostPort(n.IP.String(), u.Port()), time.Second); err == nil {
			c.Close()
			t.Errorf("%s leads to it", n.IP)
		}
	}
}

// A pod's token is its service account, and that may do what a role says, there and
// nothing else; with its pod the token ends.
func TestPodTokenDoesWhatRBACSays(t *testing.T) {
	e := newEdge(t)
	_, admin := e.open(t)
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	defer cancel()
	c := kubernetes.NewForConfigOrDie(admin)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{}))
	must(c.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}))
	pod, err := c.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{ServiceAccountName: "robot", Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}, metav1.CreateOptions{})
	must(pod, err)
	made, err := c.CoreV1().ServiceAccounts("default").CreateToken(ctx, "robot", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "p", UID: pod.UID},
	}}, metav1.CreateOptions{})
	must(made, err)
	cfg := rest.AnonymousClientConfig(admin)
	cfg.BearerToken = made.Status.Token
	robot := kubernetes.NewForConfigOrDie(cfg)
	list := func(what string, do func() error, want func(error) bool) {
		t.Helper()
		if err := do(); !want(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	pods := func(namespace string) func() error {
		return func() error { _, err := robot.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{}); return err }
	}
	remove := func() error { return robot.CoreV1().Pods("default").Delete(ctx, "p", metav1.DeleteOptions{}) }
	secrets := func() error { _, err := robot.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); return err }
	fine := func(err error) bool { return err == nil }
	list("pods before there is a role", pods("default"), apierrors.IsForbidden)
	must(c.RbacV1().Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
	}}, metav1.CreateOptions{}))
	must(c.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reads"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot", Namespace: "default"}},
	}, metav1.CreateOptions{}))
	// The authorizer hears of a binding through its cache.
	steady.Until(t, "the robot lists pods", func() bool { return pods("default")() == nil })
	list("pods", pods("default"), fine)
	list("pods of another namespace", pods("other"), apierrors.IsForbidden)
	list("deletion of its pod", remove, apierrors.IsForbidden)
	list("secrets", secrets, apierrors.IsForbidden)
	zero := int64(0)
	must(nil, c.CoreV1().Pods("default").Delete(ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: &zero}))
	steady.Until(t, "the robot lists no more", func() bool { return pods("default")() != nil })
	list("pods after the pod's end", pods("default"), apierrors.IsUnauthorized)
}
