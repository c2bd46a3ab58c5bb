package secrets

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"mvdan.cc/sh/v3/syntax"
)

// words is a command as it was given, without the secrets that its flags say.
func (p *pass) words(args []string) []string {
	if len(args) == 0 {
		return args
	}
	out := slices.Clone(args)
	for i, w := range args {
		name, value, joined := strings.Cut(w, "=")
		at := i
		if !joined && i+1 < len(args) {
			at, value = i+1, args[i+1]
		}
		if hidden, ok := p.flag(args, name, value); ok && value != "" {
			if out[at] = hidden; joined {
				out[at] = name + "=" + hidden
			}
			continue
		}
		if out[i] == w && (jwt.MatchString(w) && len(w) > 100 || bootstrap.MatchString(w)) {
			out[i] = p.token(w)
		}
	}
	if args[0] == "etcdctl" {
		p.etcdctl(args, out)
	}
	for i, w := range out {
		if w == args[i] {
			out[i] = p.text(w)
		}
	}
	return out
}

// flag is the value of a flag that says something secret.
func (p *pass) flag(args []string, name, value string) (string, bool) {
	switch name {
	case "--from-literal":
		if key, v, ok := strings.Cut(value, "="); ok && ofSecrets(args) {
			return key + "=" + p.value(v), true
		}
	case "--docker-password", "--password":
		return p.value(value), true
	case "--token":
		return p.token(value), true
	case "-p", "--patch":
		if args[0] != "etcdctl" && ofSecrets(args) {
			return string(p.patch([]byte(value), types.MergePatchType)), true
		}
	case "--user":
		if user, password, ok := strings.Cut(value, ":"); ok && args[0] == "etcdctl" {
			return user + ":" + p.value(password), true
		}
	}
	return "", false
}

// ofSecrets reports whether a command of kubectl is about Secrets.
func ofSecrets(args []string) bool {
	return slices.ContainsFunc(args, func(w string) bool {
		kind, _, _ := strings.Cut(w, "/")
		kind, _, _ = strings.Cut(kind, ".")
		return slices.Contains(strings.Split(kind, ","), "secret") || slices.Contains(strings.Split(kind, ","), "secrets")
	})
}

// etcdctl hides what is written past the API server, and passwords of etcd's users.
func (p *pass) etcdctl(args, out []string) {
	for i, w := range args[:len(args)-1] {
		if strings.HasPrefix(w, "/registry/secrets/") && slices.Contains(args, "put") {
			out[i+1] = p.value(args[i+1])
		}
		if user, password, ok := strings.Cut(args[i+1], ":"); ok && w == "add" && slices.Contains(args, "user") {
			out[i+1] = user + ":" + p.value(password)
		}
	}
}

// line is a command as it could be typed.
func line(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			q = w
		}
		quoted[i] = q
	}
	return strings.Join(quoted, " ")
}
