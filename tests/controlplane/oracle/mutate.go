package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

var (
	builtIn = applyconfigurations.NewTypeConverter(scheme.Scheme)
	deduced = managedfields.NewDeducedTypeConverter()

	applyType = types.NewObjectType("Object")
	patchType = cel.ListType(types.NewObjectType("JSONPatch"))
)

// mutate says what a mutation expression does: which kind it is, its JSON, and the object after it where asked.
func mutate(row Row, output *cel.Type, value ref.Val) map[string]any {
	switch {
	case output.IsExactType(applyType):
		return applyConfiguration(row, value.(*dynamic.ObjectVal))
	case output.IsExactType(patchType):
		return applyPatch(row, value.(traits.Lister))
	}
	return map[string]any{"kind": "invalid",
		"error": "must evaluate to Object or list(JSONPatch) but got " + output.String()}
}

func applyConfiguration(row Row, value *dynamic.ObjectVal) map[string]any {
	answer := map[string]any{"kind": "ApplyConfiguration"}
	if err := value.CheckTypeNamesMatchFieldPathNames(); err != nil {
		answer["error"] = "type mismatch: " + err.Error()
		return answer
	}
	native, ok := value.Value().(map[string]any)
	if !ok {
		answer["error"] = fmt.Sprintf("invalid return type: %T", value)
		return answer
	}
	answer["native"] = jsonable(native)
	if !row.Apply {
		return answer
	}
	object := objectOf(row)
	gvk := object.GroupVersionKind()
	converter := deduced
	if scheme.Scheme.Recognizes(gvk) {
		converter = builtIn
	}
	fragment := &unstructured.Unstructured{Object: native}
	fragment.SetGroupVersionKind(gvk)
	object.SetGroupVersionKind(gvk)
	patched, err := patch.ApplyStructuredMergeDiff(converter, object, fragment)
	if err != nil {
		answer["applyError"] = "error applying patch: " + err.Error()
		return answer
	}
	answer["patched"] = patched.(*unstructured.Unstructured).Object
	return answer
}

func objectOf(row Row) *unstructured.Unstructured {
	value := must(decodeJSON(row.Vars["object"]))
	object, _ := value.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	return &unstructured.Unstructured{Object: object}
}

// jsonable replaces what JSON has no form for by its Go text.
func jsonable(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = jsonable(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = jsonable(item)
		}
		return out
	}
	if _, err := json.Marshal(value); err != nil {
		return fmt.Sprint(value)
	}
	return value
}

func applyPatch(row Row, value traits.Lister) map[string]any {
	answer := map[string]any{"kind": "JSONPatch"}
	operations := jsonpatch.Patch{}
	for it := value.Iterator(); it.HasNext() == types.True; {
		operation, err := operationOf(it.Next())
		if err != nil {
			answer["error"] = err.Error()
			return answer
		}
		operations = append(operations, operation)
	}
	answer["patch"] = operations
	if !row.Apply {
		return answer
	}
	patched, err := operations.Apply(must(json.Marshal(objectOf(row).Object)))
	if errors.Is(err, jsonpatch.ErrTestFailed) {
		answer["patched"] = objectOf(row).Object // the API server then leaves the object as it was
		return answer
	}
	if err != nil {
		answer["applyError"] = "JSON Patch: " + err.Error()
		return answer
	}
	answer["patched"] = json.RawMessage(patched)
	return answer
}

// operationOf repeats what the API server's JSON patcher does with one element; its own code for it is private.
func operationOf(value ref.Val) (jsonpatch.Operation, error) {
	converted, err := value.ConvertToNative(reflect.TypeFor[*mutation.JSONPatchVal]())
	if err != nil {
		return nil, fmt.Errorf("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: %w", err)
	}
	element := converted.(*mutation.JSONPatchVal)
	operation := jsonpatch.Operation{"op": quoted(element.Op), "path": quoted(element.Path)}
	if element.From != "" {
		operation["from"] = quoted(element.From)
	}
	if element.Val == nil {
		return operation, nil
	}
	if object, ok := element.Val.(*dynamic.ObjectVal); ok {
		if err := object.CheckTypeNamesMatchFieldPathNames(); err != nil {
			return nil, fmt.Errorf("type mismatch: %w", err)
		}
	}
	const refused = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: %w"
	message, err := element.Val.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return nil, fmt.Errorf(refused, err)
	}
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf(refused, err)
	}
	operation["value"] = (*json.RawMessage)(&body)
	return operation, nil
}

func quoted(text string) *json.RawMessage {
	raw := json.RawMessage(must(json.Marshal(text)))
	return &raw
}
