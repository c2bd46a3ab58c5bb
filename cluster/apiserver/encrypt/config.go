// Package encrypt is encryption at rest: what the API server does to an object's
// bytes between encoding them and giving them to etcd, and back.
//
// The configuration is Kubernetes' EncryptionConfiguration, read and validated by its
// own code. Its transformers are Kubernetes' too (apiserver pkg/storage/value,
// value/encrypt): identity, aescbc, aesgcm, secretbox and the KMS v2 envelope. Only
// where those draw nonces and data keys from the machine are there writers of our own
// (local.go, seed.go), which write the same format with randomness from the seed, so
// that a run repeats byte for byte; upstream's code reads what they write.
//
// Start reading at [Parse], then [Config.Build] and [Transformer].
package encrypt

import (
	"crypto/sha256"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/apiserver"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"

	"kviz/cluster/trace"
)

// File is where the API server has its configuration: the argument of
// kube-apiserver --encryption-provider-config in Kubernetes' documentation.
const File = "/etc/kubernetes/enc/enc.yaml"

var codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	utilruntime.Must(apiserver.AddToScheme(scheme))
	utilruntime.Must(apiserverv1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}()

// Config is a configuration that was read and found valid.
type Config struct {
	Hash     string // of the file: "sha256:…"
	internal *apiserver.EncryptionConfiguration
}

// Parse reads a file's content. With reload, names of KMS providers must be
// unique, as kube-apiserver --encryption-provider-config-automatic-reload wants
// it. Errors are in upstream's words (encryptionconfig/config.go loadConfig).
func Parse(data []byte, reload bool) (*Config, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("error while parsing file: error while loading file: encryption provider configuration file %q is empty", File)
	}
	obj, gvk, err := codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("error while parsing file: error decoding encryption provider configuration file %q: %w", File, err)
	}
	internal, ok := obj.(*apiserver.EncryptionConfiguration)
	if !ok {
		return nil, fmt.Errorf("error while parsing file: got unexpected config type: %v", gvk)
	}
	if err := validation.ValidateEncryptionConfiguration(internal, reload).ToAggregate(); err != nil {
		return nil, fmt.Errorf("error while parsing file: %w", err)
	}
	return &Config{Hash: hashOf(data), internal: internal}, nil
}

func hashOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// Rules tell the configuration without its keys.
func (c *Config) Rules() []trace.EncryptionRule {
	var rules []trace.EncryptionRule
	for _, r := range c.internal.Resources {
		rule := trace.EncryptionRule{Resources: r.Resources}
		for _, p := range r.Providers {
			rule.Providers = append(rule.Providers, providers(p)...)
		}
		rules = append(rules, rule)
	}
	return rules
}

// providers names a provider, once a key.
func providers(p apiserver.ProviderConfiguration) []string {
	each := func(kind string, keys []apiserver.Key) (names []string) {
		for _, k := range keys {
			names = append(names, kind+" "+k.Name)
		}
		return names
	}
	switch {
	case p.AESCBC != nil:
		return each("aescbc", p.AESCBC.Keys)
	case p.AESGCM != nil:
		return each("aesgcm", p.AESGCM.Keys)
	case p.Secretbox != nil:
		return each("secretbox", p.Secretbox.Keys)
	case p.KMS != nil:
		return []string{"kms " + p.KMS.Name}
	}
	return []string{identityName}
}

// UsesKMS reports whether a KMS plugin is asked.
func (c *Config) UsesKMS() bool {
	for _, r := range c.internal.Resources {
		for _, p := range r.Providers {
			if p.KMS != nil {
				return true
			}
		}
	}
	return false
}
