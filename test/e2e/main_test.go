// Package e2e tests the whole program: real clusters, and the plugin. The
// scripts in testdata, and tests about kubectl, call it by the real kubectl.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
)

const (
	management = "management"
	worker1    = "worker-1"
	worker2    = "worker-2"
)

// set are the clusters that all tests share. Each test has its own namespaces in them, so tests run
// in parallel (t.Parallel), as far as they agree on what is common to all (shared_test.go). Tests
// that stop a cluster, or need all of one to be idle, run first, one after the other.
var set *clusters.Set

// TestMain makes this test binary available as commands, so that kubectl finds the plugin on PATH,
// with the race detector.
func TestMain(m *testing.M) {
	plugin := func() { os.Exit(cmd.Run(thisProcess())) }
	testscript.Main(withClusters{m}, map[string]func(){
		"kubectl-jobs_managedby": plugin,
		"kubectl-jobmanagedby":   plugin,
		credentialProgram:        printCredential,
	})
}

// withClusters starts clusters and runs the tests. Commands of testscript do not get here.
type withClusters struct{ m *testing.M }

func (w withClusters) Run() int {
	// Alpha features that will be on by default: Pods of Jobs that are scheduled in groups.
	groups, groupsAPI := []string{"GenericWorkload", "WorkloadWithJob"}, []string{"scheduling.k8s.io/v1beta1"}
	dir, err := os.MkdirTemp("", "jobmanagedby-e2e-")
	if err == nil {
		c := clusters.Config{
			Programs: "../../bin/clusters", Dir: dir, Names: []string{management, worker1, worker2}, Nodes: 2,
			Gates:         map[string][]string{management: groups, worker2: groups},
			Served:        map[string][]string{management: groupsAPI, worker2: groupsAPI},
			ControlPlanes: controlPlanes(os.Getenv("VERSIONS")),
		}
		for name := range c.ControlPlanes { // Older control planes do not know them.
			delete(c.Gates, name)
			delete(c.Served, name)
		}
		set, err = clusters.Up(context.Background(), c)
	}
	if err == nil {
		err = addContexts(set.Kubeconfig)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := w.m.Run()
	if err := set.Down(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// addContexts adds broken contexts.
func addContexts(kubeconfig string) error {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return err
	}
	add := func(name, cluster, user string) {
		config.Contexts[name] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	}
	of := config.Contexts[management]
	// The same cluster by another name, and with its own namespace.
	add("twin", of.Cluster, of.AuthInfo)
	add("elsewhere", of.Cluster, of.AuthInfo)
	config.Contexts["elsewhere"].Namespace = "elsewhere"
	// Nothing listens there.
	config.Clusters["dead"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	add("dead", "dead", of.AuthInfo)
	// Credentials that are invalid, or have no rights.
	config.AuthInfos["expired"] = &clientcmdapi.AuthInfo{Token: "expired"}
	add("expired", of.Cluster, "expired")
	user := config.AuthInfos[of.AuthInfo].DeepCopy()
	user.Impersonate = "nobody"
	config.AuthInfos["nobody"] = user
	add("nobody", of.Cluster, "nobody")
	// A credential plugin that is not installed, and one that takes long. It closes the standard
	// error of the plugin, because a script waits for its end.
	for name, args := range map[string][]string{
		"no-plugin": {"no-such-credential-plugin"},
		"hung":      {"sh", "-c", "exec sleep 60 2>/dev/null"},
	} {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
			APIVersion: "client.authentication.k8s.io/v1", Command: args[0], Args: args[1:],
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}}
		add(name, of.Cluster, name)
	}
	// A certificate file that does not exist.
	config.Clusters["broken"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1", CertificateAuthority: "/no/such/ca.crt"}
	add("broken", "broken", of.AuthInfo)
	// A name with terminal control sequences.
	add("evil\x1b[31m\u202e", of.Cluster, "expired")
	return clientcmd.WriteToFile(*config, kubeconfig)
}

// client returns a client of one of the clusters.
func client(t *testing.T, cluster string) kubernetes.Interface {
	t.Helper()
	config, err := set.Config(cluster)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			config, err := os.ReadFile(set.Kubeconfig)
			if err != nil {
				return err
			}
			// A copy, so that a script can change it.
			own := filepath.Join(env.WorkDir, "kubeconfig")
			env.Setenv("KUBECONFIG", own)
			env.Setenv("PATH", env.Getenv("PATH")+string(os.PathListSeparator)+set.Programs)
			env.Setenv("HOME", env.WorkDir)
			// Settings of the Go runtime that speed up tests.
			for _, name := range []string{"GORACE", "GOGC", "GOMEMLIMIT"} {
				env.Setenv(name, os.Getenv(name))
			}
			return os.WriteFile(own, config, 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a command and checks its exit code: exits CODE COMMAND ARG...
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if want := args[0]; fmt.Sprint(got) != want {
		ts.Fatalf("exit code %d, want %s", got, want)
	}
}
