package fleet

import (
	"context"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// authority returns the fingerprint of the certificate authority that a context trusts; "" if it
// names none, or an unreadable file.
func (c Context) authority() string {
	if c.CA != "" || c.Config == nil {
		return c.CA
	}
	config := rest.CopyConfig(c.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return ""
	}
	return kubecontext.Fingerprint(config.CAData)
}

// Address returns the address of the context's cluster. It has only a name if the context is not
// usable.
func (c Context) Address() kubecontext.Address {
	a := kubecontext.Address{Context: c.Name}
	if c.Config != nil {
		a.Server, a.CA = c.Config.Host, c.authority()
	}
	return a
}

// UID returns the UID of the cluster's Namespace kube-system; "" if no known context of the
// cluster may read it. A fleet of one context reads it concurrently with other questions, and UID
// waits for that.
func (c *Cluster) UID() string {
	if c.identified != nil {
		<-c.identified
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.uid
}

// SetUID sets the UID of a cluster that another context has identified.
func (c *Cluster) SetUID(uid string) {
	_ = c.UID() // After this, no other goroutine sets it.
	c.setUID(uid, true)
}

func (c *Cluster) setUID(uid string, isIntroduced bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uid, c.isIntroduced = uid, isIntroduced
}

// ownUID returns the UID of kube-system if this context has read it, otherwise "".
func (c *Cluster) ownUID() string {
	uid := c.UID()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isIntroduced {
		return ""
	}
	return uid
}

// Identity returns what is known about the identity of the cluster: the UID of kube-system, and
// those of the namespaces that LearnNamespaces has read.
func (c *Cluster) Identity() delegation.Cluster {
	uid := c.UID()
	c.mu.Lock()
	defer c.mu.Unlock()
	return delegation.Cluster{UID: uid, Namespaces: maps.Clone(c.namespaces)}
}

// LearnNamespaces reads the UIDs of namespaces, each once. A namespace that is missing or not
// readable stays unknown without an error.
func (c *Cluster) LearnNamespaces(ctx context.Context, namespaces ...string) error {
	for _, namespace := range namespaces {
		c.mu.Lock()
		_, isKnown := c.namespaces[namespace]
		c.mu.Unlock()
		if isKnown || namespace == "" {
			continue
		}
		uid, err := c.namespaceUID(ctx, namespace)
		if err != nil {
			return c.Failed(err)
		}
		c.mu.Lock()
		if c.namespaces == nil {
			c.namespaces = map[string]string{}
		}
		c.namespaces[namespace] = uid
		c.mu.Unlock()
	}
	return nil
}

// namespaceUID reads the UID of a namespace over the context's own connection; "" if the
// namespace is missing or not readable.
func (c *Cluster) namespaceUID(ctx context.Context, namespace string) (string, error) {
	ctx, cancel := context.WithTimeout(OwnConnection(ctx), RequestTimeout)
	defer cancel()
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	ns, err := c.Metadata().Resource(resource).Get(ctx, namespace, metav1.GetOptions{})
	err = c.Checked(err, resource, namespace)
	switch {
	case apierrors.IsForbidden(err), kubecontext.IsGone(err, resource.GroupResource(), namespace):
		return "", nil
	case err != nil:
		return "", err
	}
	return string(ns.UID), nil
}

// identity reads the UID of kube-system. It returns "" without an error if the UID is not
// readable, or if the server serves no namespaces.
func (c *Cluster) identity(ctx context.Context) (string, error) {
	uid, err := c.namespaceUID(ctx, metav1.NamespaceSystem)
	if servesNoNamespaces(err) {
		return "", nil
	}
	return uid, err
}

func servesNoNamespaces(err error) bool {
	stray := (*kubecontext.StrayError)(nil)
	return apierrors.IsNotFound(err) || errors.As(err, &stray)
}

// Identify reads what Verify compares for the objects of a namespace, unless this context has read the UID of
// kube-system. A cluster stays unidentified without an error if it serves no namespaces, or if the user may not
// read this one.
func (c *Cluster) Identify(ctx context.Context, namespace string) error {
	if c.ownUID() != "" {
		return nil
	}
	if err := c.LearnNamespaces(ctx, namespace); !servesNoNamespaces(err) {
		return err
	}
	return nil
}

// Verify reads the identity of the cluster again, over the connection of this context, and
// compares it with the earlier one. namespace is used if kube-system's UID is unknown. It returns
// nil if the cluster is the same, a *kubecontext.MovedError if the context now reaches another
// one, and a *kubecontext.UnidentifiedError if no UID was readable before.
func (c *Cluster) Verify(ctx context.Context, namespace string) error {
	name, before := metav1.NamespaceSystem, c.ownUID()
	if before == "" {
		name, before = namespace, c.Identity().Namespaces[namespace]
	}
	if before == "" {
		return c.Failed(&kubecontext.UnidentifiedError{Namespace: namespace})
	}
	now, err := c.namespaceUID(ctx, name)
	switch {
	case err != nil:
		return c.Failed(err)
	case now != before:
		return c.Failed(&kubecontext.MovedError{Namespace: name, Before: before, Now: now})
	}
	return nil
}

// ProveAbsent returns nil if an object certainly does not exist: the server reports that in a
// Status that names the object, before and after it has proven its identity over the same
// connection. Otherwise the error says what the proof lacks.
func (c *Cluster) ProveAbsent(ctx context.Context, r schema.GroupVersionResource, namespace, name string) error {
	return c.ProveGone(ctx, r, namespace, name, "")
}

// ProveGone is ProveAbsent for the object with a UID, which is also gone if another object has
// its name. With UID "", an existing object is an error.
func (c *Cluster) ProveGone(ctx context.Context, r schema.GroupVersionResource, namespace, name, uid string) error {
	ctx = OwnConnection(ctx)
	for _, prove := range []func() error{func() error { return c.Verify(ctx, namespace) }, func() error { return nil }} {
		found, err := c.Get(ctx, r, namespace, name)
		if err != nil {
			return err
		}
		if found != nil && (uid == "" || string(found.GetUID()) == uid) {
			return c.Failed(&kubecontext.PresentError{UID: string(found.GetUID())})
		}
		if err := prove(); err != nil {
			return err
		}
	}
	return nil
}
