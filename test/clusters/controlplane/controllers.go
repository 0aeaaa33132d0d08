package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	scheduling "k8s.io/client-go/informers/scheduling/v1beta1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version/verflag"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/features"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
)

// Defaults of kube-controller-manager: of its flags and its component
// configuration (pkg/controller/*/config/v1alpha1/defaults.go).
const (
	workers          = 5
	namespaceWorkers = 10
	collectorWorkers = 20
	collectorSync    = 30 * time.Second
	quotaSync        = 5 * time.Minute
	quotaResources   = 30 * time.Second
	claimSync        = 15 * time.Second
	namespaceResync  = 5 * time.Minute
	leastResync      = 12 * time.Hour
	nodeStartupGrace = 60 * time.Second
	evictionRate     = 0.1
	secondaryRate    = 0.01
	largeCluster     = 50
	unhealthyZone    = 0.55
)

// managerOptions are the flags of kube-controller-manager that affect the controllers here.
type managerOptions struct {
	kubeconfig string
	qps        float32
	burst      int
	// nodeMonitorPeriod is how often nodes are checked, nodeMonitorGrace how long one may be silent.
	nodeMonitorPeriod, nodeMonitorGrace time.Duration
}

// unused are flags that kwokctl sets and no controller here needs: where to serve metrics and to
// which users, and files of a CA and a key, which are in the kubeconfig or for another controller.
var unused = []string{"authorization-always-allow-paths", "bind-address", "secure-port", "root-ca-file", "service-account-private-key-file"}

// newControllerManagerCommand returns a kube-controller-manager with only those of its controllers
// that tests and the demo need. The complete one adds the volume plugins, half a kubelet and 300
// more packages, which take a minute to compile, and twenty more informers, which take memory in
// every cluster.
func newControllerManagerCommand() *cobra.Command {
	o := managerOptions{}
	cmd := &cobra.Command{
		Use:          "kube-controller-manager",
		Short:        "Run the controllers of Kubernetes that tests and the demo need",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			verflag.PrintAndExitIfRequested()
			return o.run(genericapiserver.SetupSignalContext())
		},
	}
	verflag.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "file that says where the API server is")
	cmd.Flags().Float32Var(&o.qps, "kube-api-qps", 20, "requests a second of each controller")
	cmd.Flags().IntVar(&o.burst, "kube-api-burst", 30, "requests at once of each controller")
	cmd.Flags().DurationVar(&o.nodeMonitorPeriod, "node-monitor-period", 5*time.Second, "how often nodes are looked at")
	utilfeature.DefaultMutableFeatureGate.AddFlag(cmd.Flags())
	cmd.Flags().DurationVar(&o.nodeMonitorGrace, "node-monitor-grace-period", 50*time.Second, "how long a node may be silent")
	for _, name := range unused {
		cmd.Flags().String(name, "", "is not used")
	}
	return cmd
}

func (o *managerOptions) run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = o.qps, o.burst
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	m, err := newManager(ctx, config, o)
	if err != nil {
		return err
	}
	for _, start := range []func(context.Context) error{
		m.jobs, m.statefulSets, m.namespaces, m.accounts, m.collector, m.quota, m.nodes, m.claims, m.roles,
	} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return m.wait(ctx)
}

// manager is what the controllers share. They are created first, then the informers that they
// requested are started, and then they run.
type manager struct {
	options    *managerOptions
	config     *rest.Config
	informers  informers.SharedInformerFactory
	any        informerfactory.InformerFactory
	metadata   metadatainformer.SharedInformerFactory
	mapper     *restmapper.DeferredDiscoveryRESTMapper
	started    chan struct{}
	loops      []func(context.Context)
	metaClient metadata.Interface
}

func newManager(ctx context.Context, config *rest.Config, o *managerOptions) (*manager, error) {
	m := &manager{options: o, config: config, started: make(chan struct{})}
	client, err := m.client("shared-informers")
	if err != nil {
		return nil, err
	}
	if m.metaClient, err = metadata.NewForConfig(m.named("metadata-informers")); err != nil {
		return nil, err
	}
	m.informers = informers.NewSharedInformerFactory(client, resync())
	m.metadata = metadatainformer.NewSharedInformerFactory(m.metaClient, resync())
	m.any = informerfactory.NewInformerFactory(m.informers, m.metadata)
	m.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	// kwokctl starts API server and controllers together.
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the API server at %s: %w", config.Host, err)
	}
	return m, nil
}

// named returns the configuration of the client of one controller. Its name is the suffix of its
// user agent; the field manager is the name of this program.
func (m *manager) named(name string) *rest.Config {
	return rest.AddUserAgent(rest.CopyConfig(m.config), name)
}

func (m *manager) client(name string) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(m.named(name))
}

func (m *manager) loop(run func(context.Context)) { m.loops = append(m.loops, run) }

func (m *manager) wait(ctx context.Context) error {
	m.informers.Start(ctx.Done())
	m.metadata.Start(ctx.Done())
	close(m.started)
	running, ctx := errgroup.WithContext(ctx)
	for _, run := range m.loops {
		running.Go(func() error {
			run(ctx)
			return nil
		})
	}
	running.Go(func() error {
		wait.UntilWithContext(ctx, func(context.Context) { m.mapper.Reset() }, collectorSync)
		return nil
	})
	return running.Wait()
}

// resync differs for each informer, so that they do not all resync at once.
func resync() time.Duration {
	return time.Duration(float64(leastResync) * (1 + rand.Float64()))
}

func (m *manager) jobs(ctx context.Context) error {
	client, err := m.client("job-controller")
	if err != nil {
		return err
	}
	batch := m.informers.Batch().V1()
	// Without the gate, no Workloads and no PodGroups.
	var workloads scheduling.WorkloadInformer
	var podGroups scheduling.PodGroupInformer
	if utilfeature.DefaultFeatureGate.Enabled(features.WorkloadWithJob) {
		workloads, podGroups = m.informers.Scheduling().V1beta1().Workloads(), m.informers.Scheduling().V1beta1().PodGroups()
	}
	jobs, err := job.NewController(ctx, client, m.informers.Core().V1().Pods(), batch.Jobs(), workloads, podGroups)
	if err != nil {
		return err
	}
	m.loop(func(ctx context.Context) { jobs.Run(ctx, workers) })
	cronJobs, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), client)
	if err != nil {
		return err
	}
	m.loop(func(ctx context.Context) { cronJobs.Run(ctx, workers) })
	ttl := ttlafterfinished.New(ctx, batch.Jobs(), client)
	m.loop(func(ctx context.Context) { ttl.Run(ctx, workers) })
	return nil
}

// statefulSets are created by LeaderWorkerSet.
func (m *manager) statefulSets(ctx context.Context) error {
	client, err := m.client("statefulset-controller")
	if err != nil {
		return err
	}
	core, apps := m.informers.Core().V1(), m.informers.Apps().V1()
	sets := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), client)
	m.loop(func(ctx context.Context) { sets.Run(ctx, workers) })
	return nil
}

func (m *manager) namespaces(ctx context.Context) error {
	config := m.named("namespace-controller")
	config.QPS, config.Burst = config.QPS*20, config.Burst*100
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	namespaces := namespace.NewNamespaceController(ctx, client, meta, client.Discovery().ServerPreferredNamespacedResources,
		m.informers.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	m.loop(func(ctx context.Context) { namespaces.Run(ctx, namespaceWorkers) })
	return nil
}

func (m *manager) accounts(ctx context.Context) error {
	client, err := m.client("service-account-controller")
	if err != nil {
		return err
	}
	core := m.informers.Core().V1()
	accounts, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), client,
		serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return err
	}
	m.loop(func(ctx context.Context) { accounts.Run(ctx, 1) })
	roots, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), client, m.config.CAData)
	if err != nil {
		return err
	}
	m.loop(func(ctx context.Context) { roots.Run(ctx, 1) })
	return nil
}

func (m *manager) collector(ctx context.Context) error {
	config := m.named("generic-garbage-collector")
	config.QPS *= 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	collector, err := garbagecollector.NewComposedGarbageCollector(ctx, client, meta, m.mapper,
		garbagecollector.NewDependencyGraphBuilder(ctx, m.metaClient, m.mapper, garbagecollector.DefaultIgnoredResources(), m.any, m.started))
	if err != nil {
		return err
	}
	m.loop(func(ctx context.Context) { collector.Run(ctx, collectorWorkers, collectorSync) })
	m.loop(func(ctx context.Context) { collector.Sync(ctx, client.Discovery(), collectorSync) })
	return nil
}

func (m *manager) quota(ctx context.Context) error {
	client, err := m.client("resourcequota-controller")
	if err != nil {
		return err
	}
	configuration, err := quotainstall.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(m.informers.ForResource), m.informers)
	if err != nil {
		return err
	}
	discover := client.Discovery().ServerPreferredNamespacedResources
	quotas, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               client.CoreV1(),
		ResourceQuotaInformer:     m.informers.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(quotaSync),
		Registry:                  generic.NewRegistry(configuration.Evaluators()),
		DiscoveryFunc:             discover,
		IgnoredResourcesFunc:      configuration.IgnoredResources,
		InformersStarted:          m.started,
		InformerFactory:           m.any,
		ReplenishmentResyncPeriod: resync,
		UpdateFilter:              quotainstall.DefaultUpdateFilter(),
	})
	if err != nil {
		return err
	}
	m.loop(func(ctx context.Context) { quotas.Run(ctx, workers) })
	m.loop(func(ctx context.Context) { quotas.Sync(ctx, discover, quotaResources) })
	return nil
}

// nodes removes the taint that admission adds to new nodes, once kwok reports that they are ready.
func (m *manager) nodes(ctx context.Context) error {
	client, err := m.client("node-controller")
	if err != nil {
		return err
	}
	core := m.informers.Core().V1()
	nodes, err := nodelifecycle.NewNodeLifecycleController(ctx, m.informers.Coordination().V1().Leases(), core.Pods(), core.Nodes(),
		m.informers.Apps().V1().DaemonSets(), client, m.options.nodeMonitorPeriod, nodeStartupGrace, m.options.nodeMonitorGrace,
		evictionRate, secondaryRate, largeCluster, unhealthyZone)
	if err != nil {
		return err
	}
	m.loop(nodes.Run)
	taints, err := tainteviction.New(ctx, client, core.Pods(), core.Nodes(), "taint-eviction-controller")
	if err != nil {
		return err
	}
	m.loop(taints.Run)
	return nil
}

// claims binds claims to existing volumes, and releases both when they are deleted. No controller
// creates volumes.
func (m *manager) claims(ctx context.Context) error {
	client, err := m.client("persistent-volume-binder")
	if err != nil {
		return err
	}
	core := m.informers.Core().V1()
	binder, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient: client, SyncPeriod: claimSync, VolumeInformer: core.PersistentVolumes(), ClaimInformer: core.PersistentVolumeClaims(),
		ClassInformer: m.informers.Storage().V1().StorageClasses(), PodInformer: core.Pods(), NodeInformer: core.Nodes(),
	})
	if err != nil {
		return err
	}
	m.loop(binder.Run)
	claims, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx), core.PersistentVolumeClaims(), core.Pods(), client)
	if err != nil {
		return err
	}
	m.loop(func(ctx context.Context) { claims.Run(ctx, 1) })
	volumes, err := pvprotection.NewPVProtectionController(klog.FromContext(ctx), core.PersistentVolumes(), client)
	if err != nil {
		return err
	}
	m.loop(func(ctx context.Context) { volumes.Run(ctx, 1) })
	return nil
}

// roles aggregates the roles view, edit and admin.
func (m *manager) roles(context.Context) error {
	client, err := m.client("clusterrole-aggregation-controller")
	if err != nil {
		return err
	}
	roles := clusterroleaggregation.NewClusterRoleAggregation(m.informers.Rbac().V1().ClusterRoles(), client.RbacV1())
	m.loop(func(ctx context.Context) { roles.Run(ctx, workers) })
	return nil
}
