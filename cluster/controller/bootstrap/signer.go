package bootstrap

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

const (
	clusterInfo     = "cluster-info"
	keyConfig       = "kubeconfig"
	signaturePrefix = "jws-kubeconfig-"
)

// Signer signs the ConfigMap cluster-info with every token that may.
type Signer struct {
	*reconcile.Env
	secrets, configs *informer.Informer
	loop             *reconcile.Loop
	made             map[string]signed // by the token's id: of the last look
}

// signed is a signature, and what it was made of.
type signed struct{ content, secret, signature string }

// NewSigner makes the controller; Start starts it.
func NewSigner(env *reconcile.Env) *Signer {
	c := &Signer{Env: env, secrets: env.Informers.For(client.Secrets), configs: env.Informers.For(client.ConfigMaps)}
	c.loop = reconcile.NewLoop(env, "bootstrap_signer_queue", client.ConfigMaps, c.sync)
	token := func(t *sim.Task, obj runtime.Object) {
		if isToken(obj) {
			c.loop.Add(t, informer.Key(metav1.NamespacePublic, clusterInfo))
		}
	}
	c.secrets.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { token(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { token(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { token(t, obj) },
	})
	config := func(t *sim.Task, obj runtime.Object) {
		if key := informer.KeyOf(obj); key == informer.Key(metav1.NamespacePublic, clusterInfo) {
			c.loop.Add(t, key)
		}
	}
	c.configs.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { config(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { config(t, obj) },
	})
	return c
}

// Start starts the workers.
func (c *Signer) Start() { c.loop.Start(c.secrets, c.configs) }

// sync signs again, and takes away signatures of tokens that have gone (signConfigMap).
func (c *Signer) sync(run *reconcile.Run) error {
	obj, ok := c.configs.Get(run.Key)
	if !ok {
		return nil
	}
	is := obj.(*corev1.ConfigMap)
	content, ok := is.Data[keyConfig]
	if !ok {
		run.Waits("the ConfigMap %s has no key %s: there is nothing to sign", clusterInfo, keyConfig)
		return nil
	}
	next := is.DeepCopy()
	had := map[string]bool{}
	for key := range next.Data {
		if strings.HasPrefix(key, signaturePrefix) {
			had[key] = true
			delete(next.Data, key)
		}
	}
	tokens := c.secrets.ListNamespace(metav1.NamespaceSystem)
	run.Look(len(tokens))
	wanted := map[string]signed{}
	var missing []string
	for _, obj := range tokens {
		id, secret, ok := forSigning(obj.(*corev1.Secret), run.T.Now())
		key := signaturePrefix + id
		if _, again := next.Data[key]; !ok || again {
			continue
		}
		w := signed{content: content, secret: secret}
		if had := c.made[id]; had.secret == secret && had.content == content {
			w = had
		} else {
			missing = append(missing, id)
		}
		wanted[id] = w
		next.Data[key] = ""
	}
	c.sign(run.T, wanted, missing)
	c.made = wanted
	fresh := 0
	for id, w := range wanted {
		key := signaturePrefix + id
		if next.Data[key] = w.signature; w.signature != is.Data[key] {
			fresh++
		}
		delete(had, key)
	}
	if fresh == 0 && len(had) == 0 {
		return nil
	}
	run.Act("update", client.RefOf(is), len(wanted), nil, "%d tokens may sign %s: write %d signatures that are new, take %d away whose token has gone or signs no more", len(wanted), clusterInfo, fresh, len(had))
	_, err := client.Update(run.T, c.Client, client.ConfigMaps, is.Namespace, next)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it comes back here when the cache has what is there
	}
	return err
}

// longContent is from how many bytes on a cluster-info is signed beside the rest of the cluster, which would have to
// wait for a megabyte and hundreds of tokens.
const longContent = 64 << 10

// sign makes the signatures that are missing.
func (c *Signer) sign(t *sim.Task, wanted map[string]signed, missing []string) {
	if len(missing) == 0 {
		return
	}
	size := len(wanted[missing[0]].content)
	do := func() {
		for _, id := range missing {
			w := wanted[id]
			w.signature = signature(w.content, id, w.secret)
			wanted[id] = w
		}
	}
	if size < longContent {
		do()
		return
	}
	t.Offload("signing "+clusterInfo, time.Duration(len(missing)*size)*perByte, 0, do)
}

// perByte is how long it takes to sign a byte.
const perByte = 4 * time.Nanosecond

// forSigning is what a Secret signs with, if it may (validateSecretForSigning).
func forSigning(s *corev1.Secret, now time.Time) (id, secret string, ok bool) {
	if !isToken(s) {
		return "", "", false
	}
	id, secret = string(s.Data[keyID]), string(s.Data[keySecret])
	named, prefixed := strings.CutPrefix(s.Name, namePrefix)
	left, ends := expiry(s, now)
	ok = prefixed && id != "" && named == id && secret != "" && (!ends || left > 0) && string(s.Data[keySigning]) == "true"
	return id, secret, ok
}

// signature is a JWS with HMAC SHA-256 whose content is not in it
// (k8s.io/cluster-bootstrap token/jws ComputeDetachedSignature).
func signature(content, id, secret string) string {
	header, err := json.Marshal(struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
	}{"HS256", id})
	if err != nil {
		panic("bootstrap: " + err.Error()) // two strings: it always works
	}
	b64 := base64.RawURLEncoding.EncodeToString
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(b64(header) + "." + b64([]byte(content))))
	return b64(header) + ".." + b64(mac.Sum(nil))
}
