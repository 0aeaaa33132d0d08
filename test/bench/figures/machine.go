package figures

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine describes this machine, and its load.
func machine() string {
	name := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	description := fmt.Sprintf("%d processors (%s), %s/%s, %s", runtime.NumCPU(), name, runtime.GOOS, runtime.GOARCH, runtime.Version())
	if average, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load := strings.Fields(string(average)); len(load) > 2 {
			description += fmt.Sprintf("; the load over 15 minutes was %s", load[2])
		}
	}
	return description
}
