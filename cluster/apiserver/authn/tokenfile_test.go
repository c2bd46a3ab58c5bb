package authn_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/token/tokenfile"

	"kviz/cluster/apiserver/authn"
)

// TestTokenFileAsUpstream: what a token file says is what upstream's reader makes of
// it, errors and their words included.
func TestTokenFileAsUpstream(t *testing.T) {
	for _, text := range []string{
		"", "t1,jane,u1\n", "t1,jane,u1,\"dev,ops\"\n", "t1,jane,u1,\n", "t1,jane,u1,dev,more\n",
		"t1,jane\n", "t1,jane,u1\nt1,joe,u2,dev\n", ",jane,u1\nt2,joe,u2\n", "t1,\"jane,u1\n",
		"# t1,jane,u1\n", "t1 ,jane, u1\n", "\n\nt1,jane,u1\n", "t1,ja\"ne,u1\n",
	} {
		path := filepath.Join(t.TempDir(), "tokens.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		theirs, theirErr := tokenfile.NewCSV(path)
		ours, err := authn.ParseTokenFile([]byte(text))
		if (err == nil) != (theirErr == nil) || err != nil && err.Error() != strings.ReplaceAll(theirErr.Error(), path, authn.TokenFilePath) {
			t.Errorf("%q: error %v, upstream %v", text, err, theirErr)
		}
		if err != nil || theirErr != nil {
			continue
		}
		for _, token := range []string{"t1", "t2", "t1 ", "# t1", ""} {
			u, ok := ours.User(token)
			resp, found, err := theirs.AuthenticateToken(t.Context(), token)
			if err != nil || found != ok {
				t.Errorf("%q, token %q: known %v, upstream %v (%v)", text, token, ok, found, err)
			}
			if found && ok && (u.Name != resp.User.GetName() || u.UID != resp.User.GetUID() || !slices.Equal(u.Groups, resp.User.GetGroups())) {
				t.Errorf("%q, token %q: %+v, upstream %+v", text, token, u, resp.User)
			}
		}
	}
}

// TestTokenFileLines: the lines tell who is in the file, and no token.
func TestTokenFileLines(t *testing.T) {
	f, err := authn.ParseTokenFile([]byte("secret-1,jane,u1,\"dev,ops\"\n,nobody,\nsecret-1,joe,u2\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(f.Lines(), "\n")
	want := "jane, uid u1, groups dev ops\nnobody (no token: left out)\njoe, uid u2 (a token that an earlier line has: this one counts)"
	if got != want {
		t.Errorf("lines:\n%s\nwant:\n%s", got, want)
	}
}
