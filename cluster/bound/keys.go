package bound

import (
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"strings"
)

const (
	// maxKey is the largest RSA key that crypto/tls takes of a client; checking a signature takes
	// the square of it, or more.
	maxKey = 8192
	// maxPrivateKey is how many bytes one of that size takes with all its parts, and room.
	maxPrivateKey = 8 << 10
)

// Key says what is wrong with a public key that is too large for its signatures to be checked.
// Others have one of a few sizes.
func Key(public any) error {
	if k, ok := public.(*rsa.PublicKey); ok && k.N.BitLen() > maxKey {
		return errKey()
	}
	return nil
}

// PrivateKey says what is wrong with a private key in PEM that is too large to be read: that
// checks how its parts fit together.
func PrivateKey(text []byte) error {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") && len(block.Bytes) > maxPrivateKey {
			return errKey()
		}
		text = rest
	}
}

// errKey has the words of crypto/tls.
func errKey() error { return fmt.Errorf("RSA key larger than %d bits", maxKey) }
