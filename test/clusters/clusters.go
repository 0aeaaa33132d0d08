// Package clusters brings up real Kubernetes clusters for tests and the demo, and takes them
// down: etcd, API server, controller manager and scheduler are processes on this machine, and
// kwok replaces the kubelets.
//
// The programs come from install.sh, which builds them from controlplane, a separate Go module,
// so that users of the plugin do not download its dependencies.
package clusters

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

//go:embed stages.yaml
var stages []byte

// components is the configuration of the programs in addition to kwokctl's own.
const components = `
---
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokctlConfiguration
componentsPatches:
# There is one scheduler. With a Lease to keep it ends with an API server that is away.
- name: kube-scheduler
  extraArgs:
  - {key: leader-elect, value: "false"}
`

// Config describes the clusters to bring up.
type Config struct {
	// Programs is the directory that install.sh filled.
	Programs string
	// Dir is the directory for everything that belongs to the clusters. It has to be absent or
	// empty, and is removed with them.
	Dir string
	// Names are the names of the clusters and of their contexts.
	Names []string
	// Nodes is the number of nodes of each cluster.
	Nodes int
	// Stages are further documents of kind Stage, in YAML, in addition to stages.yaml.
	Stages []byte
	// Gates are feature gates to enable, and Served APIs to serve, in addition to the defaults,
	// such as "scheduling.k8s.io/v1beta1"; by a cluster's name.
	Gates, Served map[string][]string
	// ControlPlanes are directories with another kube-apiserver, kube-controller-manager and
	// kube-scheduler than those in Programs, such as an older version's; by a cluster's name.
	ControlPlanes map[string]string
	// Keep leaves the clusters up when this process ends, until Remove takes them down. Otherwise
	// they end with the process, however it ends.
	Keep bool
}

// Set is a set of running clusters.
type Set struct {
	// Kubeconfig is a file with a context for each cluster. The first one is current.
	Kubeconfig string
	// Programs is the directory with kubectl and the others.
	Programs string

	dir   string
	names []string
	guard *guard
	// started must be called once a cluster that was stopped is up again.
	started func()
}

// Up brings up clusters. If that fails, it removes all of them.
func Up(ctx context.Context, c Config) (*Set, error) {
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("bring up clusters in %s: it is not empty", c.Dir)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	programs, err := filepath.Abs(c.Programs)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(programs, "kwokctl")); err != nil {
		return nil, fmt.Errorf("bring up clusters: no programs in %s; make clusters puts them there", programs)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &Set{Kubeconfig: filepath.Join(dir, "kubeconfig"), Programs: programs, dir: dir, names: c.Names}
	if !c.Keep {
		if s.guard, err = newGuard(s); err != nil {
			return nil, err
		}
	}
	if err := s.create(ctx, c); err != nil {
		return nil, errors.Join(err, s.Down())
	}
	return s, nil
}

func (s *Set) create(ctx context.Context, c Config) error {
	stagesFile := filepath.Join(s.dir, "stages.yaml")
	if err := os.WriteFile(stagesFile, slices.Concat(stages, []byte(components), []byte("\n---\n"), c.Stages), 0o644); err != nil {
		return err
	}
	for _, name := range s.names {
		args := []string{
			"create", "cluster", "--runtime", "binary", "--wait", "2m",
			"--kubeconfig", s.Kubeconfig, "--config", stagesFile, "--disable-qps-limits", "--enable-crds", "Logs,ClusterLogs,ClusterExec,ClusterPortForward",
		}
		controlPlane := cmp.Or(c.ControlPlanes[name], s.Programs)
		for program, folder := range map[string]string{
			"etcd": s.Programs, "kube-apiserver": controlPlane, "kube-controller-manager": controlPlane, "kube-scheduler": controlPlane, "kwok-controller": s.Programs,
		} {
			args = append(args, "--"+program+"-binary", filepath.Join(folder, strings.TrimSuffix(program, "-controller")))
		}
		args = append(args, extraArgs(c.Gates[name], c.Served[name])...)
		if err := s.createOne(ctx, name, args...); err != nil {
			return err
		}
		if err := s.Scale(ctx, name, c.Nodes); err != nil {
			return err
		}
	}
	return s.renameContexts()
}

// extraArgs returns arguments for additional gates and APIs.
func extraArgs(gates, served []string) []string {
	var args []string
	turnOn := func(component, flag string, names []string) {
		if len(names) > 0 {
			args = append(args, "--extra-args", component+"="+flag+"="+strings.Join(names, "=true,")+"=true")
		}
	}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		turnOn(component, "feature-gates", gates)
	}
	turnOn("kube-apiserver", "runtime-config", served)
	return args
}

func (s *Set) createOne(ctx context.Context, name string, args ...string) error {
	free, err := lockPorts(ctx)
	if err != nil {
		return err
	}
	defer free()
	return s.kwokctl(ctx, name, args...)
}

// Scale sets the number of nodes of a cluster.
func (s *Set) Scale(ctx context.Context, name string, nodes int) error {
	return s.kwokctl(ctx, name, "scale", "node", "--replicas", strconv.Itoa(nodes))
}

// Down takes the clusters down and removes their directory.
func (s *Set) Down() error {
	if s.guard != nil {
		return s.guard.release()
	}
	return Remove(s.Programs, s.dir)
}

// Remove takes down the clusters that were brought up in a directory with Keep, and removes the
// directory. It is not an error if there are none.
func Remove(programs, dir string) error {
	out, err := removal(programs, dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("take down the clusters in %s: %w: %s", dir, err, out)
	}
	return nil
}

// Config returns client settings for one of the clusters.
func (s *Set) Config(name string) (*rest.Config, error) {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: s.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
}

// kwokctl runs kwokctl for one cluster, and returns an error with its output if it fails.
func (s *Set) kwokctl(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(s.Programs, "kwokctl"), append([]string{"--name", name}, args...)...)
	cmd.Env = append(os.Environ(), "KWOK_WORKDIR="+workdir(s.dir))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	// The guard waits for it if this process dies before it is done.
	pidFile := filepath.Join(s.dir, "kwokctl.pid")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("kwokctl %s of cluster %s: %w: %s", strings.Join(args[:2], " "), name, err, &out)
	}
	return os.Remove(pidFile)
}

func workdir(dir string) string { return filepath.Join(dir, "kwok") }

// renameContexts gives contexts the names of their clusters; kwokctl prefixes them with "kwok-".
func (s *Set) renameContexts() error {
	config, err := clientcmd.LoadFromFile(s.Kubeconfig)
	if err != nil {
		return err
	}
	for _, name := range s.names {
		config.Contexts[name] = config.Contexts["kwok-"+name]
		delete(config.Contexts, "kwok-"+name)
	}
	config.CurrentContext = s.names[0]
	return clientcmd.WriteToFile(*config, s.Kubeconfig)
}

// Kubectl returns a call of kubectl for these clusters. A command of the plugin runs without kubectl,
// from PATH, just as kubectl would replace itself by it: kubectl needs more CPU time to start than
// the plugin for most of its answers, and the tests run thousands. Scripts call kubectl.
func (s *Set) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	program := filepath.Join(s.Programs, "kubectl")
	if len(args) > 0 && args[0] == "jobs-managedby" {
		if plugin, err := exec.LookPath("kubectl-jobs_managedby"); err == nil {
			program, args = plugin, args[1:]
		}
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig)
	return cmd
}

// Authority returns the path of a cluster's certificate authority without ".crt" and ".key".
func (s *Set) Authority(name string) string {
	return filepath.Join(workdir(s.dir), "clusters", name, "pki", "ca")
}
