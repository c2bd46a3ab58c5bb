package encrypt_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	kmsv2 "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	"k8s.io/kms/pkg/service"
	"pgregory.net/rapid"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/kms"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

var secrets = schema.GroupResource{Resource: "secrets"}

// key is the n-th of some keys, as the file has it.
func key(n, size int) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(n)}, size))
}

// the providers that a file can have, by a short name.
var provider = map[string]string{
	"cbc1":      "aescbc: {keys: [{name: key1, secret: " + key(1, 32) + "}]}",
	"cbc2":      "aescbc: {keys: [{name: key2, secret: " + key(2, 16) + "}]}",
	"cbc21":     "aescbc: {keys: [{name: key2, secret: " + key(2, 16) + "}, {name: key1, secret: " + key(1, 32) + "}]}",
	"gcm1":      "aesgcm: {keys: [{name: key1, secret: " + key(3, 24) + "}]}",
	"gcm2":      "aesgcm: {keys: [{name: key2, secret: " + key(4, 32) + "}]}",
	"secretbox": "secretbox: {keys: [{name: a, secret: " + key(5, 32) + "}, {name: b, secret: " + key(6, 32) + "}]}",
	"kms":       "kms: {apiVersion: v2, name: vault, endpoint: 'unix:///run/vault.sock', timeout: 3s}",
	"identity":  "identity: {}",
}

// file is a configuration for Secrets with providers in an order.
func file(names ...string) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n")
	for _, n := range names {
		b.WriteString("  - " + provider[n] + "\n")
	}
	return []byte(b.String())
}

// vault is a KMS plugin that answers at once, for upstream's code and ours.
type vault struct{ n byte }

func (v *vault) Status(context.Context) (*service.StatusResponse, error) {
	return &service.StatusResponse{Version: "v2", Healthz: "ok", KeyID: v.id()}, nil
}

func (v *vault) id() string { return fmt.Sprintf("kek-%d", v.n) }

func (v *vault) Encrypt(_ context.Context, _ string, plain []byte) (*service.EncryptResponse, error) {
	out := []byte{v.n}
	for _, b := range plain {
		out = append(out, b^(v.n+0x5a))
	}
	return &service.EncryptResponse{Ciphertext: out, KeyID: v.id(), Annotations: map[string][]byte{"a.kms.dev": {1}, "b.kms.dev": {2}}}, nil
}

func (v *vault) Decrypt(_ context.Context, _ string, req *service.DecryptRequest) ([]byte, error) {
	if len(req.Ciphertext) == 0 || req.KeyID != fmt.Sprintf("kek-%d", req.Ciphertext[0]) {
		return nil, errors.New("no such key")
	}
	var out []byte
	for _, b := range req.Ciphertext[1:] {
		out = append(out, b^(req.Ciphertext[0]+0x5a))
	}
	return out, nil
}

// ours builds a configuration as the API server does.
func ours(t testing.TB, task *sim.Task, v *vault, data []byte) *encrypt.Set {
	t.Helper()
	cfg, err := encrypt.Parse(data, false)
	if err != nil {
		t.Fatal(err)
	}
	set, err := cfg.Build(encrypt.Env{Rand: rand.New(rand.NewPCG(1, 2)), Dial: func(string, time.Duration) service.Service { return v }})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set.Probes() {
		if err := p.Check(task); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// theirs has upstream's kube-apiserver code load the same file.
func theirs(t testing.TB, v *vault, data []byte) value.Transformer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "enc.yaml")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	real := encryptionconfig.EnvelopeKMSv2ServiceFactory
	encryptionconfig.EnvelopeKMSv2ServiceFactory = func(context.Context, string, string, time.Duration) (service.Service, error) { return v, nil }
	defer func() { encryptionconfig.EnvelopeKMSv2ServiceFactory = real }()
	cfg, err := encryptionconfig.LoadEncryptionConfig(t.Context(), path, false, "test")
	if err != nil {
		t.Fatal(err)
	}
	return encryptionconfig.StaticTransformers(cfg.Transformers).TransformerForResource(secrets)
}

// inTask runs fn as a task of a simulation.
func inTask(t testing.TB, fn func(*sim.Task)) {
	t.Helper()
	k := sim.New(sim.Config{Seed: 3})
	k.NewProcess(trace.Lane{Component: trace.CompAPIServer}).Go("test", func(task *sim.Task) {
		defer k.Stop()
		fn(task)
	})
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

const at = "/registry/secrets/default/a"

// What we write, upstream's kube-apiserver reads, and the other way round, with
// the same opinion of what is stale: for every provider, first and second.
func TestUpstreamReadsOursAndWeReadTheirs(t *testing.T) {
	for _, order := range [][]string{
		{"cbc1"},
		{"cbc21"},
		{"gcm1"},
		{"secretbox"},
		{"kms"},
		{"identity"},
		{"cbc1", "identity"},
		{"cbc2", "cbc1"},
		{"secretbox", "gcm2", "gcm1", "kms", "cbc1", "identity"},
		{"identity", "kms"},
	} {
		t.Run(strings.Join(order, "+"), func(t *testing.T) {
			v := &vault{n: 1}
			upstream := theirs(t, v, file(order...))
			inTask(t, func(task *sim.Task) {
				we := ours(t, task, v, file(order...)).For(secrets)
				plain := []byte("k8s\x00 a secret that is longer than one block")
				mine, err := we.Write(task, at, plain)
				if err != nil {
					t.Fatal(err)
				}
				got, stale, err := upstream.TransformFromStorage(t.Context(), mine, value.DefaultContext(at))
				if err != nil || stale || !bytes.Equal(got, plain) {
					t.Errorf("upstream reads ours as %q, stale %v, error %v", got, stale, err)
				}
				yours, err := upstream.TransformToStorage(t.Context(), plain, value.DefaultContext(at))
				if err != nil {
					t.Fatal(err)
				}
				got, stale, err = we.Read(task, at, yours)
				if err != nil || stale || !bytes.Equal(got, plain) {
					t.Errorf("we read theirs as %q, stale %v, error %v", got, stale, err)
				}
				if len(mine) != len(yours) {
					t.Errorf("ours is %d bytes long, theirs %d", len(mine), len(yours))
				}
				if encrypt.Label(mine) != encrypt.Label(yours) {
					t.Errorf("ours is %q, theirs %q", encrypt.Label(mine), encrypt.Label(yours))
				}
			})
		})
	}
}

// The stored form begins as in Kubernetes' documentation.
func TestStoredForm(t *testing.T) {
	inTask(t, func(task *sim.Task) {
		for name, want := range map[string][2]string{
			"cbc1":      {"k8s:enc:aescbc:v1:key1:", "aescbc key1"},
			"gcm1":      {"k8s:enc:aesgcm:v1:key1:", "aesgcm key1"},
			"secretbox": {"k8s:enc:secretbox:v1:a:", "secretbox a"},
			"kms":       {"k8s:enc:kms:v2:vault:", "kms vault kek-1"},
			"identity":  {"a secret", "identity"},
		} {
			stored, err := ours(t, task, &vault{n: 1}, file(name)).For(secrets).Write(task, at, []byte("a secret"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(stored), want[0]) || encrypt.Label(stored) != want[1] {
				t.Errorf("%s: stored as %q (%s); want it to begin with %q (%s)", name, stored, encrypt.Label(stored), want[0], want[1])
			}
		}
	})
}

// Any bytes come back as they were under any order of providers, also when the
// order changes between writing and reading, and are stale exactly if the first
// provider is another.
func TestAnyBytesRoundTrip(t *testing.T) {
	all := []string{"cbc1", "cbc2", "gcm1", "gcm2", "secretbox", "kms"}
	steady.Check(t, func(rt *rapid.T) {
		plain := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "plain")
		if trace.Encrypted(plain) {
			return
		}
		before := rapid.Permutation(all).Draw(rt, "before")
		after := rapid.Permutation(all).Draw(rt, "after")
		inTask(t, func(task *sim.Task) {
			v := &vault{n: 1}
			stored, err := ours(t, task, v, file(before...)).For(secrets).Write(task, at, plain)
			if err != nil {
				rt.Fatal(err)
			}
			got, stale, err := ours(t, task, v, file(after...)).For(secrets).Read(task, at, stored)
			if err != nil || !bytes.Equal(got, plain) {
				rt.Fatalf("%q came back as %q: %v", plain, got, err)
			}
			// aescbc key1 and key2 are two providers with one prefix.
			if stale != (before[0] != after[0]) {
				rt.Fatalf("written by %s, now %s comes first: stale %v", before[0], after[0], stale)
			}
		})
	})
}

// The same seed gives the same bytes.
func TestSameSeedSameBytes(t *testing.T) {
	for _, name := range []string{"cbc1", "gcm1", "secretbox", "kms"} {
		var first []byte
		for range 2 {
			inTask(t, func(task *sim.Task) {
				b, err := ours(t, task, &vault{n: 1}, file(name)).For(secrets).Write(task, at, []byte("a secret"))
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = b
				} else if !bytes.Equal(first, b) {
					t.Errorf("%s: %x and then %x", name, first, b)
				}
			})
		}
	}
}

// What is refused is refused in upstream's words.
func TestErrorsAreUpstreams(t *testing.T) {
	v := &vault{n: 1}
	for name, c := range map[string]struct {
		order  []string
		stored string
		want   string
	}{
		"the key is gone":             {[]string{"cbc2"}, "k8s:enc:aescbc:v1:key1:0123456789abcdef0123456789abcdef", "no matching key was found for the provided AES transformer"},
		"the provider is gone":        {[]string{"cbc1"}, "k8s:enc:secretbox:v1:a:0123456789abcdef0123456789abcdef", "no matching prefix found"},
		"it is not encrypted":         {[]string{"cbc1"}, "k8s\x00plain", "no matching prefix found"},
		"identity reads no encrypted": {[]string{"identity"}, "k8s:enc:aescbc:v1:key1:0123456789abcdef", "no matching prefix found"},
		"too short":                   {[]string{"cbc1"}, "k8s:enc:aescbc:v1:key1:0", "the stored data was shorter than the required size"},
		"not blocks":                  {[]string{"cbc1"}, "k8s:enc:aescbc:v1:key1:0123456789abcdef0", "the stored data is not a multiple of the block size"},
		"a changed byte":              {[]string{"gcm1"}, "k8s:enc:aesgcm:v1:key1:0123456789abcdef0123456789abcdef", "cipher: message authentication failed"},
		"no seed":                     {[]string{"kms"}, "k8s:enc:kms:v2:vault:", "encrypted data is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := theirs(t, v, file(c.order...)).TransformFromStorage(t.Context(), []byte(c.stored), value.DefaultContext(at))
			if err == nil || err.Error() != c.want {
				t.Errorf("upstream says %v", err)
			}
			inTask(t, func(task *sim.Task) {
				if _, _, err := ours(t, task, v, file(c.order...)).For(secrets).Read(task, at, []byte(c.stored)); err == nil || err.Error() != c.want {
					t.Errorf("we say %v; want %q", err, c.want)
				}
			})
		})
	}
	t.Run("no file at all", func(t *testing.T) {
		_, _, err := encrypt.None().For(secrets).Read(nil, at, []byte("k8s:enc:aescbc:v1:key1:0123456789abcdef"))
		if want := "identity transformer tried to read encrypted data"; err == nil || err.Error() != want {
			t.Errorf("we say %v; want %q", err, want)
		}
	})
}

// A value that ends behind its initialization vector makes upstream's reader
// panic; ours refuses it.
func TestAVectorAloneIsRefused(t *testing.T) {
	stored := []byte("k8s:enc:aescbc:v1:key1:0123456789abcdef")
	inTask(t, func(task *sim.Task) {
		_, _, err := ours(t, task, nil, file("cbc1")).For(secrets).Read(task, at, stored)
		if want := "invalid PKCS7 data (empty or not padded)"; err == nil || err.Error() != want {
			t.Errorf("we say %v; want %q", err, want)
		}
	})
}

// Files are refused in upstream's words, and masked rules too.
func TestFilesAreRefusedAsUpstreamDoes(t *testing.T) {
	head := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n"
	for name, data := range map[string]string{
		"empty":             "",
		"not YAML":          "{{",
		"another kind":      "apiVersion: v1\nkind: Secret\n",
		"no resources":      head + "resources: []\n",
		"no providers":      head + "resources: [{resources: [secrets]}]\n",
		"an unknown field":  head + "resources: [{resources: [secrets], providers: [{rot13: {}}]}]\n",
		"two in one":        head + "resources: [{resources: [secrets], providers: [{identity: {}, aescbc: {keys: [{name: a, secret: " + key(1, 32) + "}]}}]}]\n",
		"a short key":       head + "resources: [{resources: [secrets], providers: [{secretbox: {keys: [{name: a, secret: " + key(1, 16) + "}]}}]}]\n",
		"not base64":        head + "resources: [{resources: [secrets], providers: [{aescbc: {keys: [{name: a, secret: '*'}]}}]}]\n",
		"a star":            head + "resources: [{resources: ['*'], providers: [{identity: {}}]}]\n",
		"masked":            head + "resources: [{resources: ['*.*'], providers: [{identity: {}}]}, {resources: [secrets], providers: [{identity: {}}]}]\n",
		"masked by a group": head + "resources: [{resources: ['*.apps'], providers: [{identity: {}}]}, {resources: [deployments.apps], providers: [{identity: {}}]}]\n",
		"KMS v1":            head + "resources: [{resources: [secrets], providers: [{kms: {name: a, endpoint: 'unix:///a'}}]}]\n",
		"not a socket":      head + "resources: [{resources: [secrets], providers: [{kms: {apiVersion: v2, name: a, endpoint: 'https://a'}}]}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "enc.yaml")
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			_, want := encryptionconfig.LoadEncryptionConfig(t.Context(), path, false, "test")
			if want == nil {
				t.Fatal("upstream takes it")
			}
			cfg, err := encrypt.Parse([]byte(data), false)
			if err == nil {
				_, err = cfg.Build(encrypt.Env{Rand: rand.New(rand.NewPCG(1, 2)), Dial: func(string, time.Duration) service.Service { return &vault{} }})
			}
			if err == nil || err.Error() != strings.ReplaceAll(want.Error(), path, encrypt.File) {
				t.Errorf("we say\n%v\nupstream says\n%v", err, want)
			}
		})
	}
}

// The plugin gets a new key: what is stored is stale from the next status on,
// and still readable.
func TestPluginRotatesItsKey(t *testing.T) {
	inTask(t, func(task *sim.Task) {
		v := &vault{n: 1}
		set := ours(t, task, v, file("kms"))
		x := set.For(secrets)
		stored, err := x.Write(task, at, []byte("a secret"))
		if err != nil {
			t.Fatal(err)
		}
		v.n = 2
		if _, stale, err := x.Read(task, at, stored); stale || err != nil {
			t.Errorf("before the next status: stale %v, error %v", stale, err)
		}
		if err := set.Probes()[0].Check(task); err != nil {
			t.Fatal(err)
		}
		if got, stale, err := x.Read(task, at, stored); !stale || err != nil || string(got) != "a secret" {
			t.Errorf("after the next status: %q, stale %v, error %v", got, stale, err)
		}
		stored, err = x.Write(task, at, []byte("a secret"))
		if err != nil || encrypt.Label(stored) != "kms vault kek-2" {
			t.Errorf("written as %s, error %v", encrypt.Label(stored), err)
		}
	})
}

// While the plugin is down, what is known is read, and written for three minutes
// of virtual time; what is not known fails after the timeout with what gRPC says
// of a socket nobody listens at. Then the plugin comes back.
func TestPluginIsDown(t *testing.T) {
	k := sim.New(sim.Config{Seed: 3})
	plugin := kms.New(k)
	lane := trace.Lane{Component: trace.CompKMS}
	p := k.NewProcess(lane)
	plugin.Start(p)
	k.NewProcess(trace.Lane{Component: trace.CompAPIServer}).Go("test", func(task *sim.Task) {
		defer k.Stop()
		build := func() *encrypt.Set {
			cfg, err := encrypt.Parse(file("kms"), false)
			if err != nil {
				t.Error(err)
			}
			set, err := cfg.Build(encrypt.Env{Rand: k.Rand("test"), Dial: plugin.Dial})
			if err != nil {
				t.Error(err)
			}
			return set
		}
		set := build()
		if err := set.Probes()[0].Check(task); err != nil {
			t.Error(err)
		}
		x := set.For(secrets)
		stored, err := x.Write(task, at, []byte("a secret"))
		if err != nil {
			t.Error(err)
		}
		p.Kill()
		began := task.Elapsed()
		err = set.Probes()[0].Check(task)
		if took := task.Elapsed() - began; err == nil || took != 3*time.Second {
			t.Errorf("the check ended with %v after %s", err, took)
		}
		const dead = `rpc error: code = DeadlineExceeded desc = latest balancer error: connection error: desc = "transport: Error while dialing: dial unix /run/vault.sock: connect: connection refused"`
		if want := "failed to perform status section of the healthz check for KMS Provider vault, error: " + dead; err.Error() != want {
			t.Errorf("the check says %q", err)
		}
		if _, err := x.Write(task, at, []byte("more")); err != nil {
			t.Errorf("within three minutes: %v", err)
		}
		task.Sleep(3 * time.Minute)
		if _, err := x.Write(task, at, []byte("more")); err == nil || !strings.HasPrefix(err.Error(), "encryptedDEKSource with keyID hash \"sha256:") {
			t.Errorf("after three minutes: %v", err)
		}
		if got, _, err := x.Read(task, at, stored); err != nil || string(got) != "a secret" {
			t.Errorf("what is known is read as %q: %v", got, err)
		}
		fresh := build() // as after a restart of the API server
		if err := fresh.Probes()[0].Check(task); err == nil {
			t.Error("the plugin is down and well")
		}
		if _, _, err := fresh.For(secrets).Read(task, at, stored); err == nil || err.Error() != "got unexpected nil transformer" {
			t.Errorf("what is not known is read with %v", err)
		}
		plugin.Start(k.NewProcess(lane))
		if err := fresh.Probes()[0].Check(task); err != nil {
			t.Error(err)
		}
		if got, _, err := fresh.For(secrets).Read(task, at, stored); err != nil || string(got) != "a secret" {
			t.Errorf("and then as %q: %v", got, err)
		}
	})
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Upstream's gRPC client says of a socket at which nobody listens what ours says.
func TestUpstreamsWordsForADeadSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vault.sock")
	real, err := kmsv2.NewGRPCService(t.Context(), "unix://"+path, "vault", 500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	_, err = real.Status(t.Context())
	for err != nil && strings.Contains(err.Error(), "received context error") { // it has not even tried yet
		_, err = real.Status(t.Context())
	}
	if err == nil {
		t.Fatal("somebody answered")
	}
	theirs := strings.ReplaceAll(err.Error(), "no such file or directory", "connection refused")
	k := sim.New(sim.Config{Seed: 3})
	plugin := kms.New(k)
	k.NewProcess(trace.Lane{Component: trace.CompAPIServer}).Go("test", func(task *sim.Task) {
		defer k.Stop()
		if _, err := plugin.Dial(path, time.Second).Status(kms.Context(task)); err == nil || err.Error() != theirs {
			t.Errorf("we say\n%v\nupstream says\n%v", err, theirs)
		}
	})
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// FuzzTampered: whatever the store holds is refused or read, never a panic; what
// an authenticated provider has written and somebody has changed is refused.
func FuzzTampered(f *testing.F) {
	order := []string{"gcm1", "secretbox", "kms", "cbc1", "identity"}
	plain := []byte("k8s\x00 a secret of some length")
	written := map[string][]byte{}
	inTask(f, func(task *sim.Task) {
		for i, name := range order {
			first := append([]string{name}, append(append([]string{}, order[:i]...), order[i+1:]...)...)
			stored, err := ours(f, task, &vault{n: 1}, file(first...)).For(secrets).Write(task, at, plain)
			if err != nil {
				f.Fatal(err)
			}
			written[name] = stored
		}
	})
	for _, name := range order {
		f.Add(written[name], 30, byte(1))
		f.Add(written[name][:len(written[name])*2/3], 0, byte(0))
	}
	f.Add([]byte("k8s:enc:aescbc:v1:key1:0123456789abcdef"), 0, byte(0))
	f.Add([]byte("k8s:enc:kms:v2:vault:\x0a\xff"), 0, byte(0))
	f.Fuzz(func(t *testing.T, stored []byte, i int, flip byte) {
		changed := bytes.Clone(stored)
		if len(changed) > 0 {
			changed[(i%len(changed)+len(changed))%len(changed)] ^= flip
		}
		encrypt.Label(changed)
		inTask(t, func(task *sim.Task) {
			got, _, err := ours(t, task, &vault{n: 1}, file(order...)).For(secrets).Read(task, at, changed)
			for _, name := range []string{"gcm1", "secretbox"} {
				if flip != 0 && bytes.Equal(stored, written[name]) && err == nil && trace.Encrypted(changed) {
					t.Errorf("%s: %q was changed to %q and read as %q", name, stored, changed, got)
				}
			}
		})
	})
}
