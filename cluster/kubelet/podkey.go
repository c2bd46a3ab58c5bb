package kubelet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
)

// keyAndProof makes a key of the type that a pod asks for, in PEM, and an empty certificate
// request signed with it, which proves that the kubelet has the key (generateKeyAndProof).
func keyAndProof(r *rand.Rand, keyType string) (private string, proof []byte, err error) {
	key, err := newPodKey(r, keyType)
	if err != nil {
		return "", nil, err
	}
	if proof, err = x509.CreateCertificateRequest(nil, &x509.CertificateRequest{}, key); err != nil {
		return "", nil, fmt.Errorf("while generating stub PKCS#10 request: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", nil, fmt.Errorf("while marshaling key to PKCS#8: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), proof, nil
}

func newPodKey(r *rand.Rand, keyType string) (crypto.Signer, error) {
	switch keyType {
	case "RSA3072":
		return rsa3072(), nil
	case "RSA4096":
		return rsa4096(), nil
	case "ECDSAP256":
		return drawECDSA(r, elliptic.P256())
	case "ECDSAP384":
		return drawECDSA(r, elliptic.P384())
	case "ECDSAP521":
		return drawECDSA(r, elliptic.P521())
	case "ED25519":
		return ed25519.NewKeyFromSeed(draw(r, ed25519.SeedSize)), nil
	}
	return nil, fmt.Errorf("unknown key type %q", keyType)
}

func draw(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// drawECDSA draws until it has a number that is a key of the curve: nearly always the first.
func drawECDSA(r *rand.Rand, curve elliptic.Curve) (*ecdsa.PrivateKey, error) {
	bits := curve.Params().BitSize
	for {
		b := draw(r, (bits+7)/8)
		b[0] &= 0xff >> (8*len(b) - bits)
		if key, err := ecdsa.ParseRawPrivateKey(curve, b); err == nil {
			return key, nil
		}
	}
}

// The keys of RSA, one a size: the same in every cluster. The seeds are those whose first number is
// a prime (TestPodKeys), so that nobody has to look for one.
var (
	rsa3072 = sync.OnceValue(func() *rsa.PrivateKey { return rsaOf(3072, 12, 197) })
	rsa4096 = sync.OnceValue(func() *rsa.PrivateKey { return rsaOf(4096, 850, 2134) })
)

// rsaOf makes the key of two primes of half its size.
func rsaOf(size int, seeds ...uint64) *rsa.PrivateKey {
	one, e := big.NewInt(1), big.NewInt(65537)
	key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: big.NewInt(1), E: int(e.Int64())}}
	order := big.NewInt(1)
	for _, seed := range seeds {
		b := draw(rand.New(rand.NewPCG(seed, uint64(size))), size/16)
		b[0] |= 0xc0 // so that the product is of full size
		b[len(b)-1] |= 1
		p := new(big.Int).SetBytes(b)
		key.Primes = append(key.Primes, p)
		key.N.Mul(key.N, p)
		order.Mul(order, new(big.Int).Sub(p, one))
	}
	key.D = new(big.Int).ModInverse(e, order)
	key.Precompute()
	return key
}
