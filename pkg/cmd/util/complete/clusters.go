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

// mostContexts is how many contexts are asked for one word.
const mostContexts = 8

// where returns the contexts to ask, as the words typed so far choose them, and the
// namespace to look at in all of them: the same as the command would, but that one
// context stands for all where byDefault is the current one. A bundle costs nothing
// to ask, and is asked as a whole. No cluster is asked for its identity: contexts that
// lead to the same place are taken for the same.
func (c *Completer) where(w word, byDefault util.DefaultContexts) (contexts []fleet.Context, namespace string) {
	all, err := c.load(w, byDefault)
	if err != nil {
		return nil, ""
	}
	known := map[string]bool{}
	for _, one := range all {
		place := one.Endpoint()
		if one.Err == nil && !known[place] {
			contexts = append(contexts, one)
			known[place] = place != ""
		}
	}
	limit := mostContexts
	if byDefault == util.CurrentContext && c.flags.From == "" {
		limit = 1
	}
	if !c.flags.AllNamespaces && len(contexts) > 0 {
		namespace = contexts[0].Namespace
	}
	return contexts[:min(limit, len(contexts))], namespace
}

// load prepares contexts as the command itself does. Those that write work in a
// single one.
func (c *Completer) load(w word, byDefault util.DefaultContexts) ([]fleet.Context, error) {
	env := c.env
	if !util.IsInOneContext(w.cmd) {
		return c.flags.Load(&env, byDefault)
	}
	here, err := fleet.Load(c.flags.Kube, fleet.Selection{})
	c.flags.Introduce(env, here)
	return here, err
}

// inEach does something in several contexts at once, and counts those in which it
// worked.
func inEach(contexts []fleet.Context, do func(*fleet.Context) error) (worked int) {
	var wg sync.WaitGroup
	var count atomic.Int32
	for i := range contexts {
		wg.Go(func() {
			quietly(func() {
				if do(&contexts[i]) == nil {
					count.Add(1)
				}
			})
		})
	}
	wg.Wait()
	return int(count.Load())
}

// collect lists a collection, and says whether any of the contexts could be read.
func collect(ctx context.Context, contexts []fleet.Context, of collection, visit func(name string)) (isRead bool) {
	return inEach(contexts, func(in *fleet.Context) error { return listNames(ctx, in, of, visit) }) > 0
}

// jobsOf are the Jobs of a namespace, or of all.
func jobsOf(namespace string) collection {
	return collection{GroupVersionResource: delegation.Job().Resource, namespace: namespace}
}

// addNew has visit add names that no word before says already.
func addNew(w word, found *choices) func(name string) {
	return func(name string) {
		if !slices.Contains(w.args, name) {
			found.add(name)
		}
	}
}

// Jobs are the Jobs of the namespace.
func (c *Completer) Jobs(ctx context.Context, w word, found *choices) {
	contexts, namespace := c.where(w, util.CurrentContext)
	collect(ctx, contexts, jobsOf(namespace), addNew(w, found))
}

// Dispatched are the Jobs that have, or had, a mirror.
func (c *Completer) Dispatched(ctx context.Context, w word, found *choices) {
	c.those(ctx, w, func(j *batchv1.Job) bool {
		marks := delegation.MarksOf(j.Labels, j.Annotations)
		return marks != nil && !marks.Mirror.IsZero()
	}, found)
}

// Dispatchable are the Jobs that dispatch takes: those of its owner that have not
// ended.
func (c *Completer) Dispatchable(ctx context.Context, w word, found *choices) {
	owner := delegation.Job().OwnerOf(w.flag("managed-by"))
	c.those(ctx, w, func(j *batchv1.Job) bool { return ownerOf(j) == owner && !hasEnded(j) }, found)
}

// those are the Jobs of the namespace that are wanted. Where there are more than can
// be looked into, the wanted ones of the first come first, and behind them all
// others.
func (c *Completer) those(ctx context.Context, w word, wants func(*batchv1.Job) bool, found *choices) {
	contexts, namespace := c.where(w, util.CurrentContext)
	areAll := eachJob(ctx, contexts, namespace, metav1.ListOptions{}, func(j *batchv1.Job) {
		if wants(j) && !slices.Contains(w.args, j.Name) {
			found.addFirst(j.Name)
		}
	})
	if !areAll {
		collect(ctx, contexts, jobsOf(namespace), addNew(w, found))
	}
}

// eachJob reads the first Jobs of each context as a whole, and says whether there are
// no more.
func eachJob(ctx context.Context, contexts []fleet.Context, namespace string, which metav1.ListOptions, visit func(*batchv1.Job)) (areAll bool) {
	return inEach(contexts, func(in *fleet.Context) error {
		client, err := plainClient(in, batchv1.SchemeGroupVersion)
		if err != nil {
			return err
		}
		options, list := which, &batchv1.JobList{}
		options.Limit = mostChoices
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

// errMore says that there is more than was read.
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

// Owners are those that are known, and those that Jobs of the namespace have.
func (c *Completer) Owners(known ...string) Question {
	return func(ctx context.Context, w word, found *choices) {
		for _, owner := range known {
			found.add(owner)
		}
		contexts, namespace := c.where(w, util.CurrentContext)
		eachJob(ctx, contexts, namespace, metav1.ListOptions{}, func(j *batchv1.Job) {
			if owner := ownerOf(j); !owner.IsBuiltIn() {
				found.add(string(owner))
			}
		})
	}
}

// Traced are Jobs wherever they are, and with KIND/ in front the objects of that
// kind. Kinds are offered where no Job begins so.
func (c *Completer) Traced(ctx context.Context, w word, found *choices) {
	if len(w.args) > 0 {
		return
	}
	contexts, namespace := c.where(w, util.EveryContext)
	typed, _, hasKind := strings.Cut(w.typed, "/")
	if !hasKind {
		isRead := collect(ctx, contexts, jobsOf(namespace), addNew(w, found))
		if isRead && found.none() {
			for _, k := range delegation.Kinds() {
				found.add(k.Name + "/")
			}
		}
		return
	}
	for _, k := range delegation.Kinds() {
		if k.IsNamed(typed) {
			of := collection{GroupVersionResource: k.Resource, namespace: namespace, selector: k.Selector}
			collect(ctx, contexts, of, func(name string) { found.add(typed + "/" + name) })
		}
	}
}

// Namespaces are those of the chosen context.
func (c *Completer) Namespaces(ctx context.Context, w word, found *choices) {
	contexts, _ := c.where(w, util.CurrentContext)
	collect(ctx, contexts, coreOf("namespaces", metav1.NamespaceAll), found.add)
}

// NamespacesThere are those of the contexts that --to names.
func (c *Completer) NamespacesThere(ctx context.Context, w word, found *choices) {
	to, err := w.cmd.Flags().GetStringArray("to")
	if err != nil || len(to) == 0 {
		c.Namespaces(ctx, w, found)
		return
	}
	_, there, err := c.flags.LoadWorkers(c.env, to)
	there = slices.DeleteFunc(there, func(one fleet.Context) bool { return one.Err != nil })
	if err == nil {
		collect(ctx, there[:min(mostContexts, len(there))], coreOf("namespaces", metav1.NamespaceAll), found.add)
	}
}

// Secrets are those beside the Jobs.
func (c *Completer) Secrets(ctx context.Context, w word, found *choices) {
	contexts, namespace := c.where(w, util.CurrentContext)
	collect(ctx, contexts, coreOf("secrets", namespace), found.add)
}

func coreOf(resource, namespace string) collection {
	return collection{GroupVersionResource: corev1.SchemeGroupVersion.WithResource(resource), namespace: namespace}
}

// jobOf is the name of the Job that the words before name; it is not ok where they name
// none, or something of another kind.
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

// Containers are those of the Job that the words before name.
func (c *Completer) Containers(ctx context.Context, w word, found *choices) {
	name, ok := jobOf(w)
	if !ok {
		return
	}
	contexts, namespace := c.where(w, util.EveryContext)
	byName := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	eachJob(ctx, contexts, namespace, byName, func(j *batchv1.Job) {
		for _, container := range slices.Concat(j.Spec.Template.Spec.Containers, j.Spec.Template.Spec.InitContainers) {
			found.add(container.Name)
		}
	})
}

// Pods are those of the Job that the words before name.
func (c *Completer) Pods(ctx context.Context, w word, found *choices) {
	name, ok := jobOf(w)
	if !ok {
		return
	}
	contexts, namespace := c.where(w, util.EveryContext)
	pods := coreOf("pods", namespace)
	pods.selector = labels.Set{delegation.Job().PodLabel: name}.String()
	collect(ctx, contexts, pods, found.add)
}

// Queues are the LocalQueues beside the Jobs.
func (c *Completer) Queues(ctx context.Context, w word, found *choices) {
	contexts, namespace := c.where(w, util.CurrentContext)
	ofKueue(ctx, contexts, namespace, "localqueues", found.add)
}

// QuotaNames are the ClusterQueues and Cohorts of all clusters, or the LocalQueues of a
// namespace that is named.
func (c *Completer) QuotaNames(ctx context.Context, w word, found *choices) {
	contexts, namespace := c.where(w, util.EveryContext)
	if c.flags.AllNamespaces || *c.flags.Kube.Namespace != "" {
		ofKueue(ctx, contexts, namespace, "localqueues", addNew(w, found))
		return
	}
	var wg sync.WaitGroup
	for _, resource := range []string{"clusterqueues", "cohorts"} {
		wg.Go(func() { ofKueue(ctx, contexts, "", resource, addNew(w, found)) })
	}
	wg.Wait()
}

// ofKueue lists objects of Kueue, in whichever version they are served.
func ofKueue(ctx context.Context, contexts []fleet.Context, namespace, resource string, visit func(name string)) {
	for _, versioned := range delegation.KueueResources(resource) {
		if collect(ctx, contexts, collection{GroupVersionResource: versioned, namespace: namespace}, visit) {
			return
		}
	}
}
