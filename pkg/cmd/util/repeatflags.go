package util

import (
	"bytes"
	"encoding/csv"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// secrets are the flags whose values nobody is to read on a screen, or in the log of a
// CI, and what stands in their place.
func secrets() map[string]string { return map[string]string{"token": "TOKEN"} }

// RepeatedFlags are the words that give all flags which a user has given once more, as far as
// another command takes them. All that changes what comes of a command is said by flags,
// so one that is added later is repeated without more.
func RepeatedFlags(given *pflag.FlagSet, takes func(flag string) bool) []string {
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

// ReachFlags are the words that have a command of kubectl's, or one of ours, reach the clusters
// that were asked, as whom they were: who takes a kubeconfig by a flag may have contexts of
// the same names in the usual one.
func (f *GlobalFlags) ReachFlags() []string {
	if f.Kubectl == nil {
		return nil
	}
	return RepeatedFlags(f.Kubectl, func(flag string) bool {
		// Which context and namespace are meant is told by name.
		return !slices.Contains([]string{"context", "namespace", "cache-dir", "request-timeout", "disable-compression"}, flag)
	})
}

// flagWords give a flag a value. A value may begin with a dash, and be empty.
func flagWords(flag *pflag.Flag, value string) []string {
	switch {
	case flag.NoOptDefVal != "" && value == flag.NoOptDefVal:
		return []string{"--" + flag.Name}
	case flag.NoOptDefVal != "", value == "", strings.HasPrefix(value, "-"):
		return []string{"--" + flag.Name + "=" + value}
	}
	return []string{"--" + flag.Name, value}
}

// ValuesOf are the values that a flag takes, one after the other, to be what it is.
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

// commaSeparated is a list as pflag reads it.
func commaSeparated(values []string) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	// A buffer takes whatever it is given.
	_ = w.Write(values)
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
