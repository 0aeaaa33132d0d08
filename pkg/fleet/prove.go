package fleet

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostProofs bounds in how many namespaces proofs are looked for.
const mostProofs = 4

// prove finds out what else tells who a cluster is, where a context may not read that, and
// there is another one that may lead there, too: a uid is given once, so whoever sees the
// same namespace by the same uid sees the same cluster. It is looked at the namespaces
// that those who do not know work in. Fleets in which all know are asked nothing.
func (f *Fleet) prove(ctx context.Context, members []*member) {
	introduce(answered(members))
	var namespaces []string
	for _, c := range answered(members) {
		if c.UID() == "" && c.Namespace != "" && !slices.Contains(namespaces, c.Namespace) {
			namespaces = append(namespaces, c.Namespace)
		}
	}
	if len(namespaces) == 0 || len(answered(members)) < 2 {
		return
	}
	namespaces = namespaces[:min(mostProofs, len(namespaces))]
	f.each(len(members), func(i int) {
		m := members[i]
		if m.failed() != nil {
			return
		}
		start := f.clock.Now()
		defer func() { m.spent += f.clock.Since(start) }()
		for _, way := range m.ways {
			for _, namespace := range namespaces {
				if _, isAsked := way.proofs[namespace]; isAsked {
					continue
				}
				// Whatever is in the way of it, it proves nothing.
				uids, _ := within(ctx, f.timeout, func(ctx context.Context) ([]string, error) { return way.uidsIn(ctx, namespace), nil })
				if way.proofs == nil {
					way.proofs = map[string][]string{}
				}
				way.proofs[namespace] = uids
			}
		}
	})
}

// answered are the ways of all that have answered.
func answered(members []*member) (clusters []*Cluster) {
	for _, m := range members {
		if m.failed() == nil {
			clusters = append(clusters, m.ways...)
		}
	}
	return clusters
}

// uidsIn are those of a namespace and of the account that each has, as far as they may be
// read.
func (c *Cluster) uidsIn(ctx context.Context, namespace string) (uids []string) {
	client, core := c.Metadata(), corev1.SchemeGroupVersion
	for _, get := range []func() (*metav1.PartialObjectMetadata, error){
		func() (*metav1.PartialObjectMetadata, error) {
			return client.Resource(core.WithResource("namespaces")).Get(ctx, namespace, metav1.GetOptions{})
		},
		func() (*metav1.PartialObjectMetadata, error) {
			return client.Resource(core.WithResource("serviceaccounts")).Namespace(namespace).Get(ctx, "default", metav1.GetOptions{})
		},
	} {
		if found, err := get(); err == nil && found.UID != "" {
			uids = append(uids, string(found.UID))
		}
	}
	return uids
}

// haveSeenTheSame says whether something was seen through both of two contexts.
func haveSeenTheSame(a, b *Cluster) bool {
	for namespace, uids := range a.proofs {
		if slices.ContainsFunc(uids, func(uid string) bool { return slices.Contains(b.proofs[namespace], uid) }) {
			return true
		}
	}
	return false
}
