// Command demo brings up three real clusters under .demo, fills them with a realistic fleet, and
// shows it with the plugin, called by the real kubectl.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
)

var (
	programs = flag.String("programs", "bin/clusters", "directory with the control plane's programs")
	kueues   = flag.String("kueue", "bin/kueue/current", "directory with Kueue's program")
	plugins  = flag.String("plugins", "bin", "directory with the plugin's links")
	dir      = flag.String("dir", ".demo", "directory of the clusters")
	record   = flag.String("record", "", "also write a bundle of the fleet into this directory, which is replaced")
	down     = flag.Bool("down", false, "take the clusters down and remove the directory")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	do := up
	if *down {
		do = func(context.Context) error { return takeDown() }
	}
	err := do(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func takeDown() error {
	absolute, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	return clusters.Remove(*programs, absolute)
}

func up(ctx context.Context) error {
	// Leftovers of an earlier demo are replaced, so that the fleet is always the same.
	if err := takeDown(); err != nil {
		return err
	}
	fmt.Println("bringing up management, worker-1 and worker-2 (a few seconds each)")
	set, err := clusters.Up(ctx, clusters.Config{
		Programs: *programs, Dir: *dir, Names: []string{management, worker1, worker2}, Nodes: 4, Keep: true,
	})
	if err != nil {
		return err
	}
	fmt.Println("running Kueue on each, and submitting Jobs to its MultiKueue (half a minute)")
	if err := errors.Join(addLogs(ctx, set), fill(ctx, set)); err != nil {
		return errors.Join(err, set.Down())
	}
	if err := show(ctx, set); err != nil {
		return err
	}
	return hints()
}

// show runs the commands of a user, through kubectl and with the plugin on PATH.
func show(ctx context.Context, set *clusters.Set) error {
	commands := []string{
		"kubectl get jobs -A",
		"kubectl jobs-managedby ls --all-contexts -A",
		"kubectl jobs-managedby trace train -n ml",
		"kubectl jobs-managedby trace finetune -n vision",
		"kubectl jobs-managedby trace -f examples/probe.yaml",
		"kubectl jobs-managedby logs train -n ml --tail 2",
		"kubectl jobs-managedby check -A --grace 0s --fail-on none",
	}
	if *record != "" {
		if err := errors.Join(os.RemoveAll(*record), os.MkdirAll(filepath.Dir(*record), 0o755)); err != nil {
			return err
		}
		commands = append(commands, "kubectl jobs-managedby snapshot -A --redact "+*record)
	}
	commands = append(commands,
		"kubectl jobs-managedby dispatch -f test/demo/tune.yaml --context management --to worker-1",
		"kubectl jobs-managedby ls --contexts management,worker-1 -n ml",
		"kubectl jobs-managedby trace tune -n ml",
	)
	for _, command := range commands {
		fmt.Printf("\n$ %s\n", command)
		words := strings.Fields(command)
		cmd := exec.CommandContext(ctx, filepath.Join(set.Programs, words[0]), words[1:]...)
		path, err := searchPath(set)
		if err != nil {
			return err
		}
		cmd.Env = append(os.Environ(), "KUBECONFIG="+set.Kubeconfig, "PATH="+path)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
	}
	return nil
}

func searchPath(set *clusters.Set) (string, error) {
	plugin, err := filepath.Abs(*plugins)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{plugin, set.Programs, os.Getenv("PATH")}, string(os.PathListSeparator)), nil
}

func hints() error {
	_, err := fmt.Printf(`
The clusters stay up. In this shell:

  export KUBECONFIG=$PWD/%[1]s/kubeconfig PATH=$PWD/%[2]s:$PWD/%[3]s:$PATH

  kubectl jobs-managedby ls -A --all-contexts --summary
  kubectl jobs-managedby ls -A --delegated --status Unclaimed
  kubectl jobs-managedby ls -A --all-contexts -w
  kubectl jobs-managedby trace -A
  kubectl jobs-managedby trace sweep -n ml       # too large; in vision: finetune waits for
  kubectl jobs-managedby trace score -n vision   # another Job, score lacks a queue, align a rack
  kubectl jobs-managedby check -A --grace 0s
  kubectl jobs-managedby recreate eval -n ml --managed-by '' --dry-run=client
  kubectl jobs-managedby ls -A -o json

make demo-down takes them down.
`, *dir, *plugins, *programs)
	return err
}
