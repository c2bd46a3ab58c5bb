package encrypt

import (
	"strings"

	"google.golang.org/protobuf/proto"
	kmstypes "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2"

	"kviz/cluster/trace"
)

const identityName = "identity"

// Label says who encrypted stored bytes: the provider and the name of the key
// ("aescbc key1"), of a KMS the key encryption key too ("kms vault kek-1"). It
// reads what stands before the ciphertext and decrypts nothing.
func Label(stored []byte) string {
	if !trace.Encrypted(stored) {
		return identityName
	}
	head := string(stored[:min(len(stored), 512)])
	parts := strings.SplitN(strings.TrimPrefix(head, prefixAny), ":", 4)
	if len(parts) < 4 {
		return "unknown"
	}
	label := parts[0] + " " + parts[2]
	if rest, ok := strings.CutPrefix(string(stored), prefixKMS+parts[2]+":"); ok {
		var o kmstypes.EncryptedObject
		if proto.Unmarshal([]byte(rest), &o) == nil && o.KeyID != "" {
			label += " " + o.KeyID
		}
	}
	return label
}
