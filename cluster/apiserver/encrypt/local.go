package encrypt

import (
	"bytes"
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"math/rand/v2"

	"golang.org/x/crypto/nacl/secretbox"
	"k8s.io/apiserver/pkg/storage/value"
	upstreamaes "k8s.io/apiserver/pkg/storage/value/encrypt/aes"
	upstreambox "k8s.io/apiserver/pkg/storage/value/encrypt/secretbox"

	"kviz/cluster/sim"
)

// Upstream's transformers read; what they would write differs from run to run,
// as they draw from the machine. These draw from the seed.

// cbc is AES-CBC with PKCS#7 padding: a random initialization vector, then the
// blocks. Nothing proves that they are as they were written: only the padding
// may show a change (encrypt/aes/aes.go cbc).
type cbc struct {
	value.Read
	block cipher.Block
	rand  *rand.Rand
}

func newCBC(block cipher.Block, r *rand.Rand) value.Transformer {
	return &cbc{upstreamaes.NewCBCTransformer(block), block, r}
}

var errPadding = errors.New("invalid PKCS7 data (empty or not padded)")

// TransformFromStorage is upstream's, except for a value that is an initialization
// vector without a block: there upstream indexes an empty slice and panics.
func (t *cbc) TransformFromStorage(ctx context.Context, data []byte, key value.Context) ([]byte, bool, error) {
	if len(data) == t.block.BlockSize() {
		return nil, false, errPadding
	}
	return t.Read.TransformFromStorage(ctx, data, key)
}

func (t *cbc) TransformToStorage(_ context.Context, data []byte, _ value.Context) ([]byte, error) {
	size := t.block.BlockSize()
	padding := size - len(data)%size
	out := make([]byte, size+len(data)+padding)
	sim.Fill(t.rand, out[:size])
	copy(out[size:], data)
	copy(out[size+len(data):], bytes.Repeat([]byte{byte(padding)}, padding))
	cipher.NewCBCEncrypter(t.block, out[:size]).CryptBlocks(out[size:], out[size:])
	return out, nil
}

// gcm is AES-GCM: a random nonce, then the ciphertext, which is good only at the
// key it was written to (encrypt/aes/aes.go gcm).
type gcm struct {
	value.Read
	aead cipher.AEAD
	rand *rand.Rand
}

func newGCM(block cipher.Block, r *rand.Rand) (value.Transformer, error) {
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	reader, err := upstreamaes.NewGCMTransformer(block)
	if err != nil {
		return nil, err
	}
	return &gcm{reader, aead, r}, nil
}

func (t *gcm) TransformToStorage(_ context.Context, data []byte, key value.Context) ([]byte, error) {
	nonce := make([]byte, t.aead.NonceSize(), t.aead.NonceSize()+len(data)+t.aead.Overhead())
	sim.Fill(t.rand, nonce)
	return t.aead.Seal(nonce, nonce, data, key.AuthenticatedData()), nil
}

// box is XSalsa20 and Poly1305: a random nonce, then the ciphertext
// (encrypt/secretbox/secretbox.go).
type box struct {
	value.Read
	key  [32]byte
	rand *rand.Rand
}

func newSecretbox(key []byte, r *rand.Rand) (value.Transformer, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("expected key size 32 for secretbox provider, got %v", len(key))
	}
	t := &box{key: [32]byte(key), rand: r}
	t.Read = upstreambox.NewSecretboxTransformer(t.key)
	return t, nil
}

func (t *box) TransformToStorage(_ context.Context, data []byte, _ value.Context) ([]byte, error) {
	var nonce [24]byte
	sim.Fill(t.rand, nonce[:])
	return secretbox.Seal(nonce[:], data, &nonce, &t.key), nil
}
