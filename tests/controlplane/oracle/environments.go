package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
)

var base = environment.MustBaseEnvSet(version.MajorMinor(1, 36))

var names = []string{"object", "oldObject", "request", "params", "namespaceObject", "variables"}

// always marks an option that holds for every compatibility version.
func always(options ...cel.EnvOption) environment.VersionedOptions {
	return environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options}
}

func mutationOptions() []cel.EnvOption {
	return []cel.EnvOption{
		common.ResolverEnvOption(&mutation.DynamicTypeResolver{}), environment.UnversionedLib(library.JSONPatch)}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func extend(set *environment.EnvSet, options ...environment.VersionedOptions) *environment.EnvSet {
	return must(set.Extend(options...))
}

func dynamicSet() *environment.EnvSet {
	var options []cel.EnvOption
	for _, name := range names {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	return extend(base, always(options...), environment.StrictCostOpt)
}

var (
	validation = dynamicSet()
	mutating   = extend(validation, always(mutationOptions()...))
	plain      = extend(base, environment.StrictCostOpt)
)

// environmentOf gives the environment of a row that does not use the policy compiler.
func environmentOf(row Row) (*cel.Env, error) {
	env := plain.NewExpressionsEnv()
	switch row.Env {
	case "mutation":
		env = mutating.NewExpressionsEnv()
	case "validation":
		env = validation.NewExpressionsEnv()
	}
	var options []cel.EnvOption
	if row.Container != "" {
		options = append(options, cel.Container(row.Container))
	}
	if row.DisableMacros {
		options = append(options, cel.ClearMacros())
	}
	for _, declared := range row.TypeEnv {
		celType, err := parseType(declared.Type)
		if err != nil {
			return nil, err
		}
		options = append(options, cel.Variable(declared.Name, celType))
	}
	if len(options) == 0 {
		return env, nil
	}
	return env.Extend(options...)
}

var typeNames = map[string]*cel.Type{
	"int": cel.IntType, "uint": cel.UintType, "double": cel.DoubleType, "bool": cel.BoolType, "string": cel.StringType,
	"bytes": cel.BytesType, "null": cel.NullType, "dyn": cel.DynType, "timestamp": cel.TimestampType,
	"duration": cel.DurationType, "type": cel.TypeType,
}

func parseType(raw json.RawMessage) (*cel.Type, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		if found, ok := typeNames[name]; ok {
			return found, nil
		}
		return nil, fmt.Errorf("unknown type %q", name)
	}
	var shape struct {
		List     json.RawMessage   `json:"list"`
		Optional json.RawMessage   `json:"optional"`
		Map      []json.RawMessage `json:"map"`
	}
	if err := json.Unmarshal(raw, &shape); err != nil {
		return nil, err
	}
	switch {
	case shape.List != nil:
		element, err := parseType(shape.List)
		return cel.ListType(element), err
	case shape.Optional != nil:
		element, err := parseType(shape.Optional)
		return cel.OptionalType(element), err
	case len(shape.Map) == 2:
		key, err := parseType(shape.Map[0])
		if err != nil {
			return nil, err
		}
		value, err := parseType(shape.Map[1])
		return cel.MapType(key, value), err
	}
	return nil, fmt.Errorf("unknown type %s", raw)
}

// ready is a compiled row: the program, the checked type, and how to make its activation.
type ready struct {
	program    cel.Program
	output     *cel.Type
	activation interpreter.Activation
	composed   plugincel.CompositionContext
}

// bindings is an activation over the row's variables, as the admission plugin has one.
type bindings struct {
	values    map[string]any
	variables ref.Val
}

func (b *bindings) ResolveName(name string) (any, bool) {
	if name == "variables" && b.variables != nil {
		return b.variables, true
	}
	value, ok := b.values[name]
	return value, ok
}

func (b *bindings) Parent() interpreter.Activation { return nil }

// anything accepts every result type, so that the oracle can show what an expression of a wrong type gives.
type anything struct{ name, expression string }

func (a anything) GetName() string          { return a.name }
func (a anything) GetExpression() string    { return a.expression }
func (a anything) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

func prepare(row Row) (ready, error) {
	values, err := valuesOf(row)
	if err != nil {
		return ready{}, err
	}
	activation := &bindings{values: values}
	if row.Decl == "vap" {
		return prepareTyped(row, activation)
	}
	env, err := environmentOf(row)
	if err != nil {
		return ready{}, err
	}
	var ast *cel.Ast
	var issues *cel.Issues
	if row.DisableCheck {
		ast, issues = env.Parse(row.Expr)
	} else {
		ast, issues = env.Compile(row.Expr)
	}
	if issues != nil && issues.Err() != nil {
		return ready{}, fmt.Errorf("compilation failed: %s", issues.String())
	}
	program, err := env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return ready{}, fmt.Errorf("program instantiation failed: %w", err)
	}
	output := cel.DynType
	if !row.DisableCheck {
		output = ast.OutputType()
	}
	return ready{program: program, output: output, activation: activation}, nil
}

// prepareTyped compiles as the two policy kinds do: request and namespaceObject typed, variables lazy.
func prepareTyped(row Row, activation *bindings) (ready, error) {
	compiler := must(plugincel.NewCompositedCompiler(base))
	options := plugincel.OptionalVariableDeclarations{HasParams: true, HasAuthorizer: true}
	for _, v := range row.Variables {
		compiler.CompileAndStoreVariable(anything{v.Name, v.Expression}, options, environment.NewExpressions)
	}
	options.HasPatchTypes = row.Env == "mutation"
	result := compiler.CompileCELExpression(anything{"", row.Expr}, options, environment.NewExpressions)
	if result.Error != nil {
		return ready{}, fmt.Errorf("%s", result.Error.Detail)
	}
	composed := compiler.CreateContext(context.Background())
	activation.variables = composed.Variables(activation)
	return ready{result.Program, result.OutputType, activation, composed}, nil
}

func ask(row Row) Answer {
	answer := Answer{ID: row.ID, Stage: "compile"}
	compiled, err := prepare(row)
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	answer.Stage, answer.Type = "run", compiled.output.String()
	ctx := context.Background()
	if compiled.composed != nil {
		ctx = compiled.composed
	}
	value, details, err := compiled.program.ContextEval(ctx, compiled.activation)
	answer.Cost = costOf(details, compiled.composed)
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	if types.IsUnknownOrError(value) {
		answer.Error = fmt.Sprint(value)
		return answer
	}
	answer.OK, answer.Value = true, encode(value)
	if row.Env == "mutation" {
		answer.Mutation = mutate(row, compiled.output, value)
	}
	return answer
}

func costOf(details *cel.EvalDetails, composed plugincel.CompositionContext) *uint64 {
	if details == nil || details.ActualCost() == nil {
		return nil
	}
	cost := *details.ActualCost()
	if composed != nil {
		cost += uint64(composed.GetAndResetCost())
	}
	return &cost
}
