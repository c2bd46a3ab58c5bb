package mounttest

import (
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Each flag prints what upstream's program prints, in its order whatever theirs is, and the exit
// status says whether a file was missing.
func TestMounttest(t *testing.T) {
	for args, want := range map[string]struct {
		code int32
		log  []string
	}{
		"/agnhost mounttest --file_content=/v/a --file_mode=/v/a": {0, []string{`mode of file "/v/a": -rw-r--r--`, "content of file \"/v/a\": one\n"}},
		"mounttest --file_perm /v/a":                              {0, []string{`perms of file "/v/a": -rw-r--r--`}},
		"mounttest --file_mode=/v/b --file_content=/v/b": {1, []string{
			`error from Stat("/v/b"): stat /v/b: no such file or directory`, `error reading file content for "/v/b": open /v/b: no such file or directory`,
		}},
		"mounttest --fs_type=/v": {1, []string{"Error: flag provided but not defined: -fs_type (kviz simulates no other flags of mounttest)"}},
		"mounttest --file_content_in_loop=/v/a --retry_time=3 --break_on_expected_content=false": {0, []string{
			"content of file \"/v/a\": one\n", "content of file \"/v/a\": two\n",
		}},
		"mounttest --file_content_in_loop=/v/new": {0, []string{
			"Error reading file /v/new: open /v/new: no such file or directory, retrying", "content of file \"/v/new\": mount-tester new file\n",
		}},
		"mounttest --file_content_in_loop=/v/a --retry_time=1": {0, []string{
			"content of file \"/v/a\": one\n", "Unexpected content. Expected: mount-tester new file\n. Retrying",
		}},
	} {
		var log []string
		code := int32(-1)
		clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
			files := map[string]string{"/v/a": "one\n"}
			Start(runtime.Instance{
				Process: b.Kernel.NewProcess(trace.Lane{Component: trace.CompPod}), Command: strings.Fields(args),
				Log: func(line string) { log = append(log, line) },
				Read: func(path string) ([]byte, error) {
					text, there := files[path]
					if !there {
						return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
					}
					return []byte(text), nil
				},
				Exit: func(status int32, _ ...trace.ID) { code = status },
			})
			task.Sleep(time.Second)
			files["/v/a"], files["/v/new"] = "two\n", expected
			task.Sleep(time.Minute)
		})
		if code != want.code || !slices.Equal(log, want.log) {
			t.Errorf("%s: exit status %d and\n%q, want %d and\n%q", args, code, log, want.code, want.log)
		}
	}
}
