package bound

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// mostSteps is how many steps one match of a rule may take: half a second. Upstream counts it by
// the lengths of the text and of the pattern, and ((a?){30}){30} is short.
const mostSteps = 5e7

// Expressions gives the bounds to all rules of Kubernetes: to x-kubernetes-validations, policies
// and conditions. It changes the environment from which all of them are made, and so is called
// before the first one is.
var Expressions = sync.OnceFunc(func() {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	for _, env := range []*cel.Env{base.NewExpressionsEnv(), base.StoredExpressionsEnv()} {
		for _, option := range []cel.EnvOption{
			cel.Function("quantity", cel.Overload("string_to_quantity", []*cel.Type{cel.StringType}, apiservercel.QuantityType, cel.UnaryBinding(toQuantity))),
			cel.Function("isQuantity", cel.Overload("is_quantity_string", []*cel.Type{cel.StringType}, cel.BoolType, cel.UnaryBinding(isQuantity))),
		} {
			if _, err := option(env); err != nil {
				panic(fmt.Sprintf("bound: the functions of quantities are others than expected: %v", err))
			}
		}
	}
	interpreter.MatchesRegexOptimization.Factory = boundedMatch
})

// parse is resource.ParseQuantity of what it does not take long to compute with.
func parse(text string) (resource.Quantity, error) {
	if text != strings.TrimSpace(text) {
		return resource.ParseQuantity(text) // refuses it
	}
	if err := Quantity(text); err != nil {
		return resource.Quantity{}, err
	}
	return resource.ParseQuantity(text)
}

// toQuantity is library/quantity.go stringToQuantity.
func toQuantity(arg ref.Val) ref.Val {
	text, ok := arg.Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(arg)
	}
	q, err := parse(text)
	if err != nil {
		return types.WrapErr(err)
	}
	return apiservercel.Quantity{Quantity: &q}
}

// isQuantity is library/quantity.go isQuantity.
func isQuantity(arg ref.Val) ref.Val {
	text, ok := arg.Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(arg)
	}
	_, err := parse(text)
	return types.Bool(err == nil)
}

// boundedMatch is the factory of interpreter.MatchesRegexOptimization, with a bound.
func boundedMatch(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	size := Instructions(pattern)
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(values ...ref.Val) ref.Val {
		if len(values) != 2 {
			return types.NoSuchOverloadErr()
		}
		in, ok := values[0].Value().(string)
		switch {
		case !ok:
			return types.NoSuchOverloadErr()
		case size*float64(len(in)) > mostSteps:
			return types.NewErr("operation cancelled: actual cost limit exceeded")
		}
		return types.Bool(compiled.MatchString(in))
	}), nil
}
