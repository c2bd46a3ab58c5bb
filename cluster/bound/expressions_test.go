package bound

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// What rules compute with is bounded like what comes in otherwise, even if a rule puts it
// together itself.
func TestExpressionsAreBounded(t *testing.T) {
	Expressions()
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	for name, env := range map[string]*cel.Env{"new": base.NewExpressionsEnv(), "stored": base.StoredExpressionsEnv()} {
		env, err := env.Extend(cel.Variable("text", cel.StringType))
		if err != nil {
			t.Fatal(err)
		}
		for rule, want := range map[string]string{
			`quantity("1e" + "20000000").isGreaterThan(quantity("1"))`: "unable to parse quantity's suffix",
			`quantity("1e-20000000").isGreaterThan(quantity("1"))`:     "unable to parse quantity's suffix",
			`isQuantity("1e20000000")`:                                 "false",
			`isQuantity("1e20")`:                                       "true",
			`quantity("1Gi").isGreaterThan(quantity("1G"))`:            "true",
			`quantity(" 1")`:                                           "quantities must match the regular expression",
			`"aaab".matches("((a?){30}){30}b$")`:                       "true",
			`text.matches("((a?){30}){30}b$")`:                         "actual cost limit exceeded",
			`text.matches("^a")`:                                       "true",
		} {
			ast, issues := env.Compile(rule)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			program, err := env.Program(ast)
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := program.Eval(map[string]any{"text": strings.Repeat("a", 60_000)})
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(out.Value())
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s, %s: %s, want %s", name, rule, got, want)
			}
		}
	}
}
