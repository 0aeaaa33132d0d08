package read

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// questionsAtOnce limits the parallel requests for one user's rights.
const questionsAtOnce = 8

// managerUser is the user that a manager uses on a worker.
type managerUser struct {
	manager    *inspect.Facts
	cluster    string
	credential kubecontext.Credential
	grants     []kueue.Grant
}

// Denied asks every worker of an inventory with Setup which rights its manager's user lacks there,
// with SubjectAccessReviews, and adds the answers to the manager's Setup. A failed request becomes
// a gap of the manager. identity is the user of managers whose kubeconfigs do not show one, "" for
// unknown.
func Denied(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, identity string) {
	assumeUser(v, identity)
	users := map[string][]managerUser{}
	for _, manager := range v.Clusters {
		for _, u := range usersOf(manager) {
			worker := v.ContextOf(manager, u.cluster)
			if _, isKnown := manager.Kueue.Addresses[u.cluster]; worker == "" && !isKnown {
				manager.AddGap(inspect.PartAccess, fmt.Errorf("the address of MultiKueueCluster %s is unknown", u.cluster))
				continue
			}
			if worker == "" {
				manager.AddGap(inspect.PartAccess, errors.New(v.WhyNoContext(manager, "MultiKueueCluster "+u.cluster)))
				continue
			}
			if known := v.Facts(worker); known != nil && known.Err != nil {
				// Another gap has the reason.
				manager.AddGap(inspect.PartAccess, fmt.Errorf("context %s of worker %s does not answer", worker, u.cluster))
				continue
			}
			users[worker] = append(users[worker], u)
		}
	}
	if len(users) == 0 {
		return
	}
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) ([]reviewedUser, error) {
		var all []reviewedUser
		for _, u := range users[c.Context] {
			var r reviewedUser
			r.void, r.unread = rejectionReason(ctx, c, u.credential)
			r.rights, r.err = deniedTo(ctx, c, &u)
			all = append(all, r)
		}
		return all, nil
	})
	for _, a := range answers {
		for i, u := range users[a.Context] {
			err := a.Err
			if err == nil && i < len(a.Value) {
				err = a.Value[i].err
			}
			if err != nil {
				u.manager.AddGap(inspect.PartAccess, fmt.Errorf("worker %s: %w", u.cluster, err))
				continue
			}
			a.Value[i].addTo(&u)
		}
	}
}

// reviewedUser is a manager's user as its worker knows it.
type reviewedUser struct {
	// rights are the rights that it lacks. err is why they are unknown.
	rights []inspect.Access
	err    error
	// void is why its token is rejected, "" if nothing shows that. unread is why that is unknown.
	void   string
	unread error
}

// addTo adds what is known about a user to the Setup of its manager.
func (r *reviewedUser) addTo(u *managerUser) {
	u.manager.Setup.SetDenied(u.cluster, r.rights)
	if r.unread != nil {
		u.manager.AddGap(inspect.PartCredentials, fmt.Errorf("worker %s: %w", u.cluster, r.unread))
	}
	if r.void != "" {
		u.manager.Setup.SetVoid(u.cluster, r.void)
	}
}

// rejectionReason returns why a worker rejects a token: its service account was deleted, maybe to be
// created again. It returns "" if that is not so, or for other users.
func rejectionReason(ctx context.Context, c *fleet.Cluster, who kubecontext.Credential) (string, error) {
	namespace, name, ok := who.ServiceAccount()
	if !ok {
		return "", nil
	}
	account, err := Get[struct {
		metav1.ObjectMeta `json:"metadata"`
	}](ctx, c, corev1.SchemeGroupVersion.WithResource("serviceaccounts"), namespace, name)
	switch {
	case err != nil:
		return "", err
	case account == nil:
		return fmt.Sprintf("ServiceAccount %s/%s does not exist", namespace, name), nil
	case who.AccountUID != "" && string(account.UID) != who.AccountUID:
		return fmt.Sprintf("ServiceAccount %s/%s was deleted and created again", namespace, name), nil
	}
	return "", nil
}

// ofClusters returns one error for MultiKueueClusters, given the error of each. Those with the same error are
// named together.
func ofClusters(errs map[string]error) error {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		names[errs[name].Error()] = append(names[errs[name].Error()], name)
	}
	var all error
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		same := names[errs[name].Error()]
		if same[0] != name {
			continue
		}
		one := fmt.Errorf("MultiKueueCluster %s: %w", name, errs[name])
		if len(same) > 1 {
			one = fmt.Errorf("MultiKueueClusters %s: %w", strings.Join(same, ", "), errs[name])
		}
		if all == nil {
			all = one
		} else {
			all = fmt.Errorf("%w; %w", all, one)
		}
	}
	return all
}

// errNoUser is why a user's rights cannot be requested.
var errNoUser = errors.New("the kubeconfig does not show the user; name it with --worker-identity")

// assumeUser sets the user of managers whose kubeconfigs do not show one, unless it is "".
func assumeUser(v *inspect.Inventory, user string) {
	for _, manager := range v.Clusters {
		if user == "" || manager.Err != nil || manager.Setup == nil || manager.Kueue == nil {
			continue
		}
		for _, c := range manager.Kueue.Clusters {
			if manager.Setup.Credentials[c.Name].User == "" {
				known := kubecontext.UserNamed(user)
				shown := manager.Setup.Credentials[c.Name]
				known.Kind, known.NotBefore, known.NotAfter = shown.Kind, shown.NotBefore, shown.NotAfter
				manager.Setup.SetCredential(c.Name, known)
			}
		}
	}
}

// usersOf returns the users of a manager on its workers, as far as their credentials show them.
func usersOf(manager *inspect.Facts) []managerUser {
	if manager.Err != nil || manager.Setup == nil || manager.Kueue == nil {
		return nil
	}
	frameworks := []string{"batch/job"}
	if i := manager.Setup.Installation; i != nil {
		if known, ok := i.Copied(); ok {
			frameworks = known
		}
	}
	grants := kueue.WorkerGrants(frameworks)
	var users []managerUser
	unknown := map[string]error{}
	for _, c := range manager.Kueue.Clusters {
		credential, ok := manager.Setup.Credentials[c.Name]
		switch {
		case !ok || credential.User == "":
			unknown[c.Name] = whyNoUser(manager.Setup, c.Name)
		default:
			users = append(users, managerUser{manager, c.Name, credential, grants})
		}
	}
	manager.AddGap(inspect.PartAccess, ofClusters(unknown))
	return users
}

// whyNoUser returns why the user of a MultiKueueCluster is unknown.
func whyNoUser(s *inspect.Setup, cluster string) error {
	_, isShown := s.Credentials[cluster]
	why := s.NoCredentials[cluster]
	if isShown || why == nil || errors.Is(why, errNoFacts) || errors.Is(why, errNoUsers) || errors.Is(why, errNoSecret) {
		return errNoUser
	}
	return why
}

// deniedTo returns the rights that a user lacks on a worker.
func deniedTo(ctx context.Context, c *fleet.Cluster, u *managerUser) ([]inspect.Access, error) {
	denied := make([]inspect.Access, len(u.grants))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(questionsAtOnce)
	for i, g := range u.grants {
		denied[i] = inspect.Access{Group: g.Group, Resource: g.Resource}
		for _, verb := range g.Verbs {
			group.Go(func() error {
				may, err := reviewAccess(ctx, c, u.credential, g, verb)
				if err == nil && !may {
					mu.Lock()
					denied[i].Verbs = append(denied[i].Verbs, verb)
					mu.Unlock()
				}
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	lacking := []inspect.Access{}
	for _, a := range denied {
		if len(a.Verbs) > 0 {
			lacking = append(lacking, a.Sorted())
		}
	}
	return lacking, nil
}

// reviewAccess asks an API server whether a user has a right in all namespaces.
func reviewAccess(ctx context.Context, c *fleet.Cluster, who kubecontext.Credential, g kueue.Grant, verb string) (bool, error) {
	resource, subresource, _ := strings.Cut(g.Resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.User, Groups: who.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: g.Group, Version: "*", Resource: resource, Subresource: subresource},
	}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"))
	// A review is answered, and not stored.
	answered, err := c.Create(ctx, authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews"), o, "")
	if err != nil {
		return false, err
	}
	may, _, err := unstructured.NestedBool(answered.Object, "status", "allowed")
	return may, err
}
