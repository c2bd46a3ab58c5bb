package lessons_test

import (
	"testing"

	"kviz/lessons"
)

// A command of an offered line is an offered one, though a variable stands for a part of it: a beat whose goals are met lets it
// end, else what is typed next would wait behind it for ever.
func TestACommandWithinALine(t *testing.T) {
	loop := "for i in $(seq 80); do kubectl label configmap settings -n demo n=$i --overwrite || break; done"
	for command, want := range map[string]bool{
		"kubectl label configmap settings -n demo n=34 --overwrite": true,
		"kubectl get configmaps -n demo":                            false,
		"kubectl label":                                             false,
	} {
		if got := lessons.Within(loop, command); got != want {
			t.Errorf("%s within %s: %v", command, loop, got)
		}
	}
	if lessons.Within("kubectl get pods -n demo -w", "kubectl get pods -n demo") {
		t.Error("a line of one command has others in it")
	}
}
