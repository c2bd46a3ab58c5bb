package apply

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/auth"
	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"
)

// newAuth is etcd's auth store over users.
func newAuth(l Limits, users *authBackend) (auth.AuthStore, error) {
	lg := zap.NewNop()
	signed := strings.HasPrefix(l.AuthToken, "jwt")
	if !signed && l.AuthToken != "" && l.AuthToken != "simple" {
		return nil, fmt.Errorf("apply: tokens %q; they can be simple or jwt,…", l.AuthToken)
	}
	options := ""
	if signed {
		options = l.AuthToken
	}
	provider, err := auth.NewTokenProvider(lg, options, nil, TokenTTL)
	if err != nil {
		return nil, fmt.Errorf("apply: tokens %q: %w", l.AuthToken, err)
	}
	as := auth.NewAuthStore(lg, users, provider, cmp.Or(l.BcryptCost, bcrypt.DefaultCost))
	if signed {
		return as, nil
	}
	now := l.Now
	if now == nil {
		start := time.Now()
		now = func() time.Duration { return time.Since(start) }
	}
	return &tokenStore{AuthStore: as, users: users, now: now, tokens: map[string]token{}}, nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func randomLetters(n int) (string, error) {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	for i, c := range b {
		b[i] = letters[int(c)%len(letters)]
	}
	return string(b), nil
}
