package runtime

import "testing"

// FuzzParseBehaviour: an annotation is a behaviour in which times do not run
// backwards, or an error that names the annotation.
func FuzzParseBehaviour(f *testing.F) {
	for _, s := range []string{
		"serve 80 443; start 30s", "exit 0 after 5s", "oom after 10s", "fail /healthz after 20s for 1m", "fail *", "hang; ignore term", "term 5s", "text hello; say x", ";;", "exit -1", "start -1s", "serve", "fail / for -1h",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ParseBehaviour(s)
		if err != nil {
			return
		}
		if b.Start < 0 || b.After < 0 || b.Term < 0 || b.ExitCode < 0 || b.ExitCode > 255 {
			t.Errorf("%q is %+v", s, b)
		}
		for _, fail := range b.Fails {
			if fail.After < 0 || fail.For < 0 {
				t.Errorf("%q fails %+v", s, fail)
			}
		}
		for _, p := range b.Serve {
			if p < 1 || p > 65535 {
				t.Errorf("%q serves port %d", s, p)
			}
		}
	})
}
