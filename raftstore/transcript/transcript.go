// Package transcript runs tests that are stories: text files of "# comment" lines,
// commands, "----", and their results. A reader learns from them what the code does;
// a test replays the commands and compares the results. KVIZ_REWRITE=1 writes new
// ones.
//
// etcd tests its key index and raft with stories of the same form (cockroachdb/datadriven).
// Start reading at [Run].
package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Run replays every story in testdata, each as a test of its own. replay gets the
// whole file and returns it with the current results of its commands.
func Run(t *testing.T, replay func(tb testing.TB, story string) string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories in testdata (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(want))
			if os.Getenv("KVIZ_REWRITE") != "" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s differs (rewrite it with KVIZ_REWRITE=1 if that is meant):\n%s", file, diff)
			}
		})
	}
}
