package trace

import (
	"bytes"
	"strings"
)

// Kinds of encryption at rest.
var (
	EncryptionConfig = define[Encryption]("api.encryption", GrainStage,
		"The API server's encryption configuration was written, taken up, or refused.",
		"Which provider comes first for a resource: it encrypts what is written from now on, while the others still decrypt.",
		"apiserver pkg/server/options/encryptionconfig/config.go LoadEncryptionConfig")
	CacheDecrypted = define[Decryption]("api.decrypt", GrainStage,
		"The API server decrypted what the store told its watch cache, or could not.",
		"The provider and the name of the key; with an error, every list and watch of the resource fails until a key is found that fits.",
		"apiserver pkg/storage/value/transformer.go TransformFromStorage")
	KMSCalled = define[KMSCall]("kms.call", GrainStage,
		"The KMS plugin answered the API server: it encrypts and decrypts data keys, never the objects.",
		"The ID of the key encryption key; the API server asks for the status every minute, so a new ID is noticed by then.",
		"k8s.io/kms/apis/v2/api.proto KeyManagementService")
)

// Encryption is a step in the life of the file that kube-apiserver's
// --encryption-provider-config names. It holds no key.
type Encryption struct {
	What  string // written, loaded, refused, removed
	File  string
	Hash  string           `json:",omitempty"` // of the file: "sha256:…"
	Rules []EncryptionRule `json:",omitempty"`
	Error string           `json:",omitempty"`

	Reload bool   `json:",omitempty"` // of what is loaded: the server looks at the file every minute
	Server string `json:",omitempty"` // whose file it is: "apiserver/b"; "" for the first API server's
}

// EncryptionRule is how some resources are encrypted: the first provider
// encrypts, any decrypts.
type EncryptionRule struct {
	Resources []string
	Providers []string // "aescbc key1"
}

// Decryption is values that were decrypted together.
type Decryption struct {
	Resource string
	Custom   string   `json:",omitempty"` // of a custom kind: with its group, and its version where that is not the stored one
	Key      string   `json:",omitempty"` // of the one value, or of the one that could not be decrypted
	By       []string `json:",omitempty"` // "aescbc key1"
	Values   int      // how many; 0 with neither key nor error: what could not be decrypted is gone
	Error    string   `json:",omitempty"`

	// Conversion: the values have another version, and a webhook is to convert them.
	Conversion bool `json:",omitempty"`
}

// KMSCall is one call to the KMS plugin.
type KMSCall struct {
	Method string // Status, Encrypt, Decrypt
	KeyID  string `json:",omitempty"` // of the key encryption key
	Error  string `json:",omitempty"`
}

// RulesText is "secrets: aescbc key2, then aescbc key1".
func RulesText(rules []EncryptionRule) string {
	if len(rules) == 0 {
		return "nothing is encrypted"
	}
	var parts []string
	for _, r := range rules {
		parts = append(parts, strings.Join(r.Resources, ", ")+": "+strings.Join(r.Providers, ", then "))
	}
	return strings.Join(parts, "; ")
}

// MagicEncrypted is what a provider of encryption at rest writes before a value
// (encryptionconfig/config.go).
const MagicEncrypted = "k8s:enc:"

// Encrypted reports whether a stored value is of a provider other than identity.
func Encrypted(stored []byte) bool { return bytes.HasPrefix(stored, []byte(MagicEncrypted)) }
