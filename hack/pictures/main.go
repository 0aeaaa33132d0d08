// Command pictures draws what the plugin prints on a terminal as SVG, for the
// README: it runs real commands on the recorded fleet in examples/fleet. With
// -check it writes nothing, and fails if what is there is not what it would write.
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

// pictures are the commands, by the names of their files, as a reader would type
// them behind "kubectl jobs-managedby".
var pictures = map[string]string{
	"ls":    "ls -A --from examples/fleet",
	"trace": "trace finetune -n vision --from examples/fleet",
	"check": "check -A --grace 0s --from examples/fleet",
}

const (
	plugin = "kubectl jobs-managedby "
	// columns is how wide the terminal is. A picture of it fits into the width that
	// GitHub gives a README.
	columns = 100
)

func main() {
	dir := flag.String("dir", filepath.Join("docs", "pictures"), "folder of the pictures, which holds nothing else")
	check := flag.Bool("check", false, "only check that the pictures are fresh")
	flag.Parse()
	if err := run(*dir, *check); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		svg, err := picture(pictures[name])
		if err != nil {
			return fmt.Errorf("draw %s%s: %w", plugin, pictures[name], err)
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

// picture is a command and what it prints, drawn.
func picture(args string) ([]byte, error) {
	out, err := onTerminal(strings.Fields(args), columns)
	if err != nil {
		return nil, err
	}
	lines, err := parse(out)
	if err != nil {
		return nil, err
	}
	typed := line{{text: "$ ", style: style{dim: true}}, {text: plugin + args, style: style{bold: true}}}
	return draw(plugin+args, append([]line{typed}, lines...), columns), nil
}

// compare tells which files are stale, missing, or not drawn any more.
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
		return fmt.Errorf("%s of %s are not fresh; make pictures draws them anew", strings.Join(stale, ", "), dir)
	}
	return nil
}
