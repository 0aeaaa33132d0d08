// Command pictures draws the plugin's terminal output as SVG, for the README: it runs real
// commands on the recorded fleet in examples/fleet. With -check it writes nothing, and fails if
// the files are not up to date.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pictures are the commands by the names of their files, without "kubectl jobs-managedby".
var pictures = map[string]string{
	"trace": "trace finetune -n vision --from examples/fleet",
}

// cut is the first line of a command's output that its picture leaves out.
var cut = map[string]string{"trace": "Findings"}

// drawn are the commands that draw a picture themselves.
var drawn = map[string]string{
	"timeline": "trace low2 -n default -o svg --from test/recordings/preempted-on-worker",
}

const (
	plugin = "kubectl jobs-managedby "
	// columns is the width of the terminal. A picture with this width fits into a README on
	// GitHub.
	columns = 100
)

func main() {
	dir := flag.String("dir", filepath.Join("docs", "pictures"), "directory of the pictures, without other files")
	check := flag.Bool("check", false, "only check that the pictures are up to date")
	flag.Parse()
	if err := run(*dir, *check); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		svg, err := picture(name)
		if err != nil {
			return fmt.Errorf("draw %s%s: %w", plugin, pictures[name], err)
		}
		files[name+".svg"] = svg
	}
	for _, name := range slices.Sorted(maps.Keys(drawn)) {
		svg, err := output(strings.Fields(drawn[name]))
		if err != nil {
			return fmt.Errorf("run %s%s: %w", plugin, drawn[name], err)
		}
		files[name+".svg"] = svg
	}
	if check {
		return compare(dir, files)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// picture returns a command and its output, drawn.
func picture(name string) ([]byte, error) {
	args := pictures[name]
	out, err := onTerminal(strings.Fields(args), columns)
	if err != nil {
		return nil, err
	}
	lines, err := parse(out)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(lines, func(l line) bool { return cut[name] != "" && l.plain() == cut[name] }); i > 0 {
		lines = lines[:i-1]
	}
	typed := line{{text: "$ ", style: style{dim: true}}, {text: plugin + args, style: style{bold: true}}}
	return draw(plugin+args, append([]line{typed}, lines...), columns), nil
}

// compare returns an error with the files that are stale, missing, or no longer drawn.
func compare(dir string, files map[string][]byte) error {
	var stale []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if found, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(found, files[name]) {
			stale = append(stale, name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if files[e.Name()] == nil {
			stale = append(stale, e.Name())
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("%s of %s are not up to date. Run make pictures", strings.Join(stale, ", "), dir)
	}
	return nil
}
