package completion

import (
	"path/filepath"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// program returns the name of the plugin's file.
func program(env util.Environment) string { return pluginPrefix + pluginName(env) }

// pluginPrefix is the prefix of the names of all plugins' files.
const pluginPrefix = "kubectl-"

// pluginName returns the name of the plugin's file without the prefix: as it was called, otherwise
// as it is installed.
func pluginName(env util.Environment) string {
	name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(env.Program), ".exe"), pluginPrefix)
	if !ok {
		return pluginNames()[0]
	}
	return name
}

// pluginNames returns the names that the plugin is installed under.
func pluginNames() []string { return []string{"jobs_managedby", "jobmanagedby"} }
