package complete

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"

	batchv1 "k8s.io/api/batch/v1"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// maxContexts is the maximum number of contexts that are read for one word.
const maxContexts = 8

// scope returns the contexts and the namespace to read, as the typed words choose them. If
// byDefault is the current context, it returns a single context, unless a bundle is read. Contexts
// with the same endpoint count as one cluster, because reading identities would take too long.
func (c *Completer) scope(w word, byDefault util.DefaultContexts) (contexts []fleet.Context, namespace string) {
	all, err := c.load(w, byDefault)
	if err != nil {
		return nil, ""
	}
	known := map[string]bool{}
	for _, candidate := range all {
		endpoint := candidate.Endpoint()
		if candidate.Err == nil && !known[endpoint] {
			contexts = append(contexts, candidate)
			known[endpoint] = endpoint != ""
		}
	}
	limit := maxContexts
	if byDefault == util.CurrentContext && c.flags.From == "" {
		limit = 1
	}
	if !c.flags.AllNamespaces && len(contexts) > 0 {
		namespace = contexts[0].Namespace
	}
	return contexts[:min(limit, len(contexts))], namespace
}

// load loads contexts as the command itself does. Commands that write work in a single one.
func (c *Completer) load(w word, byDefault util.DefaultContexts) ([]fleet.Context, error) {
	env := c.env
	if !util.IsInOneContext(w.cmd) {
		return c.flags.Load(&env, byDefault)
	}
	current, err := fleet.Load(c.flags.Kube, fleet.Selection{})
	c.flags.ConfigureClients(env, current)
	return current, err
}

// forEachContext runs a function for several contexts concurrently, and returns the number of successes.
func forEachContext(contexts []fleet.Context, do func(*fleet.Context) error) (succeeded int) {
	var wg sync.WaitGroup
	var count atomic.Int32
	for i := range contexts {
		wg.Go(func() {
			recoverPanics(func() {
				if do(&contexts[i]) == nil {
					count.Add(1)
				}
			})
		})
	}
	wg.Wait()
	return int(count.Load())
}

// collect lists a collection, and reports whether any of the contexts could be read.
func collect(ctx context.Context, contexts []fleet.Context, of collection, visit func(name string)) (isRead bool) {
	return forEachContext(contexts, func(in *fleet.Context) error { return listNames(ctx, in, of, visit) }) > 0
}

// jobsOf returns the collection of the Jobs of a namespace; "" means all namespaces.
func jobsOf(namespace string) collection {
	return collection{GroupVersionResource: delegation.Job().Resource, namespace: namespace}
}

// addNew returns a function that adds names that were not typed before the word.
func addNew(w word, found *choices) func(name string) {
	return func(name string) {
		if !slices.Contains(w.args, name) {
			found.add(name)
		}
	}
}

// DispatchedJobs adds the Jobs that have, or had, a mirror.
func (c *Completer) DispatchedJobs(ctx context.Context, w word, found *choices) {
	c.addJobs(ctx, w, func(j *batchv1.Job) bool {
		marks := delegation.MarksOf(j.Labels, j.Annotations)
		return marks != nil && !marks.Mirror.IsZero()
	}, found)
}

// DispatchableJobs adds the Jobs that dispatch accepts: the unfinished ones with its owner.
func (c *Completer) DispatchableJobs(ctx context.Context, w word, found *choices) {
	owner := delegation.Job().OwnerOf(w.flag("managed-by"))
	c.addJobs(ctx, w, func(j *batchv1.Job) bool { return ownerOf(j) == owner && !hasEnded(j) }, found)
}

// addJobs adds the Jobs of the namespace for which isWanted is true and, after KIND/, all objects of that
// kind. If there are too many Jobs to read, it also adds the names of all Jobs, after the wanted ones. If
// no Job begins with the word, it adds kinds.
func (c *Completer) addJobs(ctx context.Context, w word, isWanted func(*batchv1.Job) bool, found *choices) {
	contexts, namespace := c.scope(w, util.CurrentContext)
	if addOfKind(ctx, contexts, namespace, w, found) {
		return
	}
	isComplete := eachJob(ctx, contexts, namespace, metav1.ListOptions{}, func(j *batchv1.Job) {
		if isWanted(j) && !slices.Contains(w.args, j.Name) {
			found.addFirst(j.Name)
		}
	})
	if !isComplete {
		collect(ctx, contexts, jobsOf(namespace), addNew(w, found))
	}
	if isComplete && len(contexts) > 0 && w.typed != "" && found.isEmpty() {
		addKinds(found)
	}
}

// eachJob reads the first Jobs of each context completely, and reports whether there are no more.
func eachJob(ctx context.Context, contexts []fleet.Context, namespace string, which metav1.ListOptions, visit func(*batchv1.Job)) (isComplete bool) {
	return forEachContext(contexts, func(in *fleet.Context) error {
		client, err := plainClient(in, batchv1.SchemeGroupVersion)
		if err != nil {
			return err
		}
		options, list := which, &batchv1.JobList{}
		options.Limit = maxChoices
		if err := client.Get().NamespaceIfScoped(namespace, namespace != "").Resource("jobs").
			VersionedParams(&options, scheme.ParameterCodec).Do(ctx).Into(list); err != nil {
			return err
		}
		for i := range list.Items {
			visit(&list.Items[i])
		}
		if list.Continue != "" {
			return errMore
		}
		return nil
	}) == len(contexts)
}

// errMore reports that there are more objects than were read.
var errMore = errors.New("there are more")

func ownerOf(j *batchv1.Job) delegation.Owner {
	if j.Spec.ManagedBy == nil {
		return delegation.BuiltIn
	}
	return delegation.Job().OwnerOf(*j.Spec.ManagedBy)
}

func hasEnded(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
}

// Owners adds the known owners, and the owners of the Jobs in the namespace.
func (c *Completer) Owners(known ...string) Finder {
	return func(ctx context.Context, w word, found *choices) {
		for _, owner := range known {
			found.add(owner)
		}
		contexts, namespace := c.scope(w, util.CurrentContext)
		eachJob(ctx, contexts, namespace, metav1.ListOptions{}, func(j *batchv1.Job) {
			if owner := ownerOf(j); !owner.IsBuiltIn() {
				found.add(string(owner))
			}
		})
	}
}

// Objects adds the Jobs of some contexts and, after KIND/, the objects of that kind. If no Job matches,
// it adds kinds.
func (c *Completer) Objects(byDefault util.DefaultContexts) Finder {
	return func(ctx context.Context, w word, found *choices) {
		contexts, namespace := c.scope(w, byDefault)
		if addOfKind(ctx, contexts, namespace, w, found) {
			return
		}
		isRead := collect(ctx, contexts, jobsOf(namespace), addNew(w, found))
		if isRead && found.isEmpty() {
			addKinds(found)
		}
	}
}

// addOfKind adds the objects of a kind, if the word begins with KIND/, and reports whether it does.
func addOfKind(ctx context.Context, contexts []fleet.Context, namespace string, w word, found *choices) bool {
	typed, _, hasKind := strings.Cut(w.typed, "/")
	if !hasKind {
		return false
	}
	add := addNew(w, found)
	for _, k := range delegation.Kinds() {
		if k.IsNamed(typed) {
			of := collection{GroupVersionResource: k.Resource, namespace: namespace, selector: k.Selector}
			collect(ctx, contexts, of, func(name string) { add(typed + "/" + name) })
		}
	}
	return true
}

// addKinds adds all kinds, as the first part of KIND/NAME.
func addKinds(found *choices) {
	for _, k := range delegation.Kinds() {
		found.add(k.Name + "/")
	}
}

// Namespaces adds the namespaces of the chosen context.
func (c *Completer) Namespaces(ctx context.Context, w word, found *choices) {
	contexts, _ := c.scope(w, util.CurrentContext)
	collect(ctx, contexts, coreOf("namespaces", metav1.NamespaceAll), found.add)
}

// WorkerNamespaces adds the namespaces of the contexts of --to.
func (c *Completer) WorkerNamespaces(ctx context.Context, w word, found *choices) {
	to, err := w.cmd.Flags().GetStringArray("to")
	if err != nil || len(to) == 0 {
		c.Namespaces(ctx, w, found)
		return
	}
	_, workers, err := c.flags.LoadWorkers(c.env, to)
	workers = slices.DeleteFunc(workers, func(worker fleet.Context) bool { return worker.Err != nil })
	if err == nil {
		collect(ctx, workers[:min(maxContexts, len(workers))], coreOf("namespaces", metav1.NamespaceAll), found.add)
	}
}

// Secrets adds the Secrets in the namespace of the Jobs.
func (c *Completer) Secrets(ctx context.Context, w word, found *choices) {
	contexts, namespace := c.scope(w, util.CurrentContext)
	collect(ctx, contexts, coreOf("secrets", namespace), found.add)
}

func coreOf(resource, namespace string) collection {
	return collection{GroupVersionResource: corev1.SchemeGroupVersion.WithResource(resource), namespace: namespace}
}

// jobOf returns the name of the Job that was typed before the word. ok is false without such a Job,
// or an object of another kind.
func jobOf(w word) (name string, ok bool) {
	if len(w.args) == 0 {
		return "", false
	}
	kind, name, hasKind := strings.Cut(w.args[0], "/")
	if !hasKind {
		return kind, true
	}
	return name, delegation.Job().IsNamed(kind)
}

// Containers adds the containers of the Job that was typed before the word.
func (c *Completer) Containers(ctx context.Context, w word, found *choices) {
	name, ok := jobOf(w)
	if !ok {
		return
	}
	contexts, namespace := c.scope(w, util.EveryContext)
	byName := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	eachJob(ctx, contexts, namespace, byName, func(j *batchv1.Job) {
		for _, container := range slices.Concat(j.Spec.Template.Spec.Containers, j.Spec.Template.Spec.InitContainers) {
			found.add(container.Name)
		}
	})
}

// Pods adds the Pods of the Job that was typed before the word.
func (c *Completer) Pods(ctx context.Context, w word, found *choices) {
	name, ok := jobOf(w)
	if !ok {
		return
	}
	contexts, namespace := c.scope(w, util.EveryContext)
	pods := coreOf("pods", namespace)
	pods.selector = labels.Set{delegation.Job().PodLabel: name}.String()
	collect(ctx, contexts, pods, found.add)
}

// Queues adds the LocalQueues in the namespace of the Jobs.
func (c *Completer) Queues(ctx context.Context, w word, found *choices) {
	contexts, namespace := c.scope(w, util.CurrentContext)
	ofKueue(ctx, contexts, namespace, "localqueues", found.add)
}

// QueueNames adds the ClusterQueues and Cohorts of all clusters, or the LocalQueues of a given
// namespace, and after KIND/ those of that kind. If none matches, it adds the kinds.
func (c *Completer) QueueNames(ctx context.Context, w word, found *choices) {
	contexts, namespace := c.scope(w, util.EveryContext)
	areLocal := c.flags.AllNamespaces || *c.flags.Kube.Namespace != ""
	kinds := slices.DeleteFunc(util.QueueKinds(), func(k delegation.Kind) bool { return delegation.IsClusterScoped(k.Resource.Resource) == areLocal })
	if !areLocal {
		namespace = ""
	}
	typed, _, hasKind := strings.Cut(w.typed, "/")
	prefix, add := "", addNew(w, found)
	if hasKind {
		prefix = typed + "/"
	}
	var wg sync.WaitGroup
	for _, k := range kinds {
		if !hasKind || k.IsNamed(typed) {
			wg.Go(func() {
				ofKueue(ctx, contexts, namespace, k.Resource.Resource, func(name string) { add(prefix + name) })
			})
		}
	}
	wg.Wait()
	if !hasKind && w.typed != "" && found.isEmpty() {
		for _, k := range kinds {
			found.add(k.Name + "/")
		}
	}
}

// ofKueue lists objects of Kueue, in the first version that is served.
func ofKueue(ctx context.Context, contexts []fleet.Context, namespace, resource string, visit func(name string)) {
	for _, versioned := range delegation.KueueResources(resource) {
		if collect(ctx, contexts, collection{GroupVersionResource: versioned, namespace: namespace}, visit) {
			return
		}
	}
}
