package encrypt

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"math/rand/v2"

	"k8s.io/apiserver/pkg/storage/value"
	upstreamaes "k8s.io/apiserver/pkg/storage/value/encrypt/aes"

	"kviz/cluster/sim"
)

// seedSize is the length of a data key's seed and of the info that a key is
// derived with.
const seedSize = upstreamaes.MinSeedSizeExtendedNonceGCM

// seeded encrypts each value with a key of its own, derived from a seed that the
// KMS plugin has encrypted: random info, then AES-GCM under HKDF(seed, info)
// (encrypt/aes/aes_extended_nonce.go).
type seeded struct {
	value.Read
	seed []byte
	rand *rand.Rand
}

func newSeeded(seed []byte, r *rand.Rand) (value.Transformer, error) {
	reader, err := upstreamaes.NewHKDFExtendedNonceGCMTransformer(seed)
	if err != nil {
		return nil, err
	}
	return &seeded{reader, seed, r}, nil
}

func (t *seeded) TransformToStorage(_ context.Context, data []byte, key value.Context) ([]byte, error) {
	info := make([]byte, seedSize)
	sim.Fill(t.rand, info)
	derived, err := hkdf.Expand(sha256.New, t.seed, string(info), 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	sim.Fill(t.rand, nonce)
	return aead.Seal(append(info, nonce...), nonce, data, key.AuthenticatedData()), nil
}
