package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/secrets"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// planting is a cluster in which secrets are typed and stored, and each that was.
type planting struct {
	t       *testing.T
	c       *cluster.Cluster
	dir     string
	planted map[string]string // by how it came in
}

func (p *planting) do(line string) string {
	p.t.Helper()
	var out bytes.Buffer
	p.c.Exec(p.t.Context(), line, control.Streams{Out: &out, Err: &out, In: strings.NewReader("")})
	return out.String()
}

// must is do for what has to succeed.
func (p *planting) must(line, says string) string {
	p.t.Helper()
	out := p.do(line)
	if !strings.Contains(out, says) {
		p.t.Fatalf("%s: %s", line, out)
	}
	return out
}

func (p *planting) file(name, content string) string {
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *planting) plant(how, secret string) string {
	p.planted[how] = secret
	return secret
}

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// atTheConsole types secrets in the ways that kubectl and etcdctl have.
func (p *planting) atTheConsole() {
	p.must("kubectl create secret generic literal --from-literal=a="+p.plant("a literal", "planted-literal-1")+" --from-literal 'b="+p.plant("a literal apart", "planted, and quoted 2")+"'", "created")
	p.must("kubectl create secret docker-registry reg --docker-server=r.example --docker-username=me --docker-password="+p.plant("a registry's password", "planted-docker-3"), "created")
	cert, pair := selfSigned(p.t)
	p.plant("a key", strings.Split(pair, "\n")[1])
	p.must("kubectl create secret tls pair --cert="+p.file("tls.crt", cert)+" --key="+p.file("tls.key", pair), "created")
	p.must("kubectl apply -f "+p.file("applied.yaml", `apiVersion: v1
kind: Secret
metadata: {name: applied}
data: {a: `+encoded(p.plant("data in a file", "planted-data-4"))+`}
stringData: {b: 'planted "string" 5', c: "planted-line-6\nplanted-line-7\n"}
`), "created")
	p.plant("stringData in a file", `"string" 5`)
	p.plant("a second line", "planted-line-7")
	p.must("kubectl apply -f "+p.file("applied.yaml", `apiVersion: v1
kind: Secret
metadata: {name: applied}
data: {a: `+encoded(p.plant("data applied again", "planted-again-8"))+`}
`), "configured")
	p.must("kubectl apply --server-side -f "+p.file("side.yaml", `apiVersion: v1
kind: Secret
metadata: {name: side}
stringData: {a: `+p.plant("server-side apply", "planted-side-9")+`}
`), "applied")
	p.must(`kubectl patch secret literal -p '{"data":{"p":"`+encoded(p.plant("a patch", "planted-patch-10"))+`"}}'`, "patched")
	p.must(`kubectl patch secrets/literal --type=json -p '[{"op":"add","path":"/data/j","value":"`+encoded(p.plant("a JSON patch", "planted-json-11"))+`"}]'`, "patched")
	p.must(`kubectl patch secret literal --type merge --patch '{"stringData":{"s":"`+p.plant("a patch of stringData", "planted-merge-12")+`"}}'`, "patched")
	p.must("kubectl create secret generic pin --from-literal=pin="+p.plant("a short one", "q7#Z"), "created")
	p.must("kubectl get secret literal -o yaml", encoded("planted-literal-1"))
	p.must(`kubectl get secret literal -o jsonpath='{.data.a}' | base64 -d`, "planted-literal-1")
	token := strings.TrimSpace(p.must("kubectl create token default", "eyJ"))
	p.plant("a token", token)
	p.must("kubectl auth whoami --token="+token, "system:serviceaccount:default:default")
	p.do("kubectl get pods --token " + p.plant("a wrong token", "planted-wrong-token-13"))
	p.must("kubectl apply -f "+p.file("bootstrap.yaml", `apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-abcdef, namespace: kube-system}
type: bootstrap.kubernetes.io/token
stringData: {token-id: abcdef, token-secret: `+p.plant("a bootstrap token", "planted0boot0014")+`, usage-bootstrap-authentication: "true"}
`), "created")
	p.must("kubectl auth whoami --token=abcdef.planted0boot0014", "system:bootstrap:abcdef")
	p.do("etcdctl put /registry/secrets/default/past " + p.plant("a write past the API server", "planted-etcd-15"))
	p.do("etcdctl del /registry/secrets/default/past")
	p.must("kubectl --as=system:admin --as-group=system:masters create secret generic other --type=kubernetes.io/basic-auth --from-literal=password="+p.plant("basic auth, as somebody else", "planted-basic-16"), "created")
}

// overHTTPS is a program in Go, and one that sends what it likes.
func (p *planting) overHTTPS() {
	t := p.t
	l, err := p.c.Listen(0, filepath.Join(p.dir, "kubeconfig"))
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	defer l.Close()
	cfg, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	check(err)
	for format, contentType := range map[string]string{"JSON": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"} {
		cfg.ContentType = contentType
		c := kubernetes.NewForConfigOrDie(cfg)
		of, name := c.CoreV1().Secrets("default"), "made-"+strings.ToLower(format)
		s, err := of.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Data:       map[string][]byte{"a": []byte(p.plant("created as "+format, "planted-made-17-"+format))},
			StringData: map[string]string{"b": p.plant("text as "+format, "planted-text-18-"+format)},
		}, metav1.CreateOptions{})
		check(err)
		s.Data["a"] = []byte(p.plant("edited as "+format, "planted-edit-19-"+format))
		_, err = of.Update(t.Context(), s, metav1.UpdateOptions{})
		check(err)
		_, err = of.Patch(t.Context(), name, types.StrategicMergePatchType, []byte(`{"data":{"c":"`+encoded(p.plant("patched as "+format, "planted-strategic-20-"+format))+`"}}`), metav1.PatchOptions{})
		check(err)
		made, err := c.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		check(err)
		token := p.plant("a token over HTTPS as "+format, made.Status.Token)
		review, err := c.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		check(err)
		if !review.Status.Authenticated {
			t.Errorf("the token is nobody's: %+v", review.Status)
		}
		as := *cfg
		as.BearerToken = token
		_, err = kubernetes.NewForConfigOrDie(&as).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		check(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cfg.CAData)
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer hc.CloseIdleConnections()
	for contentType, body := range map[string]string{
		"application/yaml": "kind: Secret\napiVersion: v1\nmetadata: {name: raw}\nstringData:\n  a: >-\n    planted-folded-21\n    " + p.plant("a folded line of YAML", "planted-folded-22") + "\n",
		"application/json": `{"kind":"Secret","stringData":{"a":"` + p.plant("a broken body", "planted-broken-23"),
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.URL+"/api/v1/namespaces/default/secrets", strings.NewReader(body))
		check(err)
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Authorization", "Bearer "+cfg.BearerToken)
		resp, err := hc.Do(req)
		check(err)
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if good := contentType == "application/yaml"; good != (resp.StatusCode == http.StatusCreated) {
			t.Errorf("%s: %d %s", contentType, resp.StatusCode, said)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL+"/api/v1/namespaces", nil)
	check(err)
	req.SetBasicAuth("me", p.plant("basic auth in a header", "planted-header-24"))
	resp, err := hc.Do(req)
	check(err)
	resp.Body.Close()
}

func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// unpacked is all that a recording holds, as bytes.
func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer zip.Close()
	at := 14 + int(binary.LittleEndian.Uint32(b[10:]))
	out := slices.Clone(b[:at])
	for at+12 <= len(b) {
		n := int(binary.LittleEndian.Uint32(b[at:]))
		at += 12
		if n == 0 {
			break
		}
		if out, err = zip.DecodeAll(b[at:at+n], out); err != nil {
			t.Fatal(err)
		}
		at += n
	}
	return out
}

var inBase64 = regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}`)

// readable calls found with all that somebody could read in some bytes: these, and what is in base64
// in them, in it and so on.
func readable(b []byte, deep int, found func([]byte)) {
	found(b)
	if deep == 0 {
		return
	}
	for _, run := range inBase64.FindAll(b, -1) {
		for skip := range min(4, len(run)) { // it may begin before
			for _, of := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				part := run[skip:]
				for cut := 0; cut < 2 && len(part) > cut; cut++ {
					if in, err := of.DecodeString(string(part[:len(part)-cut])); err == nil && len(in) > 3 {
						if skip == 0 {
							readable(in, deep-1, found)
						} else {
							found(in)
						}
						break
					}
				}
			}
		}
	}
}

// foundIn says which secrets are in some bytes.
func foundIn(b []byte, planted map[string]string) map[string]bool {
	in := map[string]bool{}
	readable(b, 3, func(part []byte) {
		for how, secret := range planted {
			quoted, _ := json.Marshal(secret)
			if bytes.Contains(part, []byte(secret)) || bytes.Contains(part, quoted[1:len(quoted)-1]) {
				in[how] = true
			}
		}
	})
	return in
}

// apart says where the payloads of two events differ.
func apart(a, b *trace.Event) string {
	x, _ := json.Marshal(a.Payload)
	y, _ := json.Marshal(b.Payload)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("%.300s\n%.300s", x[max(0, i-80):], y[max(0, i-80):])
		}
	}
	return fmt.Sprintf("%.300s\n%.300s", x, y)
}

// A recording holds no Secret's data, however it came into the cluster and wherever the trace shows it; a
// recording that hides nothing does. It can be run again to its end all the same, and every event on the
// way is what it was; a run in memory can too. What memory has let go is read back whole from the
// recording by the process that wrote it.
func TestARecordingHoldsNoSecrets(t *testing.T) {
	steady.RealTime(t, "requests come over HTTPS")
	c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 7, Bare: true, Demand: true, Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := &planting{t: t, c: c, dir: t.TempDir(), planted: map[string]string{}}
	path := filepath.Join(p.dir, "run.kvrun")
	file, err := createRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	stop, err := record(c, file, trace.Header{Seed: 7, Store: "mvcc"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.atTheConsole()
	p.overHTTPS()
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	memory, _, lost := c.Trace().Read(0, 1<<20)
	if err := stop(); err != nil || lost > 0 {
		t.Fatal(err, lost)
	}
	if len(p.planted) < 20 {
		t.Fatalf("only %d secrets were planted", len(p.planted))
	}
	bare := filepath.Join(p.dir, "bare.kvrun")
	all, err := createRecording(bare)
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewRecorder(all, trace.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range memory {
		r.Append(e)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	all.Close()
	in := foundIn(unpacked(t, bare), p.planted)
	for _, how := range slices.Sorted(maps.Keys(p.planted)) {
		if !in[how] && how != "basic auth in a header" { // that is in no trace
			t.Errorf("the trace does not have %s at all: the test would not find it", how)
		}
	}
	for how := range foundIn(unpacked(t, path), p.planted) {
		t.Errorf("the recording holds %s: %.40q", how, p.planted[how])
	}
	_, events, err := trace.ReadAll(path)
	if err != nil || len(events) < len(memory) {
		t.Fatalf("%d events of %d: %v", len(events), len(memory), err)
	}
	hide := secrets.New()
	var hidden []*trace.Event
	for _, e := range memory {
		hidden = append(hidden, hide.Hide(e))
	}
	for i, e := range memory {
		if same, err := trace.Same(e, hide.Restore(hidden[i])); !e.Outside() && (err != nil || !same) {
			t.Errorf("event #%s %s does not come back as it was (%v):\n%s", e.ID, e.Kind, err, apart(e, hide.Restore(hidden[i])))
		}
	}
	last := memory[len(memory)-1].ID
	for name, past := range map[string][]*trace.Event{"from the recording": events, "from memory": memory} {
		fork, err := cluster.Fork(context.WithoutCancel(t.Context()), past, cluster.ForkConfig{At: trace.ID{Seq: last.Seq}, Demand: true})
		if err != nil {
			if d := (*cluster.DifferError)(nil); errors.As(err, &d) && d.Is != nil {
				t.Errorf("what differs: %s", apart(d.Was, d.Is))
			}
			t.Errorf("forked %s: %v", name, err)
			continue
		}
		var out bytes.Buffer
		if err := fork.Resume(); err != nil {
			t.Error(err)
		}
		fork.Exec(t.Context(), "kubectl get secret literal -o jsonpath='{.data.a}' | base64 -d", control.Streams{Out: &out, Err: &out})
		if got, was := out.String(), p.planted["a literal"]; len(got) != len(was) || (got == was) != (name == "from memory") {
			t.Errorf("forked %s the Secret holds %q", name, got)
		}
		if err := fork.Close(); err != nil {
			t.Error(err)
		}
	}
}
