package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// TypedJob converts an object to a Job, as Decode does.
func TypedJob(u *unstructured.Unstructured) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	if err := Decode(u, job); err != nil {
		return nil, err
	}
	return job, nil
}

// Decode converts an object to a typed one, without fields that this build does not know. If a field
// has a wrong type, the error names the object and the field.
func Decode(u *unstructured.Unstructured, typed any) error {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed)
	if err == nil {
		return nil
	}
	// The converter's errors name no field.
	if text, invalid := u.MarshalJSON(); invalid == nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(json.Unmarshal(text, reflect.New(reflect.TypeOf(typed).Elem()).Interface()), &wrong) && wrong.Field != "" {
			err = fmt.Errorf("%s is %s, not %s", wrong.Field, describeValue(wrong.Value), describeType(wrong.Type))
		}
	}
	return fmt.Errorf("%s %s is invalid: %w", strings.ToLower(u.GetKind()), NameOf(u), err)
}

// describeValue returns the name of a JSON value, which encoding/json describes as "string" or "number 1.5".
func describeValue(value string) string {
	switch value {
	case "bool":
		return "a boolean"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "string", "number":
		return "a " + value
	default:
		return "the " + value
	}
}

// describeType returns the name of the JSON value that a Go type expects.
func describeType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return t.String()
	}
}
