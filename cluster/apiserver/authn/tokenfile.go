package authn

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// TokenFilePath is where the file is that --token-auth-file names.
const TokenFilePath = "/etc/kubernetes/tokens.csv"

// TokenFile is a static token file: whom each token proves.
type TokenFile struct {
	users map[string]User
	lines []string
}

// ParseTokenFile reads lines of token, user name, user UID and, if there is a
// fourth column, groups separated by commas (apiserver
// pkg/authentication/token/tokenfile NewCSV, which reads from the machine's disk).
func ParseTokenFile(data []byte) (*TokenFile, error) {
	f := &TokenFile{users: map[string]User{}}
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	for n := 1; ; n++ {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, err
		}
		if len(rec) < 3 {
			return nil, fmt.Errorf("token file '%s' must have at least 3 columns (token, user name, user uid), found %d", TokenFilePath, len(rec))
		}
		u := User{Name: rec[1], UID: rec[2]}
		line := u.Name
		if u.UID != "" {
			line += ", uid " + u.UID
		}
		if len(rec) >= 4 {
			u.Groups = strings.Split(rec[3], ",")
			line += ", groups " + strings.Join(u.Groups, " ")
		}
		switch _, twice := f.users[rec[0]]; {
		case rec[0] == "":
			f.lines = append(f.lines, line+" (no token: left out)")
			continue
		case twice:
			line += " (a token that an earlier line has: this one counts)"
		}
		f.users[rec[0]] = u
		f.lines = append(f.lines, line)
	}
}

// User is whom a token proves.
func (f *TokenFile) User(token string) (User, bool) {
	if f == nil {
		return User{}, false
	}
	u, ok := f.users[token]
	return u, ok
}

// Lines tells the users, in the order of the file, without their tokens.
func (f *TokenFile) Lines() []string { return f.lines }
