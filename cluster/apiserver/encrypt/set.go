package encrypt

import (
	"crypto/aes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/storage/value"
	kmsv2 "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/kms/pkg/service"
	"k8s.io/kms/pkg/util"

	"kviz/cluster/kms"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The prefixes of what is stored (encryptionconfig/config.go).
const (
	prefixAny       = trace.MagicEncrypted
	prefixAESCBC    = "k8s:enc:aescbc:v1:"
	prefixAESGCM    = "k8s:enc:aesgcm:v1:"
	prefixSecretbox = "k8s:enc:secretbox:v1:"
	prefixKMS       = "k8s:enc:kms:v2:"
)

// Env is what transformers need of their surroundings.
type Env struct {
	// Rand is where nonces and data keys come from.
	Rand *rand.Rand
	// Dial connects to the KMS plugin at a path. Its calls take a context of
	// [kms.Context].
	Dial func(path string, timeout time.Duration) service.Service
}

// Set is the transformers of one configuration.
type Set struct {
	Hash    string // of the file; "" where there is none
	rules   map[schema.GroupResource]value.Transformer
	probes  []*Probe
	timeout time.Duration // the sum of all KMS timeouts
}

// None is what is in effect without a configuration: nothing is encrypted.
func None() *Set { return &Set{} }

// Build makes the transformers. KMS providers are not asked anything yet: see
// [Set.Probes].
func (c *Config) Build(env Env) (*Set, error) {
	s, err := c.build(env)
	if err != nil {
		return nil, fmt.Errorf("error while building transformers: %w", err)
	}
	return s, nil
}

// anything is the rule *.*.
var anything = schema.GroupResource{Group: "*", Resource: "*"}

// build is getTransformerOverridesAndKMSPluginProbes of
// encryptionconfig/config.go.
func (c *Config) build(env Env) (*Set, error) {
	s := &Set{Hash: c.Hash, rules: map[schema.GroupResource]value.Transformer{}}
	prefixed := map[schema.GroupResource][]value.PrefixTransformer{}
	for _, rule := range c.internal.Resources {
		transformers, err := s.providers(rule.Providers, env)
		if err != nil {
			return nil, err
		}
		for _, name := range rule.Resources {
			gr := schema.ParseGroupResource(name)
			for _, wide := range []schema.GroupResource{{Group: gr.Group, Resource: "*"}, anything} {
				if _, masked := prefixed[wide]; masked {
					return nil, fmt.Errorf("resource %q is masked by earlier rule %q", written(gr), written(wide))
				}
			}
			prefixed[gr] = append(prefixed[gr], transformers...)
		}
	}
	for gr, list := range prefixed {
		s.rules[gr] = value.NewPrefixTransformers(errors.New("no matching prefix found"), list...)
	}
	return s, nil
}

// written is a resource as the file has it.
func written(gr schema.GroupResource) string {
	if gr.Group == "" && gr.Resource == "*" {
		return "*."
	}
	return gr.String()
}

func (s *Set) providers(list []apiserver.ProviderConfiguration, env Env) ([]value.PrefixTransformer, error) {
	var out []value.PrefixTransformer
	for _, p := range list {
		t, err := s.provider(p, env)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func (s *Set) provider(p apiserver.ProviderConfiguration, env Env) (value.PrefixTransformer, error) {
	switch {
	case p.AESGCM != nil:
		return keyed(prefixAESGCM, "AES", p.AESGCM.Keys, func(key []byte) (value.Transformer, error) {
			block, err := aes.NewCipher(key)
			if err != nil {
				return nil, err
			}
			return newGCM(block, env.Rand)
		})
	case p.AESCBC != nil:
		return keyed(prefixAESCBC, "AES", p.AESCBC.Keys, func(key []byte) (value.Transformer, error) {
			block, err := aes.NewCipher(key)
			if err != nil {
				return nil, err
			}
			return newCBC(block, env.Rand), nil
		})
	case p.Secretbox != nil:
		return keyed(prefixSecretbox, "Secretbox", p.Secretbox.Keys, func(key []byte) (value.Transformer, error) {
			return newSecretbox(key, env.Rand)
		})
	case p.KMS != nil:
		return s.kms(p.KMS, env)
	case p.Identity != nil:
		return value.PrefixTransformer{Transformer: identity.NewEncryptCheckTransformer(), Prefix: []byte{}}, nil
	}
	return value.PrefixTransformer{}, errors.New("provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity")
}

// keyed is a provider that has keys with names; the first one encrypts
// (aesPrefixTransformer, secretboxPrefixTransformer).
func keyed(prefix, kind string, keys []apiserver.Key, with func(key []byte) (value.Transformer, error)) (value.PrefixTransformer, error) {
	var list []value.PrefixTransformer
	for _, k := range keys {
		key, err := base64.StdEncoding.DecodeString(k.Secret)
		if err != nil {
			return value.PrefixTransformer{}, fmt.Errorf("could not obtain secret for named key %s: %w", k.Name, err)
		}
		t, err := with(key)
		if err != nil {
			return value.PrefixTransformer{}, fmt.Errorf("error while creating transformer for named key %s: %w", k.Name, err)
		}
		list = append(list, value.PrefixTransformer{Transformer: t, Prefix: []byte(k.Name + ":")})
	}
	none := fmt.Errorf("no matching key was found for the provided %s transformer", kind)
	return value.PrefixTransformer{Transformer: value.NewPrefixTransformers(none, list...), Prefix: []byte(prefix)}, nil
}

// kms is the envelope of a KMS v2 provider (kmsPrefixTransformer).
func (s *Set) kms(cfg *apiserver.KMSConfiguration, env Env) (value.PrefixTransformer, error) {
	if cfg.APIVersion != "v2" {
		return value.PrefixTransformer{}, errors.New("KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.") //nolint:staticcheck // upstream's words
	}
	path, err := util.ParseEndpoint(cfg.Endpoint)
	if err != nil {
		return value.PrefixTransformer{}, fmt.Errorf("could not configure KMSv2-Plugin's probe %q, error: %w", cfg.Name, err)
	}
	p := &Probe{Name: cfg.Name, rand: env.Rand, service: env.Dial(path, cfg.Timeout.Duration)}
	s.probes = append(s.probes, p)
	s.timeout += cfg.Timeout.Duration
	envelope := kmsv2.NewEnvelopeTransformer(p.service, cfg.Name, p.current, "kviz")
	return value.PrefixTransformer{Transformer: &inTime{envelope, p}, Prefix: []byte(prefixKMS + cfg.Name + ":")}, nil
}

// Probes are those of the KMS providers: each must be run, or its provider
// neither encrypts nor decrypts.
func (s *Set) Probes() []*Probe { return s.probes }

// HealthTimeout is how long a new set's KMS providers are given to become healthy
// before the set is refused (controller.go validateNewTransformersHealth).
func (s *Set) HealthTimeout() time.Duration { return max(2*s.timeout, leastHealthTimeout) }

// leastHealthTimeout is minKMSPluginCloseGracePeriod of the same file.
const leastHealthTimeout = 10 * time.Second

// Stop ends the probes: another set is in effect.
func (s *Set) Stop() {
	for _, p := range s.probes {
		p.stop()
	}
}

// For is the transformer of a resource: its own rule, else that of its group,
// else that of everything, else none (transformerFromOverrides).
func (s *Set) For(gr schema.GroupResource) *Transformer {
	for _, rule := range []schema.GroupResource{gr, {Group: gr.Group, Resource: "*"}, anything} {
		if t := s.rules[rule]; t != nil {
			return &Transformer{t}
		}
	}
	return &Transformer{}
}

// Transformer encrypts and decrypts the values of one resource.
type Transformer struct {
	t value.Transformer // nil where nothing is configured
}

// Configured reports whether the configuration says anything of the resource.
func (x *Transformer) Configured() bool { return x.t != nil }

// Read decrypts what the store holds at a key. stale says that what is written
// today would be encrypted otherwise. Only with a task can a KMS plugin be asked.
func (x *Transformer) Read(t *sim.Task, key string, stored []byte) (plain []byte, stale bool, err error) {
	if x.t == nil {
		return identity.NewEncryptCheckTransformer().TransformFromStorage(kms.Context(t), stored, value.DefaultContext(key))
	}
	return x.t.TransformFromStorage(kms.Context(t), stored, value.DefaultContext(key))
}

// Write encrypts a value for a key.
func (x *Transformer) Write(t *sim.Task, key string, plain []byte) ([]byte, error) {
	if x.t == nil {
		return plain, nil
	}
	return x.t.TransformToStorage(kms.Context(t), plain, value.DefaultContext(key))
}
