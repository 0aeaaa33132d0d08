package delegation

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// jsonSchema has the used parts of a schema. The schemas below it remain text: most are not
// needed, and those of a Pod template take long to decode.
type jsonSchema struct {
	Ref                  string                     `json:"$ref"`
	AllOf                []json.RawMessage          `json:"allOf"`
	Type                 any                        `json:"type"`
	Description          string                     `json:"description"`
	Properties           map[string]json.RawMessage `json:"properties"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	Required             []string                   `json:"required"`
	Enum                 []any                      `json:"enum"`
	Default              any                        `json:"default"`
	KeepsUnknown         bool                       `json:"x-kubernetes-preserve-unknown-fields"`
	Validations          []struct {
		Rule string `json:"rule"`
	} `json:"x-kubernetes-validations"`
}

// decodeSchema decodes a schema. Missing and malformed parts are ignored.
func decodeSchema(text json.RawMessage) *jsonSchema {
	s := &jsonSchema{}
	_ = json.Unmarshal(text, s)
	return s
}

// A fieldSchema has all schemas that apply to one field together.
type fieldSchema []*jsonSchema

// first returns the first schema that matches.
func (f fieldSchema) first(matches func(*jsonSchema) bool) *jsonSchema {
	if i := slices.IndexFunc(f, matches); i >= 0 {
		return f[i]
	}
	return nil
}

func hasDefault(s *jsonSchema) bool { return s.Default != nil }

// property returns the schema of a field of this object; nil if there is none.
func (f fieldSchema) property(name string) json.RawMessage {
	if part := f.first(func(s *jsonSchema) bool { return s.Properties[name] != nil }); part != nil {
		return part.Properties[name]
	}
	return nil
}

// isOpen reports whether the object may have fields that its schema does not list.
func (f fieldSchema) isOpen() bool {
	return f.first(func(s *jsonSchema) bool {
		return s.KeepsUnknown || len(s.AdditionalProperties) > 0 && string(s.AdditionalProperties) != "false"
	}) != nil
}

func (f fieldSchema) isText() bool {
	typed := f.first(func(s *jsonSchema) bool { return s.Type != nil })
	return typed != nil && typed.Type == "string"
}

func (f fieldSchema) requires(name string) bool {
	return f.first(func(s *jsonSchema) bool { return slices.Contains(s.Required, name) }) != nil
}

// describe sets the facts about managedBy: its allowed values, its reserved value, and whether it
// can change.
func (f fieldSchema) describe(k *Kind) {
	if part := f.first(func(s *jsonSchema) bool { return len(s.Enum) > 0 }); part != nil {
		k.Allowed = owners(part.Enum)
	}
	for _, rule := range f.rules() {
		if values, ok := valuesOf(rule); ok {
			k.Allowed = values
		}
		if rule == "self == oldSelf" || rule == "oldSelf == self" {
			k.Change = WhileSet
		}
	}
	if part := f.first(hasDefault); part != nil {
		k.Reserved, _ = part.Default.(string)
		k.Defaulted = k.Reserved != ""
	}
	if part := f.first(func(s *jsonSchema) bool { return s.Description != "" }); part != nil && k.Reserved == "" {
		k.Reserved = reservedIn(part.Description)
	}
}

func owners(values []any) []Owner {
	var all []Owner
	for _, value := range values {
		if text, ok := value.(string); ok && text != "" {
			all = append(all, Owner(text))
		}
	}
	return all
}

// rules returns the CEL validation rules, with single spaces.
func (f fieldSchema) rules() []string {
	var all []string
	for _, part := range f {
		for _, validation := range part.Validations {
			all = append(all, strings.Join(strings.Fields(validation.Rule), " "))
		}
	}
	return all
}

// celText matches a text in a CEL rule, and allowedValues a rule that is only a list of texts.
var (
	celText       = regexp.MustCompile(celTextPattern)
	allowedValues = regexp.MustCompile(`^self in ?\[ ?(` + celTextPattern + `(?: ?, ?` + celTextPattern + `)*) ?,? ?\]$`)
)

const celTextPattern = `(?:'[^'\\]*'|"[^"\\]*")`

// valuesOf returns the allowed values of a rule that is only a list of them. ok is false for
// other rules, whose allowed values are unknown.
func valuesOf(rule string) ([]Owner, bool) {
	list := allowedValues.FindStringSubmatch(rule)
	if list == nil {
		return nil, false
	}
	var all []Owner
	for _, literal := range celText.FindAllString(list[1], -1) {
		if value := literal[1 : len(literal)-1]; value != "" {
			all = append(all, Owner(value))
		}
	}
	return all, true
}

// reservedText and unsetOrSet match the wordings that reservedIn finds, with the value.
var (
	reservedText = regexp.MustCompile(`reserved\s+string` + quotedValue)
	unsetOrSet   = regexp.MustCompile(`unset,?\s+or\s+set\s+to` + quotedValue)
)

const quotedValue = `\s+['"` + "`" + `]([^'"` + "`" + `\s]+)['"` + "`" + `]`

// reservedIn returns the reserved value in a description, in the wording of Kubernetes' own
// kinds, kinds modelled on them, and Tekton: "the reserved string `x`", and "if unset or set to
// "x", the default controller".
func reservedIn(description string) string {
	for _, wording := range []*regexp.Regexp{reservedText, unsetOrSet} {
		if found := wording.FindStringSubmatch(description); found != nil {
			return found[1]
		}
	}
	return ""
}
