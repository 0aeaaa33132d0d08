package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// parameter is a parameter of a tool.
type parameter struct {
	name string
	// flag is the command's flag that it sets, "" for the command's arguments and for contexts.
	flag string
	// isList is set if it takes several values; for a flag, the flag's type decides.
	isList bool
	// description is the description for clients, "" for the usage of the flag.
	description string
}

// contextsParameter narrows the contexts that the server was started with.
const contextsParameter = "contexts"

// The JSON schema types of parameters.
const (
	typeBoolean = "boolean"
	typeString  = "string"
	typeArray   = "array"
)

// kind returns the JSON schema type of a parameter.
func (p parameter) kind(cmd *cobra.Command) string {
	var flagType string
	if f := cmd.Flag(p.flag); f != nil {
		flagType = f.Value.Type()
	}
	switch {
	case flagType == "bool":
		return typeBoolean
	case p.isList, flagType == "stringSlice", flagType == "stringArray":
		return typeArray
	}
	return typeString
}

// inputSchema returns the schema of a tool's parameters, from the flags of its command.
func inputSchema(cmd *cobra.Command, parameters []parameter) map[string]any {
	properties := map[string]any{}
	for _, p := range parameters {
		property := map[string]any{"type": p.kind(cmd), "description": p.description}
		if p.description == "" {
			property["description"] = cmd.Flag(p.flag).Usage
		}
		if p.kind(cmd) == typeArray {
			property["items"] = map[string]any{"type": typeString}
		}
		properties[p.name] = property
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// values are the values of parameters by their names: each a bool, string or []string.
type values map[string]any

// parse parses the arguments of a call. Its errors are for the caller.
func parse(cmd *cobra.Command, parameters []parameter, arguments json.RawMessage) (values, error) {
	given := map[string]json.RawMessage{}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
		}
	}
	parsed := values{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(parameters, func(p parameter) bool { return p.name == name })
		if i < 0 {
			return nil, unknownParameter(name, parameters)
		}
		if string(given[name]) == "null" {
			continue
		}
		value, err := parseValue(given[name], parameters[i].kind(cmd))
		if err != nil {
			return nil, fmt.Errorf("%s must be %w", name, err)
		}
		parsed[name] = value
	}
	return parsed, nil
}

func unknownParameter(name string, parameters []parameter) error {
	var names []string
	for _, p := range parameters {
		names = append(names, p.name)
	}
	if nearest := fleet.Nearest(name, names); nearest != "" {
		return fmt.Errorf("unknown parameter %q; did you mean %q?", name, nearest)
	}
	return fmt.Errorf("unknown parameter %q; choose one of %s", name, strings.Join(names, ", "))
}

// parseValue parses one value. Its error says what the value must be.
func parseValue(raw json.RawMessage, kind string) (any, error) {
	switch kind {
	case typeBoolean:
		var value bool
		if json.Unmarshal(raw, &value) != nil {
			return nil, fmt.Errorf("true or false, not %s", raw)
		}
		return value, nil
	case typeArray:
		var value []string
		var single string
		if json.Unmarshal(raw, &single) == nil {
			return []string{single}, nil
		}
		if json.Unmarshal(raw, &value) != nil {
			return nil, fmt.Errorf("a list of texts, not %s", raw)
		}
		return value, nil
	}
	var value string
	if json.Unmarshal(raw, &value) != nil {
		return nil, fmt.Errorf("a text, not %s", raw)
	}
	return value, nil
}

// words returns the values as the words of a command line: flags first, then arguments. A value
// never becomes a separate flag.
func (v values) words(parameters []parameter) (flags, arguments []string) {
	for _, p := range parameters {
		value, isGiven := v[p.name]
		if !isGiven || p.name == contextsParameter {
			continue
		}
		switch value := value.(type) {
		case bool:
			flags = append(flags, fmt.Sprintf("--%s=%t", p.flag, value))
		case string:
			if p.flag == "" {
				arguments = append(arguments, value)
			} else {
				flags = append(flags, "--"+p.flag+"="+value)
			}
		case []string:
			if p.flag == "" {
				arguments = append(arguments, value...)
				continue
			}
			for _, one := range value {
				flags = append(flags, "--"+p.flag+"="+one)
			}
		}
	}
	return flags, arguments
}

// text returns the value of a text parameter, "" if it was not given.
func (v values) text(name string) string {
	value, _ := v[name].(string)
	return value
}

// isTrue reports whether a parameter was given as true.
func (v values) isTrue(name string) bool {
	value, _ := v[name].(bool)
	return value
}

// list returns the value of a list parameter, nil if it was not given or is empty.
func (v values) list(name string) []string {
	value, _ := v[name].([]string)
	return value
}

// serverFlagWords returns the flags of the server as words for a command that also has them.
func serverFlagWords(given *pflag.FlagSet, cmd *cobra.Command) []string {
	var words []string
	given.VisitAll(func(flag *pflag.Flag) {
		// -v has already set the log level of all commands.
		if !flag.Changed || flag.Name == "v" || cmd.Flag(flag.Name) == nil {
			return
		}
		for _, value := range util.ValuesOf(given, flag) {
			words = append(words, "--"+flag.Name+"="+value)
		}
	})
	return words
}
