package kueue

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/controller"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

const (
	management = "management"
	worker1    = "worker-1"
	worker2    = "worker-2"
)

//go:embed setup.yaml
var setup string

// namespaces are those of the tests, each of which has a LocalQueue on all clusters.
var namespaces = []string{"burst", "room", "gone", "lost", "away", "idle"}

// fleet are the clusters, and the Kueue of each.
type fleet struct {
	set *clusters.Set
	// folder is Kueue's, and api the version of its API that its objects are made in.
	folder, api string
	scratch     string
	running     map[string]*controller.Running
}

// f is nil where there is no Kueue to test on.
var f *fleet

// TestMain makes commands of this test binary, so that kubectl finds the plugin on PATH.
func TestMain(m *testing.M) {
	plugin := func() { os.Exit(cmd.Run(util.ThisProcess())) }
	testscript.Main(withKueue{m}, map[string]func(){"kubectl-jobs_managedby": plugin})
}

// withKueue runs the tests with clusters around them, if there is a Kueue.
type withKueue struct{ m *testing.M }

func (w withKueue) Run() int {
	folder := os.Getenv("KUEUE")
	if folder == "" {
		return w.m.Run()
	}
	code, err := w.run(context.Background(), folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func (w withKueue) run(ctx context.Context, folder string) (code int, err error) {
	scratch, err := os.MkdirTemp("", "jobmanagedby-kueue-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	set, err := clusters.Up(ctx, clusters.Config{
		Programs: "../../bin/clusters", Dir: scratch + "/clusters", Names: []string{management, worker1, worker2}, Nodes: 2,
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, set.Down()) }()
	f = &fleet{set: set, folder: folder, scratch: scratch, running: map[string]*controller.Running{}}
	defer func() {
		for _, r := range f.running {
			err = errors.Join(err, r.Stop(ctx))
		}
	}()
	if err := f.begin(ctx); err != nil {
		return 0, err
	}
	return w.m.Run(), nil
}

// begin has all clusters serve Kueue's API, runs Kueue on each, and makes MultiKueue of them.
func (f *fleet) begin(ctx context.Context) error {
	definitions, err := kinds.Read(os.DirFS(f.folder), "crds")
	if err != nil {
		return err
	}
	f.api = storedVersion(definitions)
	for _, cluster := range []string{management, worker1, worker2} {
		config, err := f.set.Config(cluster)
		if err != nil {
			return err
		}
		if err := errors.Join(kinds.InstallAll(ctx, config, definitions), f.start(ctx, cluster)); err != nil {
			return err
		}
	}
	return f.configure(ctx)
}

// storedVersion is the version in which Workloads are stored: without Kueue's own conversion,
// which is not installed here, it is the one to use.
func storedVersion(definitions []*unstructured.Unstructured) string {
	for _, d := range definitions {
		versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
		for _, one := range versions {
			if v, _ := one.(map[string]any); d.GetName() == "workloads.kueue.x-k8s.io" && v["storage"] == true {
				return fmt.Sprint(v["name"])
			}
		}
	}
	return ""
}

// configuration is Kueue's. All versions of it take the older form.
const configuration = `
apiVersion: config.kueue.x-k8s.io/v1beta1
kind: Configuration
health: {healthProbeBindAddress: "0"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: .}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
clientConnection: {qps: 50, burst: 100}
integrations: {frameworks: [batch/job]}
`

// untilClosed runs a program until its own standard input is closed.
const untilClosed = `"$@" & child=$!; cat >/dev/null; kill "$child"; wait "$child"`

// start runs the Kueue of a cluster.
func (f *fleet) start(ctx context.Context, cluster string) error {
	webhooks, err := kinds.Read(os.DirFS(f.folder), "webhooks")
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		if err := keepOurs(w); err != nil {
			return err
		}
	}
	client, err := f.client(cluster)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(f.folder)
	if err != nil {
		return err
	}
	dir := filepath.Join(f.scratch, "kueue-"+cluster)
	config, err := f.kubeconfig(ctx, cluster)
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "kubeconfig"), config, 0o600)); err != nil {
		return err
	}
	queues := schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: f.api, Resource: "clusterqueues"}
	refused := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"resourceGroups": []any{map[string]any{
		"coveredResources": []any{"cpu"},
		"flavors":          []any{map[string]any{"name": "default", "resources": []any{map[string]any{"name": "cpu", "nominalQuota": "-1"}}}},
	}}}}}
	refused.SetGroupVersionKind(queues.GroupVersion().WithKind("ClusterQueue"))
	refused.SetName("refused")
	f.running[cluster], err = controller.Program{
		Name: "kueue", Dir: dir, Webhooks: webhooks, Resource: queues, Refused: refused,
		Command: func(port int) []string {
			// What cannot be written is told by Kueue, which then has no configuration.
			_ = os.WriteFile(filepath.Join(dir, "config.yaml"), fmt.Appendf(nil, configuration, port), 0o600)
			return []string{
				"sh", "-c", untilClosed, "sh", filepath.Join(folder, "kueue"), "--config", "config.yaml", "--kubeconfig", "kubeconfig",
				"--feature-gates=MultiKueueBatchJobWithManagedBy=true,VisibilityOnDemand=false",
			}
		},
	}.Start(ctx, client)
	return err
}

// keepOurs leaves those webhooks that concern Jobs and Kueue's own kinds. Those of kinds that
// Kueue is not told to look after nobody serves.
func keepOurs(configuration *unstructured.Unstructured) error {
	all, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(one any) bool {
		webhook, _ := one.(map[string]any)
		rules, _, _ := unstructured.NestedSlice(webhook, "rules")
		return slices.ContainsFunc(rules, func(one any) bool {
			rule, _ := one.(map[string]any)
			groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
			resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
			isJobs := slices.Contains(groups, "batch") && slices.Contains(resources, "jobs")
			return !isJobs && !slices.Contains(groups, "kueue.x-k8s.io")
		})
	})
	return unstructured.SetNestedSlice(configuration.Object, all, "webhooks")
}

// configure makes queues on all clusters, and the first one the manager of the others.
func (f *fleet) configure(ctx context.Context) error {
	type worker struct{ Name, Kubeconfig string }
	var workers []worker
	for _, name := range []string{worker1, worker2} {
		config, err := f.kubeconfig(ctx, name)
		if err != nil {
			return err
		}
		workers = append(workers, worker{name, base64.StdEncoding.EncodeToString(config)})
		if err := f.apply(ctx, name, nil); err != nil {
			return err
		}
	}
	return f.apply(ctx, management, workers)
}

func (f *fleet) apply(ctx context.Context, cluster string, workers any) error {
	var text bytes.Buffer
	data := map[string]any{"API": f.api, "Namespaces": namespaces, "Workers": workers}
	if err := template.Must(template.New("setup").Parse(setup)).Execute(&text, data); err != nil {
		return err
	}
	_, err := f.kubectl(ctx, text.String(), "--context", cluster, "apply", "--server-side", "-f", "-")
	return err
}

// kubeconfig is one of a cluster alone, with all that it takes.
func (f *fleet) kubeconfig(ctx context.Context, cluster string) ([]byte, error) {
	text, err := f.kubectl(ctx, "", "--context", cluster, "config", "view", "--minify", "--flatten", "--raw")
	return []byte(text), err
}

func (f *fleet) client(cluster string) (dynamic.Interface, error) {
	config, err := f.set.Config(cluster)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return dynamic.NewForConfig(config)
}

// kubectl runs it, with the plugin on PATH.
func (f *fleet) kubectl(ctx context.Context, stdin string, args ...string) (stdout string, err error) {
	c := exec.CommandContext(ctx, filepath.Join(f.set.Programs, "kubectl"), args...)
	c.Env = append(os.Environ(), "KUBECONFIG="+f.set.Kubeconfig)
	var out, told bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &told
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, &told)
	}
	return out.String(), nil
}
