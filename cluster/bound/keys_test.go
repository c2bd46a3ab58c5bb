package bound

import (
	"crypto/rsa"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
)

// A key is refused by its size alone: nothing is computed with it.
func TestLargeKeys(t *testing.T) {
	key := func(bits uint) *rsa.PublicKey {
		return &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), bits-1), E: 65537}
	}
	for bits, ok := range map[uint]bool{2048: true, 8192: true, 8193: false, 1 << 20: false} {
		if err := Key(key(bits)); (err == nil) != ok {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
	block := func(kind string, size int) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: make([]byte, size)}))
	}
	for text, ok := range map[string]bool{
		block("RSA PRIVATE KEY", 4700): true, block("RSA PRIVATE KEY", 50000): false, block("PRIVATE KEY", 50000): false,
		block("CERTIFICATE", 50000): true, "nonsense": true, block("X", 10) + block("PRIVATE KEY", 50000): false,
	} {
		if err := PrivateKey([]byte(text)); (err == nil) != ok {
			t.Errorf("%.60s: %v", strings.ReplaceAll(text, "\n", " "), err)
		}
	}
}
