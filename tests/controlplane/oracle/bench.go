package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
)

type question struct{ name, env, expr string }

var questions = []question{
	{"E1", "validation", `object.spec.template.spec.containers.all(c, !has(c.resources) || !has(c.resources.limits) || !('nvidia.com/gpu' in c.resources.limits) || quantity(c.resources.limits['nvidia.com/gpu']).isInteger())`},
	{"E2", "validation", `object.metadata.?labels[?'kueue.x-k8s.io/queue-name'].orValue('') != ''`},
	{"E3", "validation", `object.spec.template.spec.containers.map(c, c.name).filter(n, n.startsWith('m')).size() > 0`},
	{"E4", "validation", `object.spec.template.spec.containers.all(c, c.image.matches('^registry\\.example\\.com/[a-z0-9/._-]+:[a-z0-9.]+$'))`},
	{"E5", "mutation", `Object{spec: Object.spec{suspend: true}}`},
}

// bench reads one object as JSON from stdin and prints a JSON line per expression: microseconds with the policy
// plugin's options ("tracked") and with cost tracking switched off ("untracked"). An argument gives the rounds.
func bench() {
	rounds := 50000
	if len(os.Args) > 2 {
		rounds = must(strconv.Atoi(os.Args[2]))
	}
	var raw json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&raw); err != nil {
		fmt.Fprintln(os.Stderr, "bench wants one JSON object on stdin:", err)
		os.Exit(2)
	}
	row := Row{Env: "validation", Vars: map[string]json.RawMessage{"object": raw}}
	activation := &bindings{values: must(valuesOf(row))}
	for _, q := range questions {
		env := must(environmentOf(Row{Env: q.env}))
		ast, issues := env.Compile(q.expr)
		if issues != nil {
			panic(issues.String())
		}
		tracked := must(env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency)))
		line := map[string]any{"name": q.name, "tracked": round(tracked, activation, rounds)}
		line["untracked"] = round(untracked(q), activation, rounds)
		fmt.Println(text(line))
	}
}

// untracked compiles in an environment with the same libraries; the API server's own cannot switch tracking off.
func untracked(q question) cel.Program {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(), cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(), library.URLs(), library.Regex(), library.Lists(), library.Quantity(),
		ext.Strings(ext.StringsVersion(2)), cel.Variable("object", cel.DynType),
	}
	if q.env == "mutation" {
		options = append(options, common.ResolverEnvOption(&mutation.DynamicTypeResolver{}))
	}
	env := must(cel.NewEnv(options...))
	ast, issues := env.Compile(q.expr)
	if issues != nil {
		panic(issues.String())
	}
	return must(env.Program(ast, cel.EvalOptions(cel.OptOptimize)))
}

func round(program cel.Program, activation *bindings, rounds int) float64 {
	best := time.Duration(1<<62 - 1)
	for range 5 {
		start := time.Now()
		for range rounds {
			_, _, _ = program.ContextEval(context.Background(), activation)
		}
		best = min(best, time.Since(start))
	}
	return float64(best.Nanoseconds()) / float64(rounds) / 1000
}
