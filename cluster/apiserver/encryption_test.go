package apiserver

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kms/pkg/service"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/client"
	"kviz/cluster/kms"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

func secret(name, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string][]byte{"password": []byte(value)}}
}

// encryptionOf is a file that encrypts Secrets with providers in an order:
// "aescbc a", "secretbox b", "kms", "identity".
func encryptionOf(order ...string) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n")
	for _, p := range order {
		switch kind, name, _ := strings.Cut(p, " "); kind {
		case "kms":
			b.WriteString("  - kms: {apiVersion: v2, name: vault, endpoint: 'unix:///run/kms.sock'}\n")
		case "identity":
			b.WriteString("  - identity: {}\n")
		default:
			key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(name, 32)[:32]))
			fmt.Fprintf(&b, "  - %s: {keys: [{name: %s, secret: %s}]}\n", kind, name, key)
		}
	}
	return []byte(b.String())
}

// configure writes the file and starts the server again.
func (w *world) configure(t *sim.Task, order ...string) {
	w.t.Helper()
	if len(order) == 0 {
		w.s.Encryption().Remove(t)
	} else if _, err := w.s.Encryption().Write(t, encryptionOf(order...)); err != nil {
		w.t.Error(err)
	}
	w.restart(t)
}

func (w *world) restart(t *sim.Task) {
	w.s.Process().Kill()
	w.s.Restart(w.k.NewProcess(trace.Lane{Component: trace.CompAPIServer}))
	w.s.WaitReady(t)
}

// bytes are what the store holds of a Secret.
func (w *world) bytes(t *sim.Task, name string) []byte {
	w.t.Helper()
	resp, err := w.st.Range(t, &pb.RangeRequest{Key: []byte("/registry/secrets/default/" + name)})
	if err != nil || len(resp.Kvs) != 1 {
		w.t.Errorf("%s is not there: %v", name, err)
		return nil
	}
	return resp.Kvs[0].Value
}

// begins checks how a stored value begins.
func (w *world) begins(t *sim.Task, name, prefix string) {
	w.t.Helper()
	if b := w.bytes(t, name); !strings.HasPrefix(string(b), prefix) {
		w.t.Errorf("%s is stored as %.40q; want it to begin with %q", name, b, prefix)
	}
}

// password reads a Secret.
func (w *world) password(t *sim.Task, name string) (string, error) {
	obj, err := w.admin().Get(t, client.Secrets, "default", name)
	if err != nil {
		return "", err
	}
	return string(obj.(*corev1.Secret).Data["password"]), nil
}

// The stages of requests for a Secret with encryption, in a transcript: created,
// read, changed, written again because its key is no longer the first.
func TestEncryptionGolden(t *testing.T) {
	var from int
	w := run(t, Config{}, func(w *world, task *sim.Task) {
		w.configure(task, "aescbc a", "identity")
		from = len(w.sink.events)
		_, err := w.admin().Create(task, client.Secrets, "default", secret("db", "swordfish"))
		w.must(err)
		_, err = w.password(task, "db")
		w.must(err)
		w.configure(task, "secretbox b", "aescbc a")
		obj, err := w.admin().Get(task, client.Secrets, "default", "db")
		w.must(err)
		for range 2 { // the second time there is nothing to do
			_, err = w.admin().Update(task, client.Secrets, "default", obj, "")
			w.must(err)
			obj, err = w.admin().Get(task, client.Secrets, "default", "db")
			w.must(err)
		}
		w.configure(task, "secretbox b")
		w.configure(task, "aescbc c")
		_, err = w.password(task, "db")
		if err == nil || err.Error() != "Internal error occurred: no matching prefix found" {
			t.Errorf("without its key it is read with %v", err)
		}
	})
	golden(t, "encryption", transcript(w.sink.events[from:]))
}

// Whatever the order of rotation, what was written is read, an update that
// changes nothing writes exactly what is not encrypted with the first key, and a
// second one nothing.
func TestRotationRewritesWhatIsStale(t *testing.T) {
	const n = 5
	plugin := func(k *sim.Kernel) *kms.Plugin {
		g := kms.New(k)
		g.Start(k.NewProcess(trace.Lane{Component: trace.CompKMS}))
		return g
	}
	var g *kms.Plugin
	dial := func(path string, d time.Duration) service.Service { return g.Dial(path, d) }
	run(t, Config{KMS: dial}, func(w *world, task *sim.Task) {
		g = plugin(w.k)
		for i := range n {
			_, err := w.admin().Create(task, client.Secrets, "default", secret(fmt.Sprint("s", i), fmt.Sprint("word", i)))
			w.must(err)
		}
		rewrite := func() (commits int) {
			from := len(w.sink.events)
			for i := range n {
				obj, err := w.admin().Get(task, client.Secrets, "default", fmt.Sprint("s", i))
				w.must(err)
				if err == nil {
					_, err = w.admin().Update(task, client.Secrets, "default", obj, "")
					w.must(err)
				}
			}
			for _, e := range w.sink.events[from:] {
				if _, ok := e.Payload.(*trace.Commit); ok {
					commits++
				}
			}
			return commits
		}
		for _, step := range []struct {
			order   []string
			commits int
			prefix  string
		}{
			{[]string{"identity"}, 0, "k8s\x00"},
			{[]string{"identity", "aescbc a"}, 0, "k8s\x00"},
			{[]string{"aescbc a", "identity"}, n, "k8s:enc:aescbc:v1:a:"},
			{[]string{"aescbc a", "aescbc b"}, 0, "k8s:enc:aescbc:v1:a:"},
			{[]string{"aescbc b", "aescbc a"}, n, "k8s:enc:aescbc:v1:b:"},
			{[]string{"secretbox c", "aescbc b"}, n, "k8s:enc:secretbox:v1:c:"},
			{[]string{"aesgcm d", "secretbox c"}, n, "k8s:enc:aesgcm:v1:d:"},
			{[]string{"kms", "aesgcm d"}, n, "k8s:enc:kms:v2:vault:"},
			{[]string{"kms"}, 0, "k8s:enc:kms:v2:vault:"},
			{[]string{"identity", "kms"}, n, "k8s\x00"},
			{nil, 0, "k8s\x00"},
		} {
			w.configure(task, step.order...)
			if got := rewrite(); got != step.commits {
				t.Errorf("%v: %d Secrets were written again; want %d", step.order, got, step.commits)
			}
			if got := rewrite(); got != 0 {
				t.Errorf("%v: and then %d again", step.order, got)
			}
			for i := range n {
				w.begins(task, fmt.Sprint("s", i), step.prefix)
				if got, err := w.password(task, fmt.Sprint("s", i)); err != nil || got != fmt.Sprint("word", i) {
					t.Errorf("%v: s%d is %q, error %v", step.order, i, got, err)
				}
			}
		}
	})
}

// A value that somebody spoiled in the store: it is refused, lists and watches
// of its kind too, others are still read; and when it is gone all is well.
func TestOneSpoiledValue(t *testing.T) {
	const key = "/registry/secrets/default/spoiled"
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.configure(task, "aesgcm a")
		for _, name := range []string{"good", "spoiled"} {
			_, err := w.admin().Create(task, client.Secrets, "default", secret(name, "word"))
			w.must(err)
		}
		seen, err := w.admin().Watch(task, client.Secrets, "default", metav1.ListOptions{})
		w.must(err)
		good := w.bytes(task, "spoiled")
		bad := append([]byte{}, good...)
		bad[len(bad)-1] ^= 1
		put := func(value []byte) {
			_, _, err := w.st.Txn(task, &pb.TxnRequest{Success: []*pb.RequestOp{storage.Put(key, value)}})
			w.must(err)
			task.Sleep(3 * time.Second)
		}
		put(bad)
		for {
			if _, ok := seen.Recv(task); !ok {
				break // the watch was ended
			}
		}
		want := func(what string, err error, words string) {
			t.Helper()
			if err == nil || err.Error() != words {
				t.Errorf("%s: %v; want %q", what, err, words)
			}
		}
		const why = `unable to transform key "` + key + `": cipher: message authentication failed`
		_, err = w.password(task, "spoiled")
		want("get", err, "Internal error occurred: cipher: message authentication failed")
		_, err = w.password(task, "good")
		w.must(err)
		_, _, err = w.admin().List(task, client.Secrets, "default", metav1.ListOptions{Limit: 500})
		want("list as kubectl does", err, "Internal error occurred: "+why)
		_, _, err = w.admin().List(task, client.Secrets, "default", metav1.ListOptions{})
		want("list as controllers do", err, "storage is (re)initializing: failed to list <unspecified>: "+why)
		_, err = w.admin().Watch(task, client.Secrets, "default", metav1.ListOptions{})
		want("watch", err, "storage is (re)initializing: failed to list <unspecified>: "+why)
		w.restart(task)
		_, err = w.password(task, "spoiled")
		want("get after a restart", err, "Internal error occurred: cipher: message authentication failed")
		put(good)
		if got, err := w.password(task, "spoiled"); err != nil || got != "word" {
			t.Errorf("mended: %q, %v", got, err)
		}
		items, _, err := w.admin().List(task, client.Secrets, "", metav1.ListOptions{})
		w.must(err)
		if len(items) != 2 {
			t.Errorf("mended: %d Secrets", len(items))
		}
	})
}

// The only value of a kind is spoiled, and then deleted past the API server: its
// watch cache is well again, and whoever looks at the trace sees that.
func TestTheOnlyValueIsSpoiledAndGoes(t *testing.T) {
	const key = "/registry/secrets/default/spoiled"
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.configure(task, "aesgcm a")
		_, err := w.admin().Create(task, client.Secrets, "default", secret("spoiled", "word"))
		w.must(err)
		locked := func() string {
			b := view.NewBuilder()
			for _, e := range w.sink.events {
				b.Apply(e)
			}
			c := b.Mark().WatchCache("secrets")
			if c == nil {
				t.Error("the watch cache of Secrets is not seen")
				return ""
			}
			return c.Locked
		}
		do := func(op *pb.RequestOp) {
			_, _, err := w.st.Txn(task, &pb.TxnRequest{Success: []*pb.RequestOp{op}})
			w.must(err)
			task.Sleep(3 * time.Second)
		}
		do(storage.Put(key, []byte("k8s:enc:aesgcm:v1:a:nonsense")))
		if locked() == "" {
			t.Error("it is not seen that a value cannot be decrypted")
		}
		do(&pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)}}})
		_, _, err = w.admin().List(task, client.Secrets, "", metav1.ListOptions{})
		w.must(err)
		if why := locked(); why != "" {
			t.Errorf("the value is gone, and it still says %q", why)
		}
		told := false
		for _, e := range w.sink.events {
			p, ok := e.Payload.(*trace.Decryption)
			told = told || ok && p.Resource == "secrets" && p.Values == 0 && p.Error == ""
		}
		if !told {
			t.Error("nothing tells that the cache can be filled again")
		}
	})
}

// With automatic reload a file is taken up within a minute, without a restart; a
// file whose KMS plugin is down is not, until it is up.
func TestAutomaticReload(t *testing.T) {
	k := (*kms.Plugin)(nil)
	run(t, Config{KMS: func(path string, d time.Duration) service.Service { return k.Dial(path, d) }}, func(w *world, task *sim.Task) {
		k = kms.New(w.k)
		w.s.Encryption().Reload(true)
		w.configure(task, "aescbc a", "identity")
		write := func(name, prefix string) {
			t.Helper()
			_, err := w.admin().Create(task, client.Secrets, "default", secret(name, "word"))
			w.must(err)
			w.begins(task, name, prefix)
		}
		write("first", "k8s:enc:aescbc:v1:a:")
		b := view.NewBuilder()
		for _, e := range w.sink.events {
			b.Apply(e)
		}
		if n := b.Mark().Encryption; n.Loaded == nil || !n.Loaded.Reload {
			t.Errorf("it is not seen that the file is looked at: %+v", n.Loaded)
		}
		_, err := w.s.Encryption().Write(task, encryptionOf("secretbox b", "aescbc a"))
		w.must(err)
		write("second", "k8s:enc:aescbc:v1:a:")
		task.Sleep(time.Minute)
		write("third", "k8s:enc:secretbox:v1:b:")
		// An update that changes nothing finds out that its cached state is stale.
		obj, err := w.admin().Get(task, client.Secrets, "default", "first")
		w.must(err)
		_, err = w.admin().Update(task, client.Secrets, "default", obj, "")
		w.must(err)
		w.begins(task, "first", "k8s:enc:secretbox:v1:b:")

		_, err = w.s.Encryption().Write(task, encryptionOf("kms", "secretbox b", "aescbc a"))
		w.must(err)
		task.Sleep(2 * time.Minute)
		write("fourth", "k8s:enc:secretbox:v1:b:")
		k.Start(w.k.NewProcess(trace.Lane{Component: trace.CompKMS}))
		task.Sleep(time.Minute)
		write("fifth", "k8s:enc:kms:v2:vault:")
		if exists, well := w.s.Encryption().PluginHealth(); !exists || !well {
			t.Errorf("the plugin's health: %v, %v", exists, well)
		}
	})
}

// A server that finds its configuration when it starts for the first time encrypts
// what it fills a new cluster with, also where the plugin it asks starts later.
func TestANewClusterIsEncrypted(t *testing.T) {
	for _, provider := range []string{"aesgcm a", "kms"} {
		file := []byte(strings.Replace(string(encryptionOf(provider)), "[secrets]", "['*.*']", 1))
		var g *kms.Plugin
		dial := func(path string, d time.Duration) service.Service { return g.Dial(path, d) }
		begin := func(s *Server) {
			s.Encryption().Place(file)
			g = kms.New(s.k)
			s.k.After(2*time.Second, func() { g.Start(s.k.NewProcess(trace.Lane{Component: trace.CompKMS})) })
		}
		runFrom(t, Config{KMS: dial}, begin, func(w *world, task *sim.Task) {
			resp, err := w.st.Range(task, &pb.RangeRequest{Key: []byte("/registry/"), RangeEnd: cacher.PrefixEnd("/registry/")})
			w.must(err)
			for _, kv := range resp.Kvs {
				if !trace.Encrypted(kv.Value) {
					t.Errorf("%s: %s is stored as %.20q", provider, kv.Key, kv.Value)
				}
			}
			if len(resp.Kvs) < 50 {
				t.Errorf("%s: only %d keys", provider, len(resp.Kvs))
			}
			_, _, err = w.admin().List(task, client.Namespaces, "", metav1.ListOptions{})
			w.must(err)
		})
	}
}

// A configuration for everything encrypts what is written since, whatever its kind,
// and the same seed gives the same bytes.
func TestEverythingEncryptedAndRepeatable(t *testing.T) {
	file := []byte(strings.Replace(string(encryptionOf("aesgcm a", "identity")), "[secrets]", "['*.*']", 1))
	var first string
	for range 2 {
		var all strings.Builder
		run(t, Config{}, func(w *world, task *sim.Task) {
			_, err := w.s.Encryption().Write(task, file)
			w.must(err)
			w.restart(task)
			_, err = w.admin().Create(task, client.ConfigMaps, "default", configMap("a", "k", "v"))
			w.must(err)
			_, err = w.admin().Create(task, client.Secrets, "default", secret("a", "word"))
			w.must(err)
			w.restart(task)
			for _, r := range []client.Resource{client.ConfigMaps, client.Secrets, client.Namespaces} {
				_, _, err := w.admin().List(task, r, "", metav1.ListOptions{})
				w.must(err)
			}
			resp, err := w.st.Range(task, &pb.RangeRequest{Key: []byte("/registry/"), RangeEnd: cacher.PrefixEnd("/registry/")})
			w.must(err)
			for _, kv := range resp.Kvs {
				fmt.Fprintf(&all, "%s %q\n", kv.Key, kv.Value)
			}
		})
		if first == "" {
			first = all.String()
		} else if first != all.String() {
			t.Error("the second run has stored other bytes")
		}
	}
	if n := strings.Count(first, "k8s:enc:aesgcm:v1:a:"); n != 2 {
		t.Errorf("%d values are encrypted; want the two written since", n)
	}
}
