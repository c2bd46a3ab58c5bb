package authn

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/jws"
	"kviz/cluster/sim"
)

// A Secret of type kubernetes.io/service-account-token has a token that never expires, and is
// worth nothing without the Secret (pkg/serviceaccount/legacy.go). When it is used the Secret
// gets a label with the day, by which kube-controller-manager finds those that nobody uses.

// legacyIssuer is who signs them (LegacyIssuer).
const legacyIssuer = "kubernetes/serviceaccount"

// Labels of a Secret with a token.
const (
	// LastUsed is the day on which the token was last used (LastUsedLabelKey).
	LastUsed = "kubernetes.io/legacy-token-last-used"
	// InvalidSince is the day since when the token is no longer accepted (InvalidSinceLabelKey).
	InvalidSince = "kubernetes.io/legacy-token-invalid-since"
	// DateFormat is that of both.
	DateFormat = "2006-01-02"
)

// SecretPatcher writes the day of its use into the Secret of a token.
type SecretPatcher interface {
	// PatchSecret sends a merge patch.
	PatchSecret(t *sim.Task, namespace, name string, patch []byte) error
}

// SecretClaims are what the token of a Secret says.
type SecretClaims struct {
	Issuer    string `json:"iss"`
	Namespace string `json:"kubernetes.io/serviceaccount/namespace"`
	Secret    string `json:"kubernetes.io/serviceaccount/secret.name"`
	Account   string `json:"kubernetes.io/serviceaccount/service-account.name"`
	UID       string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Subject   string `json:"sub"`
}

// SignSecret makes the token of a Secret (LegacyClaims).
func (k *Keys) SignSecret(account *corev1.ServiceAccount, secret string) (string, error) {
	return k.key.Sign(SecretClaims{
		legacyIssuer, account.Namespace, secret, account.Name, string(account.UID), ServiceAccount(account.Namespace, account.Name).Name,
	})
}

// VerifySecret checks the issuer and the signature of a Secret's token; [ErrForeign] is of other
// tokens.
func (k *Keys) VerifySecret(token string) (*SecretClaims, error) {
	t, err := jws.Parse(token)
	if err != nil {
		return nil, ErrForeign
	}
	c := &SecretClaims{}
	switch {
	case json.Unmarshal(t.Payload, c) != nil || c.Issuer != legacyIssuer:
		return nil, ErrForeign
	case t.Header.KeyID != "" && t.Header.KeyID != k.key.ID():
		return nil, ErrKey
	case !k.key.Public().Verify(t):
		return nil, ErrSignature
	}
	return c, nil
}

// secretToken is what the token of a Secret proves (legacyValidator Validate).
func (s *AccountTokens) secretToken(t *sim.Task, token string, audiences []string) (Answer, error) {
	c, err := s.keys.VerifySecret(token)
	if errors.Is(err, ErrForeign) {
		return Answer{Unknown: err.Error()}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	for _, claim := range [][2]string{{"sub", c.Subject}, {"namespace", c.Namespace}, {"secretName", c.Secret}, {"serviceAccountName", c.Account}, {"serviceAccountUID", c.UID}} {
		if claim[1] == "" {
			return Answer{}, fmt.Errorf("%s claim is missing", claim[0])
		}
	}
	user := ServiceAccount(c.Namespace, c.Account)
	if c.Subject != user.Name {
		return Answer{}, errors.New("sub claim is invalid")
	}
	secret, ok := s.lister.Get(client.Secrets, c.Namespace, c.Secret).(*corev1.Secret)
	switch {
	case !ok || secret.DeletionTimestamp != nil:
		return Answer{}, errors.New("Token has been invalidated")
	case subtle.ConstantTimeCompare(secret.Data[corev1.ServiceAccountTokenKey], []byte(token)) == 0:
		return Answer{}, errors.New("Token does not match server's copy")
	}
	account, ok := s.lister.Get(client.ServiceAccounts, c.Namespace, c.Account).(*corev1.ServiceAccount)
	switch {
	case !ok:
		return Answer{}, fmt.Errorf("serviceaccounts %q not found", c.Account)
	case account.DeletionTimestamp != nil:
		return Answer{}, fmt.Errorf("ServiceAccount %s/%s has been deleted", c.Namespace, c.Account)
	case string(account.UID) != c.UID:
		return Answer{}, fmt.Errorf("ServiceAccount UID (%s) does not match claim (%s)", account.UID, c.UID)
	}
	if secret.Labels[InvalidSince] != "" {
		s.noteUse(t, secret)
		return Answer{Annotations: []Annotation{{"authentication.k8s.io/legacy-token-invalidated", secret.Name + "/" + secret.Namespace}}},
			fmt.Errorf("the token in secret %s/%s for service account %s/%s has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '%s' label from the secret to temporarily allow use of this token",
				c.Namespace, c.Secret, c.Namespace, c.Account, InvalidSince)
	}
	answer := Answer{Annotations: []Annotation{{"authentication.k8s.io/legacy-token-manual-secret", secret.Name}}}
	if slices.ContainsFunc(account.Secrets, func(ref corev1.ObjectReference) bool { return ref.Name == secret.Name }) {
		answer.Warnings = []string{"Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens."}
		answer.Annotations[0].Key = "authentication.k8s.io/legacy-token-autogenerated-secret"
	}
	s.noteUse(t, secret)
	both, err := (&Claims{}).For(audiences)
	if err != nil {
		return Answer{Annotations: answer.Annotations, Warnings: answer.Warnings}, err
	}
	user.UID = c.UID
	answer.User, answer.Audiences = &user, both
	return answer, nil
}

// noteUse writes the day into the label of a Secret, once a day (patchSecretWithLastUsedDate).
// That it cannot is nothing to the sender.
func (s *AccountTokens) noteUse(t *sim.Task, secret *corev1.Secret) {
	now := t.Now().UTC()
	today, tomorrow := now.Format(DateFormat), now.AddDate(0, 0, 1).Format(DateFormat)
	if was := secret.Labels[LastUsed]; s.Secrets == nil || was == today || was == tomorrow {
		return
	}
	_ = s.Secrets.PatchSecret(t, secret.Namespace, secret.Name, LabelPatch(secret, LastUsed, today))
}

// LabelPatch is the merge patch that gives a Secret a label, if it is still the same one.
func LabelPatch(secret *corev1.Secret, label, value string) []byte {
	patch, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": secret.Name, "namespace": secret.Namespace, "uid": secret.UID, "labels": map[string]string{label: value}},
	})
	if err != nil {
		panic("authn: " + err.Error()) // strings are always written
	}
	return patch
}
