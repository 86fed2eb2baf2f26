package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
)

type tagged map[string]any

// valuesOf gives the row's variables; admission variables that are absent are null.
func valuesOf(row Row) (map[string]any, error) {
	values := map[string]any{}
	typed := row.TypedVars || row.Env == ""
	if !typed {
		for _, name := range names {
			values[name] = nil
		}
	}
	for name, raw := range row.Vars {
		var value any
		var err error
		if typed {
			value, err = decodeTagged(raw)
		} else {
			value, err = decodeJSON(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", name, err)
		}
		values[name] = value
	}
	return values, nil
}

func decodeJSON(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return numbers(value)
}

// numbers turns integers into int64 and other numbers into float64, as the API server's decoder does.
func numbers(value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return whole, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			var err error
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			var err error
			if v[key], err = numbers(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func decodeTagged(raw json.RawMessage) (ref.Val, error) {
	var box struct {
		T   string          `json:"t"`
		V   json.RawMessage `json:"v"`
		B64 string          `json:"b64"`
	}
	if err := json.Unmarshal(raw, &box); err != nil {
		return nil, err
	}
	switch box.T {
	case "list":
		return decodeList(box.V)
	case "map":
		return decodeMap(box.V)
	case "bool":
		var value bool
		return types.Bool(box.V != nil && json.Unmarshal(box.V, &value) == nil && value), nil
	case "null":
		return types.NullValue, nil
	case "optional":
		if box.V == nil || string(box.V) == "null" {
			return types.OptionalNone, nil
		}
		inner, err := decodeTagged(box.V)
		return types.OptionalOf(inner), err
	}
	var text string
	if box.V != nil {
		if err := json.Unmarshal(box.V, &text); err != nil {
			return nil, err
		}
	}
	return decodeScalar(box.T, text, box.B64)
}

func decodeScalar(tag, text, b64 string) (ref.Val, error) {
	switch tag {
	case "int":
		value, err := strconv.ParseInt(text, 10, 64)
		return types.Int(value), err
	case "uint":
		value, err := strconv.ParseUint(text, 10, 64)
		return types.Uint(value), err
	case "double":
		value, err := strconv.ParseFloat(text, 64)
		return types.Double(value), err
	case "string":
		if b64 != "" {
			value, err := base64.StdEncoding.DecodeString(b64)
			return types.String(value), err
		}
		return types.String(text), nil
	case "bytes":
		value, err := base64.StdEncoding.DecodeString(text)
		return types.Bytes(value), err
	case "timestamp":
		value, err := time.Parse(time.RFC3339Nano, text)
		return types.Timestamp{Time: value}, err
	case "duration":
		value, err := strconv.ParseInt(text, 10, 64)
		return types.Duration{Duration: time.Duration(value)}, err
	case "type":
		return types.NewTypeValue(text), nil
	}
	return nil, fmt.Errorf("unknown tag %q", tag)
}

func decodeList(raw json.RawMessage) (ref.Val, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	values := make([]ref.Val, len(items))
	for i, item := range items {
		var err error
		if values[i], err = decodeTagged(item); err != nil {
			return nil, err
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values), nil
}

func decodeMap(raw json.RawMessage) (ref.Val, error) {
	var pairs [][2]json.RawMessage
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return nil, err
	}
	values := map[ref.Val]ref.Val{}
	for _, pair := range pairs {
		key, err := decodeTagged(pair[0])
		if err != nil {
			return nil, err
		}
		if values[key], err = decodeTagged(pair[1]); err != nil {
			return nil, err
		}
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, values), nil
}

func encode(value ref.Val) tagged {
	switch v := value.(type) {
	case types.Null:
		return tagged{"t": "null"}
	case types.Bool:
		return tagged{"t": "bool", "v": bool(v)}
	case types.Int:
		return tagged{"t": "int", "v": strconv.FormatInt(int64(v), 10)}
	case types.Uint:
		return tagged{"t": "uint", "v": strconv.FormatUint(uint64(v), 10)}
	case types.Double:
		return tagged{"t": "double", "v": double(float64(v))}
	case types.String:
		if utf8.ValidString(string(v)) {
			return tagged{"t": "string", "v": string(v)}
		}
		return tagged{"t": "string", "b64": base64.StdEncoding.EncodeToString([]byte(v))}
	case types.Bytes:
		return tagged{"t": "bytes", "v": base64.StdEncoding.EncodeToString(v)}
	case types.Timestamp:
		return tagged{"t": "timestamp", "v": v.UTC().Format(time.RFC3339Nano)}
	case types.Duration:
		return tagged{"t": "duration", "v": strconv.FormatInt(int64(v.Duration), 10)}
	case *types.Type:
		return tagged{"t": "type", "v": v.TypeName()}
	case *types.Optional:
		if !v.HasValue() {
			return tagged{"t": "optional", "v": nil}
		}
		return tagged{"t": "optional", "v": encode(v.GetValue())}
	case *dynamic.ObjectVal:
		return encodeObject(v)
	case *mutation.JSONPatchVal:
		return encodePatch(v)
	}
	return encodeCollection(value)
}

func encodeCollection(value ref.Val) tagged {
	switch v := value.(type) {
	case traits.Mapper:
		pairs := [][2]tagged{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			pairs = append(pairs, [2]tagged{encode(key), encode(v.Get(key))})
		}
		slices.SortFunc(pairs, func(a, b [2]tagged) int { return strings.Compare(text(a[0]), text(b[0])) })
		return tagged{"t": "map", "v": pairs}
	case traits.Lister:
		items := []tagged{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			items = append(items, encode(it.Next()))
		}
		return tagged{"t": "list", "v": items}
	}
	return encodeOpaque(value)
}

func encodeOpaque(value ref.Val) tagged {
	name := value.Type().TypeName()
	switch v := value.Value().(type) {
	case *resource.Quantity:
		return tagged{"t": name, "v": v.String(), "dec": plainDecimal(v.AsDec().String()), "format": string(v.Format)}
	case apiservercel.Format:
		return tagged{"t": name, "v": v.Name}
	case fmt.Stringer:
		return tagged{"t": name, "v": v.String()}
	default:
		return tagged{"t": name, "v": fmt.Sprint(v)}
	}
}

func plainDecimal(digits string) string {
	if !strings.Contains(digits, ".") {
		return digits
	}
	return strings.TrimRight(strings.TrimRight(digits, "0"), ".")
}

func encodePatch(patch *mutation.JSONPatchVal) tagged {
	fields := tagged{"op": patch.Op, "path": patch.Path, "from": patch.From, "value": tagged{"t": "nil"}}
	if patch.Val != nil {
		fields["value"] = encode(patch.Val)
	}
	return tagged{"t": "JSONPatch", "v": fields}
}

// encodeObject reads the private fields of an object literal: its public form has lost the types.
func encodeObject(object *dynamic.ObjectVal) tagged {
	field := reflect.ValueOf(object).Elem().FieldByName("fields")
	fields := *(*map[string]ref.Val)(unsafe.Pointer(field.UnsafeAddr()))
	pairs := [][2]any{}
	for name, value := range fields {
		pairs = append(pairs, [2]any{name, encode(value)})
	}
	slices.SortFunc(pairs, func(a, b [2]any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	return tagged{"t": "object", "n": object.Type().TypeName(), "v": pairs}
}

func double(value float64) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 1):
		return "Infinity"
	case math.IsInf(value, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

func text(value any) string {
	return string(must(json.Marshal(value)))
}
