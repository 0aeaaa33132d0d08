package util

import (
	"bytes"
	"encoding/csv"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// secrets returns the flags whose values must not appear on a screen or in a CI log, with their
// placeholders.
func secrets() map[string]string { return map[string]string{"token": "TOKEN"} }

// RepeatFlags returns the given flags as words for another command, as far as that command takes
// them. It needs no list of flags, so it includes flags that are added later.
func RepeatFlags(given *pflag.FlagSet, takes func(flag string) bool) []string {
	var words []string
	given.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed || !takes(flag.Name) {
			return
		}
		for _, value := range ValuesOf(given, flag) {
			if placeholder, isSecret := secrets()[flag.Name]; isSecret {
				value = placeholder
			}
			words = append(words, flagWords(flag, value)...)
		}
	})
	return words
}

// CommandReach returns how printed commands, kubectl's or ours, must be called so that they work as the command
// with these flags: with a kubeconfig given by a flag, the default one may have contexts of the same names.
func (e Environment) CommandReach(f *GlobalFlags) command.Reach {
	by := command.Reach{Plugin: e.DisplayName()}
	if f.Kubectl != nil {
		by.Flags = RepeatFlags(f.Kubectl, func(flag string) bool {
			// Context and namespace are named explicitly.
			return !slices.Contains([]string{"context", "namespace", "cache-dir", "request-timeout", "disable-compression"}, flag)
		})
	}
	return by
}

// flagWords returns the words that set a flag. A value may begin with a dash, and be empty.
func flagWords(flag *pflag.Flag, value string) []string {
	switch {
	case flag.NoOptDefVal != "" && value == flag.NoOptDefVal:
		return []string{"--" + flag.Name}
	case flag.NoOptDefVal != "", value == "", strings.HasPrefix(value, "-"):
		return []string{"--" + flag.Name + "=" + value}
	}
	return []string{"--" + flag.Name, value}
}

// ValuesOf returns the values that a flag must be set to, one after the other, to get its present
// value.
func ValuesOf(flags *pflag.FlagSet, flag *pflag.Flag) []string {
	switch flag.Value.Type() {
	case "stringArray":
		if all, ok := flag.Value.(pflag.SliceValue); ok {
			return all.GetSlice()
		}
	case "stringSlice":
		if all, ok := flag.Value.(pflag.SliceValue); ok {
			return []string{commaSeparated(all.GetSlice())}
		}
	case "stringToString":
		pairs, _ := flags.GetStringToString(flag.Name)
		var all []string
		for _, key := range slices.Sorted(maps.Keys(pairs)) {
			all = append(all, key+"="+pairs[key])
		}
		return []string{commaSeparated(all)}
	}
	return []string{flag.Value.String()}
}

// commaSeparated returns a list as pflag parses it.
func commaSeparated(values []string) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	// Writing to a buffer never fails.
	_ = w.Write(values)
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
