package inspect

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Query says which objects to read. It is the same for all clusters.
type Query struct {
	AllNamespaces bool
	// LabelSelector and FieldSelector are evaluated by the API server, which
	// knows no field selector for managedBy (kubernetes
	// pkg/apis/batch/v1/conversion.go).
	LabelSelector, FieldSelector string
}

// namespace is where to look in a cluster; "" is everywhere.
func (q Query) namespace(c *fleet.Cluster) string {
	if q.AllNamespaces {
		return metav1.NamespaceAll
	}
	return c.Namespace
}

// doing says in words what a query asks of a cluster.
func (q Query) doing(verb string, c *fleet.Cluster) string {
	if q.AllNamespaces {
		return verb + " jobs in all namespaces"
	}
	return fmt.Sprintf("%s jobs in namespace %q", verb, c.Namespace)
}

// ErrClaimsUnknown is wrapped by what List returns where Workloads could not be
// read, and so MultiKueue's Jobs without a status could not be told apart from
// unclaimed ones. All Jobs were visited nevertheless.
var ErrClaimsUnknown = errors.New("jobs of MultiKueue without a status may be unclaimed")

// chunk is how many objects are asked for at once, as kubectl does
// (cmdutil.DefaultChunkSize).
const chunk = 500

// List reads the Jobs of one cluster in chunks and calls visit for each, in no
// particular order. It keeps no more than a few chunks in memory.
func List(ctx context.Context, c *fleet.Cluster, q Query, visit func(Job)) error {
	client, err := jobClient(c)
	if err != nil {
		return &fleet.Error{Doing: q.doing("list", c), Err: err}
	}
	settler := newSettler(c, visit)
	names := interner{}
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return listChunk(ctx, client, q.namespace(c), o)
	})
	p.PageSize, p.PageBufferSize, p.FullListIfExpired = chunk, 1, false
	options := metav1.ListOptions{LabelSelector: q.LabelSelector, FieldSelector: q.FieldSelector}
	err = p.EachListItem(ctx, options, func(o runtime.Object) error {
		job, ok := o.(*batchv1.Job)
		if !ok {
			return fmt.Errorf("the server sent a %T in a list of Jobs", o)
		}
		r := readJob(job)
		names.intern(&r.job)
		settler.add(ctx, r)
		return nil
	})
	if err != nil {
		return &fleet.Error{Doing: q.doing("list", c), Err: err}
	}
	return settler.finish(ctx)
}

// listChunk asks for one chunk. Where the snapshot that the chunks come from
// was compacted away in between, the server offers a token to go on from the
// same place in the present state, and that is taken: no object is seen twice,
// and none that existed all the time is missed.
func listChunk(ctx context.Context, client rest.Interface, namespace string, o metav1.ListOptions) (runtime.Object, error) {
	list, err := getJobs(ctx, client, namespace, o)
	var status apierrors.APIStatus
	if o.Continue != "" && apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
		o.Continue = status.Status().Continue
		list, err = getJobs(ctx, client, namespace, o)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// getJobs asks for Jobs and decodes what the model keeps of them.
func getJobs(ctx context.Context, client rest.Interface, namespace string, o metav1.ListOptions) (*batchv1.JobList, error) {
	result := client.Get().NamespaceIfScoped(namespace, namespace != "").Resource("jobs").
		VersionedParams(&o, scheme.ParameterCodec).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	list := &batchv1.JobList{}
	body, err := result.Raw()
	if err != nil {
		return nil, err
	}
	if err := decodeJobs(body, list); !errors.Is(err, errNotProtobuf) {
		return list, err
	}
	if err := result.Into(list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		drop(&list.Items[i])
	}
	return list, nil
}

func jobClient(c *fleet.Cluster) (rest.Interface, error) {
	return c.REST(batchv1.SchemeGroupVersion, "/apis")
}

// interner makes Jobs share the strings that many of them have in common.
type interner map[string]string

func (in interner) intern(j *Job) {
	j.Namespace = in.one(j.Namespace)
}

func (in interner) one(s string) string {
	if same, ok := in[s]; ok {
		return same
	}
	in[s] = s
	return s
}
