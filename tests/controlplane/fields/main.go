// Fields prints how Go writes each field of the built-in kinds as JSON: {type: {code: "field field"}}.
//
// Codes: o is left out when empty, p a pointer left out when nil, k always written, n always written and null when nil,
// s a struct that is always written, z a struct left out when zero. The types' names are those of OpenAPI.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type types map[string]map[string]string

var marshaler = reflect.TypeFor[json.Marshaler]()

func main() {
	found := types{}
	for _, kind := range scheme.Scheme.AllKnownTypes() {
		found.add(kind)
	}
	found.add(reflect.TypeFor[apiextensions.CustomResourceDefinition]())
	found.add(reflect.TypeFor[apiregistration.APIService]())
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(found); err != nil {
		panic(err)
	}
}

// add walks through a type and all that it holds.
func (t types) add(kind reflect.Type) {
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		t.add(kind.Elem())
	case reflect.Map:
		t.add(kind.Elem())
	case reflect.Struct:
		name := openAPI(kind)
		if kind.Implements(marshaler) || reflect.PointerTo(kind).Implements(marshaler) {
			return // writes itself: times, quantities, free JSON
		}
		if _, seen := t[name]; seen || !strings.Contains(kind.PkgPath(), "k8s.io/") {
			return
		}
		t[name] = nil
		codes := map[string][]string{}
		t.fields(kind, codes)
		written := map[string]string{}
		for code, names := range codes {
			sort.Strings(names)
			written[code] = strings.Join(names, " ")
		}
		t[name] = written
	}
}

// fields collects the fields of a struct, those of embedded ones as its own.
func (t types) fields(kind reflect.Type, codes map[string][]string) {
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			if field.Anonymous {
				t.fields(field.Type, codes)
			}
			continue
		}
		code := codeOf(field.Type.Kind(), strings.Contains(options, "omitempty"), strings.Contains(options, "omitzero"))
		codes[code] = append(codes[code], name)
		t.add(field.Type)
	}
}

func codeOf(kind reflect.Kind, omitEmpty, omitZero bool) string {
	switch {
	case kind == reflect.Struct && omitZero:
		return "z"
	case kind == reflect.Struct:
		return "s"
	case kind == reflect.Pointer && omitEmpty:
		return "p"
	case omitEmpty:
		return "o"
	case kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map:
		return "n"
	}
	return "k"
}

// openAPI names a type as the API server's documents do: k8s.io/api/core/v1.Pod is io.k8s.api.core.v1.Pod.
func openAPI(kind reflect.Type) string {
	return "io.k8s." + strings.ReplaceAll(strings.TrimPrefix(kind.PkgPath(), "k8s.io/"), "/", ".") + "." + kind.Name()
}
