package util

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestDisplayName(t *testing.T) {
	for program, want := range map[string]string{
		"kubectl-jobs_managedby":              "kubectl jobs-managedby",
		"/usr/local/bin/kubectl-jobmanagedby": "kubectl jobmanagedby",
		"kubectl-jobs_managedby.exe":          "kubectl jobs-managedby",
		"kubectl-jobs-managedby":              "kubectl jobs managedby",
		"main":                                "kubectl jobs-managedby",
		"":                                    "kubectl jobs-managedby",
	} {
		assert.Equal(t, Environment{Program: program}.DisplayName(), want, program)
	}
}

// TestWantsColor: a buffer is not a terminal, so auto never means colour here; the end-to-end tests
// use a terminal.
func TestWantsColor(t *testing.T) {
	for _, tt := range []struct {
		flag string
		env  map[string]string
		want bool
	}{
		{ColorAlways, map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true},
		{ColorNever, nil, false},
		{ColorAuto, map[string]string{"NO_COLOR": ""}, false},
		{ColorAuto, map[string]string{"TERM": "dumb"}, false},
		{ColorAuto, nil, false},
	} {
		e := Environment{
			IOStreams: genericiooptions.IOStreams{Out: &bytes.Buffer{}},
			LookupEnv: func(name string) (string, bool) { value, ok := tt.env[name]; return value, ok },
		}
		assert.Equal(t, e.WantsColor(tt.flag), tt.want, "%+v", tt)
	}
}
