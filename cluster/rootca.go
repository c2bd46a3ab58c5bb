package cluster

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"kviz/cluster/sim"
)

// rootCA is the certificate of the cluster's certificate authority, as pods
// find it in the ConfigMap kube-root-ca.crt. It comes from the seed, so that two
// runs publish the same one; the HTTPS listener for programs outside has a
// certificate authority of its own, made anew each time.
func rootCA(k *sim.Kernel) (string, error) {
	seed := make([]byte, ed25519.SeedSize)
	r := k.Rand("root-ca")
	for i := range seed {
		seed[i] = byte(r.Uint32())
	}
	key := ed25519.NewKeyFromSeed(seed)
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"},
		NotBefore: k.Epoch(), NotAfter: k.Epoch().Add(10 * 365 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(bytes.NewReader(seed), cert, cert, key.Public(), key)
	if err != nil {
		return "", fmt.Errorf("make the cluster's root certificate: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}
