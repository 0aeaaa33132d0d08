package fleet_test

import (
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// everything has a value for everything that a flag can override.
const everything = `
apiVersion: v1
kind: Config
current-context: plain
clusters:
- name: plain
  cluster: {server: "https://plain.example", certificate-authority-data: Y2E=, tls-server-name: inner, proxy-url: "http://proxy.example:3128"}
- {name: other, cluster: {server: "https://other.example", disable-compression: true}}
users:
- {name: plain, user: {token: secret, client-certificate-data: Y2VydA==, client-key-data: a2V5}}
- {name: other, user: {tokenFile: token-file, as: somebody, as-uid: "1", as-groups: [g], as-user-extra: {k: [v]}}}
contexts:
- {name: plain, context: {cluster: plain, user: plain, namespace: batch}}
- {name: bare, context: {cluster: other}}
- {name: other, context: {cluster: other, user: other}}
`

// TestFlagsMeanWhatKubectlMeans compares Load with ConfigFlags for the same command line.
func TestFlagsMeanWhatKubectlMeans(t *testing.T) {
	dir := isolate(t)
	write(t, dir, "config", everything)
	write(t, dir, "token-file", "from a file")
	file := write(t, dir, "a-file", "")
	elsewhere := write(t, dir, "elsewhere", threeContexts)

	tested := map[string]bool{}
	for _, tt := range []struct {
		flag string
		args []string
		// others are other flags that the flag needs or changes.
		others []string
	}{
		{flag: "kubeconfig", args: []string{"--kubeconfig=" + elsewhere}},
		{flag: "context", args: []string{"--context=other"}},
		{flag: "cluster", args: []string{"--cluster=other"}},
		{flag: "user", args: []string{"--user=other"}},
		{flag: "namespace", args: []string{"--namespace=elsewhere"}},
		{flag: "server", args: []string{"--server=https://elsewhere.example:1"}},
		{flag: "token", args: []string{"--token=other"}},
		{flag: "token", args: []string{"--token=other"}, others: []string{"--user=other"}},
		{flag: "as", args: []string{"--as=jane"}},
		{flag: "as", args: []string{"--as=jane"}, others: []string{"--user=other"}},
		{flag: "as-uid", args: []string{"--as-uid=42"}, others: []string{"--as=jane"}},
		{flag: "as-group", args: []string{"--as-group=a", "--as-group=b,c"}, others: []string{"--as=jane"}},
		{flag: "as-user-extra", args: []string{"--as-user-extra=k=1=2", "--as-user-extra=k=3", "--as-user-extra=l=", "--as-user-extra=none"}, others: []string{"--as=jane"}},
		{flag: "as-user-extra", args: []string{"--as-user-extra=l=1"}, others: []string{"--user=other"}},
		{flag: "client-certificate", args: []string{"--client-certificate=" + file}, others: []string{"--client-key=" + file, "--context=bare"}},
		{flag: "client-certificate", args: []string{"--client-certificate=" + file}, others: []string{"--client-key=" + file}},
		{flag: "client-key", args: []string{"--client-key=" + file}},
		{flag: "certificate-authority", args: []string{"--certificate-authority=" + file}},
		{flag: "insecure-skip-tls-verify", args: []string{"--insecure-skip-tls-verify"}},
		{flag: "tls-server-name", args: []string{"--tls-server-name=outer"}},
		{flag: "disable-compression", args: []string{"--disable-compression"}},
		{flag: "proxy-url", args: []string{"--proxy-url=socks5://elsewhere.example:1080"}},
		{flag: "request-timeout", args: []string{"--request-timeout=7s"}},
		{flag: "request-timeout", args: []string{"--request-timeout=7"}},
	} {
		tested[tt.flag] = true
		t.Run(tt.flag, func(t *testing.T) {
			args := slices.Concat(tt.others, tt.args)
			ours, kubectls := loadOne(t, args...), kubectl(t, args...)
			assert.NilError(t, ours.Err)
			assert.Equal(t, ours.Config.QPS, float32(-1))
			assert.DeepEqual(t, settingsOf(t, ours), settingsOf(t, kubectls))
			// A flag without an effect would prove nothing.
			without := kubectl(t, tt.others...)
			assert.Assert(t, !reflect.DeepEqual(settingsOf(t, kubectls), settingsOf(t, without)), "it changes nothing")
		})
	}
	pflagsOf(genericclioptions.NewConfigFlags(false)).VisitAll(func(f *pflag.Flag) {
		assert.Assert(t, tested[f.Name] || f.Name == "cache-dir", "--%s is not tested", f.Name)
	})
}

// TestFlagsThatKubectlRefuses checks that a flag which kubectl refuses is refused here, too.
func TestFlagsThatKubectlRefuses(t *testing.T) {
	dir := isolate(t)
	write(t, dir, "config", everything)
	for _, args := range [][]string{
		{"--as-group=a"},
		{"--client-certificate=" + dir + "/gone", "--client-key=" + dir + "/gone"},
		{"--certificate-authority=" + dir + "/gone"},
		{"--proxy-url=gopher://p"},
		{"--request-timeout=soon"},
	} {
		t.Run(args[0], func(t *testing.T) {
			_, want := parse(t, args...).ToRESTConfig()
			assert.Assert(t, want != nil)
			assert.Error(t, loadOne(t, args...).Err, want.Error())
		})
	}
}

func loadOne(t *testing.T, args ...string) fleet.Context {
	t.Helper()
	contexts, err := fleet.Load(parse(t, args...), fleet.Selection{})
	assert.NilError(t, err)
	assert.Equal(t, len(contexts), 1)
	return contexts[0]
}

// kubectl returns the context as kubectl would use it for a command line.
func kubectl(t *testing.T, args ...string) fleet.Context {
	t.Helper()
	flags := parse(t, args...)
	config, err := flags.ToRESTConfig()
	assert.NilError(t, err)
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	assert.NilError(t, err)
	return fleet.Context{Namespace: namespace, Config: config}
}

// settings are a context's settings in comparable form.
type settings struct {
	Namespace, Proxy string
	Config           *rest.Config
}

func settingsOf(t *testing.T, c fleet.Context) settings {
	t.Helper()
	s := settings{Namespace: c.Namespace, Config: rest.CopyConfig(c.Config)}
	if c.Config.Proxy != nil {
		request, err := http.NewRequest(http.MethodGet, "https://api.example", http.NoBody)
		assert.NilError(t, err)
		proxy, err := c.Config.Proxy(request)
		assert.NilError(t, err)
		s.Proxy = proxy.String()
	}
	s.Config.Proxy, s.Config.QPS, s.Config.WrapTransport = nil, 0, nil
	return s
}

func pflagsOf(flags *genericclioptions.ConfigFlags) *pflag.FlagSet {
	set := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	flags.AddFlags(set)
	return set
}
