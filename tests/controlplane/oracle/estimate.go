package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// Estimate is what an expression may cost before it runs. The Min of a rule of a CRD is how often it may run.
type Estimate struct {
	Min uint64 `json:"min"`
	Max uint64 `json:"max"`
}

// estimated answers a row with `ask` "estimate"; `schema` makes it a validation rule of a custom kind.
func estimated(row Row) Answer {
	answer := Answer{ID: row.ID, Stage: "compile"}
	found, err := estimateOf(row)
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	answer.OK, answer.Stage, answer.Estimate = true, "estimate", &found
	return answer
}

func estimateOf(row Row) (Estimate, error) {
	if row.Schema != nil {
		return estimateRule(row)
	}
	env, err := estimateEnv(row)
	if err != nil {
		return Estimate{}, err
	}
	ast, issues := env.Compile(row.Expr)
	if issues != nil && issues.Err() != nil {
		return Estimate{}, fmt.Errorf("compilation failed: %s", issues.String())
	}
	found, err := env.EstimateCost(ast, &library.CostEstimator{})
	return Estimate{found.Min, found.Max}, err
}

// estimateEnv is the environment of a row; that of the policy compiler is private, so it is put together here again.
func estimateEnv(row Row) (*cel.Env, error) {
	if row.Decl != "vap" {
		return environmentOf(row)
	}
	compiler := must(plugincel.NewCompositedCompiler(base))
	options := plugincel.OptionalVariableDeclarations{HasParams: true, HasAuthorizer: true}
	for _, v := range row.Variables {
		compiler.CompileAndStoreVariable(anything{v.Name, v.Expression}, options, environment.NewExpressions)
	}
	env := must(compiler.Env(environment.NewExpressions))
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	provider := apiservercel.NewDeclTypeProvider(request, namespace)
	declared := must(provider.EnvOptions(env.CELTypeProvider()))
	declared = append(declared,
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("params", cel.DynType),
		cel.Variable("request", request.CelType()), cel.Variable("namespaceObject", namespace.CelType()),
		cel.Variable("authorizer", library.AuthorizerType),
		cel.Variable("authorizer.requestResource", library.ResourceCheckType))
	env, err := env.Extend(declared...)
	if err != nil || row.Env != "mutation" {
		return env, err
	}
	return env.Extend(mutationOptions()...)
}

// estimateRule gives what the API server charges one rule with when it is written, how often it may run not counted.
func estimateRule(row Row) (Estimate, error) {
	var external apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(row.Schema, &external); err != nil {
		return Estimate{}, err
	}
	external.XValidations = apiextensionsv1.ValidationRules{{Rule: row.Expr}}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil); err != nil {
		return Estimate{}, err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return Estimate{}, err
	}
	root := row.Root
	declared := model.SchemaDeclType(structural, root)
	results, err := schemacel.Compile(structural, declared, celconfig.PerCallLimit, base, schemacel.NewExpressionsEnvLoader())
	if err != nil {
		return Estimate{}, err
	}
	if results[0].Error != nil {
		return Estimate{}, fmt.Errorf("%s", strings.TrimSpace(results[0].Error.Error()))
	}
	return Estimate{results[0].MaxCardinality, results[0].MaxCost}, nil
}

// refusals answers a row with `ask` "crd": what the API server says against a CustomResourceDefinition when it is made.
func refusals(row Row) Answer {
	answer := Answer{ID: row.ID, Stage: "compile"}
	var external apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(row.Schema, &external); err != nil {
		answer.Error = err.Error()
		return answer
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&external)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&external, &internal, nil); err != nil {
		answer.Error = err.Error()
		return answer
	}
	found := []string{}
	for _, refusal := range crdvalidation.ValidateCustomResourceDefinition(context.Background(), &internal) {
		found = append(found, refusal.Error())
	}
	answer.OK, answer.Stage, answer.Value = len(found) == 0, "crd", found
	return answer
}
